"""What every operation answers: a value that shows itself, turns into a table, and is written and read as JSON."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import aegis
from aegis.counts.summary import Summary
from aegis.errors import InputError
from aegis.library.clinic import write_clinic
from aegis.operation import Operation
from aegis.result import Result, Tabular

OPERATIONS: dict[str, Operation[..., Any, Any]] = {
    operation.run.__name__: operation
    for operation in (getattr(aegis, name) for name in aegis.__all__)
    if isinstance(operation, Operation) and operation.run.__module__.startswith("aegis.library.")
}

BOXED = '{"quasi_identifying": ["age", "gender"], "k": 20}'
SEVERAL = '["configurations/strict.yaml", "configurations/no-body.yaml"]'
RELEASE = 'aegis.release("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv")'
FURTHER = {
    "check that fails": 'aegis.check("clinic.csv", policy="policy.yaml")',
    "check several that fails": f'aegis.check("clinic.csv", policy="policy.yaml", config={SEVERAL})',
    "verify that fails": f"""
released = {RELEASE}
with open(released.out, "a") as file:
    file.write("\\n")
aegis.verify(released.out, released.certificate_path)
""",
    "search for boxes": f'aegis.search("clinic.csv", policy={BOXED}, label="smoker", space="boxes")',
    "masks with schema": "aegis.list_masks(schema=True)",
    "opaque summary": 'aegis.summarize("clinic.csv", configs="configurations/light.yaml", opaque=True, race=False)',
    "evaluate families": """
aegis.evaluate(
    "clinic.csv", label="health", generate=2, families=["light", "heavy"], draws=2, models=["naive-bayes"], splits=2,
    shortlist=0,
)
""",
}
"""Answers of another shape than those of the operations' own examples."""

EXAMPLES = {name: operation.example for name, operation in OPERATIONS.items()} | FURTHER


pytestmark = pytest.mark.usefixtures("short_races")

NEEDS_ROWS = {"sanitize", "reconstruct"}
"""A party that knows 700 patients is told too little of them to err less than an adversary, and nothing is released."""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``aegis demo`` writes, with fewer rows than the other tests take."""
    folder = tmp_path_factory.mktemp("few")
    write_clinic(folder, rows=700)
    return folder


TRAINS = {"evaluate", "evaluate families"}
"""Models are trained on every candidate; fewer columns show the same shape of an answer."""


@pytest.fixture(scope="module")
def narrow(narrow_clinic: Callable[[int], Path]) -> Path:
    return narrow_clinic(400)


@pytest.fixture
def result(
    name: str, clinic: Path, few: Path, narrow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Tabular:
    """What the example of an operation answers, asked in a folder of its own."""
    shutil.copytree(clinic if name in NEEDS_ROWS else narrow if name in TRAINS else few, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    *before, call = ast.parse(EXAMPLES[name]).body
    assert isinstance(call, ast.Expr), "the last line of an example is the call"
    names: dict[str, Any] = {"aegis": aegis, "pandas": pandas}
    exec(compile(ast.Module(before, []), name, "exec"), names)
    answer: Tabular = eval(compile(ast.Expression(call.value), name, "eval"), names)
    return answer


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_an_example_that_ends_with_its_call(name: str) -> None:
    call = ast.parse(OPERATIONS[name].example).body[-1]
    assert ast.unparse(call).startswith(f"aegis.{name}(")


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_result_shows_itself_turns_into_a_table_and_is_written_and_read(name: str, result: Tabular) -> None:
    assert len(result.headline) > 5
    assert result.headline != type(result).__name__, "it must answer in a sentence of its own"
    rows = result.table_rows()
    assert rows
    assert all(list(row) == list(rows[0]) for row in rows)
    frame: Any = result.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows) == len(result.to_polars())
    assert result._repr_html_().startswith("<table>")

    if isinstance(result, Summary):  # its counts are written as a folder, which tests/unit/counts reads back
        return
    assert isinstance(result, Result)
    written = json.loads(json.dumps(result.to_json(), allow_nan=False))
    again = type(result).from_json(written)
    assert again.to_json() == result.to_json()
    assert again.exit_status == result.exit_status == (1 if name.endswith("that fails") else 0)
    assert again.table_rows() == rows
    assert json.loads(json.dumps(again.to_json())) == written
    with pytest.raises(InputError):
        type(result).from_json({})
