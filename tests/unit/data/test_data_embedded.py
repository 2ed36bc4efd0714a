"""What embedded DuckDB is asked in SQL is the same table as the expression that Ibis makes of it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.counts.answer import NO_LIMIT, ask, count_rows, distinct_in_first, grouped
from aegis.data.dataset import Dataset, expression_of, sampled
from aegis.data.embedded import EmbeddedRows
from aegis.data.engine import open_dataset

DAY, NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "tiny": (pa.int8(), st.integers(-128, 127)),
    "half": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "single": (pa.float32(), st.floats(width=32)),
    'a "double" {0}': (pa.float64(), st.floats()),
    "truth": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.sampled_from(["a", "?", "it's", "", "NA"])),
    "day": (pa.date32(), st.just(DAY)),
    "time": (pa.timestamp("us"), st.just(NOON)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("it's here")


def _shown(table: pa.Table) -> list[str]:
    return [str(row) for row in table.to_pylist()]  # as texts: a zero may be negative


@given(data=st.data(), missing=st.sampled_from([(), ("?",), ("it's", "NA")]))
def test_both_faces_of_a_table_hold_the_same_rows(folder: Path, data: st.DataObject, missing: tuple[str, ...]) -> None:
    arrays = {
        name: pa.array(data.draw(st.lists(st.none() | values, min_size=4, max_size=4)), kind)
        for name, (kind, values) in COLUMNS.items()
    }
    pq.write_table(pa.table(arrays), folder / "kinds.parquet")
    dataset = open_dataset(folder / "kinds.parquet", missing=missing)
    assert isinstance(dataset.rows, EmbeddedRows)
    told, expressed = ask(dataset.rows), ask(dataset.table)
    assert told.schema.equals(expressed.schema)
    assert _shown(told) == _shown(expressed)
    names = list(COLUMNS)
    assert distinct_in_first(dataset.rows, names, first=3) == distinct_in_first(dataset.table, names, first=3)
    for name in names:
        by_name, by_column = (
            grouped(dataset.rows, {"a": name}, limit=NO_LIMIT),
            grouped(dataset.rows, {"a": dataset.table[name]}, limit=NO_LIMIT),
        )
        assert sorted(_shown(by_name)) == sorted(_shown(by_column))
        computed = grouped(dataset.rows, {"a": dataset.table[name].isnull(), "y": name}, limit=NO_LIMIT)
        assert sum(computed["n"].to_pylist()) == 4


@pytest.fixture(scope="module")
def people(folder: Path) -> Dataset:
    lines = [f"{i % 90},{i / 3:.2f},{'xyz?'[i % 4]}" for i in range(30_000)]
    (folder / "people.csv").write_text("\n".join(["age,weight,town", *lines]) + "\n", encoding="utf-8")
    return open_dataset(folder / "people.csv", missing=("?",))


def test_a_seed_draws_the_same_rows_by_both_faces(people: Dataset) -> None:
    for seed in (0, 7):
        told = sampled(people.rows.select("age", "town"), 0.3, seed=seed)
        expressed = sampled(people.table.select("age", "town"), 0.3, seed=seed)
        assert isinstance(told, EmbeddedRows)
        assert ask(told).equals(ask(expressed))
        assert ask(told).equals(ask(expression_of(told)))
        assert 8_000 < count_rows(told) < 10_000
    some, other = (people.some_blocks(one_in=3, seed=seed) for seed in (1, 2))
    assert ask(some).equals(ask(people.table.sample(1 / 3, method="block", seed=1)))
    assert not ask(some).equals(ask(other))


def test_masks_and_counts_meet_one_table(people: Dataset) -> None:
    """An expression made of the dataset's table is answered by the engine that was counted."""
    assert people.table is people.table
    assert people.backend.con is people.rows.connection.con
    assert count_rows(people.table.filter(people.table.age < 9)) == 30_000 // 90 * 9 + 9
    other = people.with_table(people.table.filter(people.table.town == "x"))
    assert other.rows is other.table
    assert set(ask(other.rows)["town"].to_pylist()) == {"x"}


def test_types_that_need_more_thought_are_left_to_ibis(folder: Path) -> None:
    table = pa.table({"wide": pa.array([1, 2**64 - 1], pa.uint64()), "y": ["a", "b"]})
    pq.write_table(table, folder / "wide.parquet")
    dataset = open_dataset(folder / "wide.parquet")
    assert not isinstance(dataset.rows, EmbeddedRows)
    assert ask(dataset.rows)["wide"].to_pylist() == ["1", str(2**64 - 1)]


def test_nothing_of_the_rows_is_shown(people: Dataset) -> None:
    assert repr(people.rows) == "EmbeddedRows()"
