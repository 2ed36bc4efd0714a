"""Columns are read from what `aegis inspect` printed or from a roles file, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.service.checks import read_inspected
from aegis.errors import AegisError
from aegis.library.clinic import write_clinic
from aegis.library.inspect import inspect


def test_what_inspect_printed_names_every_column_with_its_kind_and_role(tmp_path: Path) -> None:
    table = write_clinic(tmp_path, rows=60)
    read = read_inspected(json.dumps(inspect(table).to_json()).encode())
    assert read.name == "clinic"
    assert len(read.columns) == 11
    assert {(column.name, column.kind, column.role) for column in read.columns} >= {
        ("age", "integer", "quasi_identifying"),
        ("health", "text", "label"),
        ("admitted", "date", "insensitive"),
    }
    (tmp_path / "clinic.roles.yaml").unlink()
    guessed = read_inspected(json.dumps(inspect(table).to_json()).encode())
    assert {column.role for column in guessed.columns} == {""}, "a guess is not a choice"
    assert next(column for column in guessed.columns if column.name == "age").suggested == "quasi_identifying"


def test_a_roles_file_names_columns_and_roles_but_no_kinds(tmp_path: Path) -> None:
    write_clinic(tmp_path, rows=20)
    read = read_inspected((tmp_path / "clinic.roles.yaml").read_bytes())
    assert len(read.columns) == 11
    assert {column.kind for column in read.columns} == {""}
    assert next(column.role for column in read.columns if column.name == "diagnosis") == "sensitive"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"a: b",
        b"{}",
        b"quasi_identifying: {age: 1}",
        b"quasi_identifying: [age, age]",
        b"quasi_identifying: [3]",
        b'label: "a\\nb"',
        b'{"columns": []}',
        b'{"columns": [3]}',
        b'{"columns": [{"name": "a", "kind": "colour", "role": null}]}',
        b'{"columns": [{"name": "a", "kind": "text", "role": "king"}]}',
        b"[" * 20_000,
        json.dumps({"columns": [{"name": f"c{n}", "kind": "text"} for n in range(2_001)]}).encode(),
    ],
)
def test_other_files_are_refused_in_a_sentence(content: Any) -> None:
    with pytest.raises(AegisError):
        read_inspected(content)
