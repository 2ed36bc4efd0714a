"""Columns that nobody gave a role: which of them look as if they named people."""

from __future__ import annotations

from pathlib import Path

import aegis
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.library.tables.unlisted import looks_identifying


def test_a_column_without_values_is_suspicious_where_there_are_rows(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,note,ward\n30,,a\n40,,b\n40,,b\n", encoding="utf-8")
    assert looks_identifying(open_dataset(table), Roles()) == ("note",)


def test_new_rows_of_which_there_are_none_are_masked_without_a_warning(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,ward\n", encoding="utf-8")
    applied = aegis.apply(table, config={"age": "suppress"}, out=tmp_path / "masked.csv")
    assert applied.looks_identifying == ()
    assert applied.warnings == ()
    assert (tmp_path / "masked.csv").read_text(encoding="utf-8").split() == ["age,ward"]
