"""Columns that nobody gave a role: which of them look as if they named people."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

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


VISITS = pa.table(
    {
        "patient": [f"P{(i * 37) % 60}" for i in range(180)],
        "chart": [((i * 37) % 60 * 7919 + 31) % 99_991 for i in range(180)],
        "age": [20 + (i * 37) % 60 % 50 for i in range(180)],
        "health": [("good", "bad")[i * i % 7 % 2] for i in range(180)],
    }
)
"""Three visits of each patient; the chart number says whose they are as well."""


def test_a_number_of_people_is_left_out_beside_the_name_that_is_hidden(tmp_path: Path) -> None:
    roles = Roles(identifying=("patient",), quasi_identifying=("age",))
    assert looks_identifying(open_dataset(VISITS), roles) == ("chart",)
    policy = {"quasi_identifying": ["age"], "k": 2, "max_suppression": 1.0}
    out = tmp_path / "released.csv"
    release = aegis.release(VISITS, policy=policy, identifying=["patient"], insensitive=["rest"], out=out)
    assert release.left_out_as_identifying == ("chart",)
    assert "chart" not in out.read_text(encoding="utf-8").splitlines()[0]


def test_a_number_of_people_that_somebody_names_insensitive_is_warned_of(tmp_path: Path) -> None:
    policy = {"identifying": ["patient"], "insensitive": ["chart", "health"], "quasi_identifying": ["age"], "k": 2}
    release = aegis.release(VISITS, policy={**policy, "max_suppression": 1.0}, out=tmp_path / "released.csv")
    assert release.insensitive_that_look_identifying == ("chart",)


def test_a_summary_holds_nobodys_number(tmp_path: Path) -> None:
    """Nobody gave the columns a role, and the configuration hides one of them: the counts showed both."""
    summary = aegis.summarize(
        VISITS, label="health", configs={"patient": "suppress", "age": "suppress"}, race=False, out=tmp_path / "summary"
    )
    assert list(summary.attributes) == ["age"]
    assert set(summary.skipped) == {"patient", "chart"}
    assert "--insensitive chart" in summary.skipped["chart"]
    told = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "summary").rglob("*.json"))
    assert "P17" not in told
    assert str((17 * 7919 + 31) % 99_991) not in told


def test_a_summary_counts_no_column_that_its_policy_calls_identifying() -> None:
    policy = {"identifying": ["chart"], "unit": "patient", "quasi_identifying": ["age"], "k": 2, "max_suppression": 1.0}
    summary = aegis.summarize(VISITS, label="health", configs={"age": "suppress"}, policy=policy, race=False)
    assert list(summary.attributes) == ["age"]


def test_a_number_that_somebody_calls_insensitive_is_counted() -> None:
    summary = aegis.summarize(
        VISITS, label="health", configs={"age": "suppress"}, race=False, identifying=["patient"], insensitive=["chart"]
    )
    assert "chart" in summary.attributes
