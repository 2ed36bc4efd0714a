"""Pair tables counted in the engine equal those counted by hand, group by group."""

from __future__ import annotations

import datetime
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.answer import codes_in
from aegis.counts.collect import count_joints
from aegis.counts.collect_pairs import PairLimits, count_pairs
from aegis.counts.joint import Histogram, TableCounts
from aegis.counts.pair_counts import PairCounts, PairTables, ValueGroups
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.errors import SummaryError


def table(rows: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)

    def holes(values: list[object]) -> list[object]:
        return [None if rng.random() < 0.1 else value for value in values]

    start = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "age": holes(rng.integers(18, 90, rows).tolist()),
            "weight": rng.normal(70, 10, rows).round(1),
            "town": holes([f"it's {i}" for i in rng.geometric(0.2, rows)]),
            "smoker": holes((rng.random(rows) < 0.3).tolist()),
            "seen": [start + datetime.timedelta(days=int(d)) for d in rng.integers(0, 200, rows)],
            "nothing": pa.nulls(rows, pa.string()),
            "health": rng.choice(["good", "poor", "fair"], rows),
        }
    )


def opened(rows: pa.Table) -> tuple[Dataset, TableCounts]:
    dataset = open_dataset(rows)
    return dataset, count_joints(dataset, label="health")


def by_hand(rows: pa.Table, counted: TableCounts, pairs: PairTables, a: str, b: str) -> np.ndarray:
    first = pairs.groups[a].codes[codes_in(rows[a], counted.joints[a].attribute)]
    second = pairs.groups[b].codes[codes_in(rows[b], counted.joints[b].attribute)]
    cells = np.zeros((pairs.groups[a].size, pairs.groups[b].size, pairs.labels))
    np.add.at(cells, (first, second, codes_in(rows["health"], counted.label_histogram.domain)), 1)
    return cells


@pytest.mark.parametrize("groups", [3, 7, 64, 500])
def test_every_pair_equals_the_count_by_hand(groups: int) -> None:
    rows = table()
    dataset, counted = opened(rows)
    pairs = count_pairs(dataset, counted, limits=PairLimits(groups=groups, parts=4))
    names = list(counted.joints)
    assert pairs.sample_rows == pairs.rows == 300
    assert len(pairs.tables) == len(names) * (len(names) - 1) // 2
    for a, b in pairs.tables:
        counted_here = pairs.tables[a, b].dense(pairs.groups[a].size, pairs.groups[b].size)
        np.testing.assert_array_equal(counted_here, by_hand(rows, counted, pairs, a, b))


def test_pairs_in_sqlite_equal_those_of_the_embedded_engine(tmp_path: Path) -> None:
    rows = table().select(["age", "weight", "town", "health"])
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database, database:
        database.execute("CREATE TABLE t (age INTEGER, weight REAL, town TEXT, health TEXT)")
        values = [tuple(row.values()) for row in rows.to_pylist()]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    there = open_dataset(f"sqlite://{tmp_path}/x.sqlite#t")
    found, expected = count_pairs(there, count_joints(there, label="health")), count_pairs(*opened(rows))
    assert found.tables.keys() == expected.tables.keys()
    for pair, counts in expected.tables.items():
        assert np.array_equal(found.tables[pair].counts, counts.counts)


def test_the_parts_are_of_equal_size_and_add_up_to_the_joint() -> None:
    rows = table()
    dataset, counted = opened(rows)
    pairs = count_pairs(dataset, counted, limits=PairLimits(parts=4))
    for name, parts in pairs.parts.items():
        assert parts.sum(axis=(1, 2)).tolist() == [75, 75, 75, 75]
        merged = np.zeros(parts.shape[1:])
        np.add.at(merged, pairs.groups[name].codes, counted.joints[name].counts)
        np.testing.assert_array_equal(parts.sum(axis=0), merged)


def test_a_large_table_is_sampled_and_says_so() -> None:
    dataset, counted = opened(table(3_000))
    limits = PairLimits(rows=500)
    pairs = count_pairs(dataset, counted, limits=limits, seed=3)
    assert pairs.rows == 3_000
    assert 400 <= pairs.sample_rows <= 500
    assert {int(t.counts.sum()) for t in pairs.tables.values()} == {pairs.sample_rows}
    again = count_pairs(dataset, counted, limits=limits, seed=3)
    assert all(np.array_equal(again.parts[name], parts) for name, parts in pairs.parts.items())
    other = count_pairs(dataset, counted, limits=limits, seed=4)
    assert any(not np.array_equal(other.parts[name], parts) for name, parts in pairs.parts.items())


def test_numbers_counted_in_ranges_are_grouped_by_those_ranges() -> None:
    from aegis.counts.collect import Limits

    rows = table(400)
    dataset = open_dataset(rows)
    counted = count_joints(dataset, label="health", limits=Limits(numbers=20, bins=10))
    assert counted.joints["weight"].attribute.discretised
    pairs = count_pairs(dataset, counted)
    starts = counted.joints["weight"].attribute.values
    bins = np.searchsorted(starts, rows["weight"].to_numpy(), side="right") - 1
    sizes = pairs.parts["weight"].sum(axis=(0, 2))
    np.testing.assert_array_equal(sizes, np.bincount(bins, minlength=len(sizes)))


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=60).filter(any),
    most=st.integers(3, 20),
    missing=st.booleans(),
    ordered=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_groups_are_bounded_and_keep_order_and_missing(
    counts: list[int], most: int, missing: bool, ordered: bool
) -> None:
    size = len(counts)
    domain = (
        Domain.of(Kind.INTEGER, range(size), missing=missing)
        if ordered
        else Domain.of(Kind.TEXT, [f"{i:03d}" for i in range(size)], missing=missing)
    )
    histogram = Histogram(domain=domain, counts=np.array([*counts, *([3] * missing)]))
    groups = ValueGroups.bounded(histogram, most)
    assert len(groups.codes) == domain.size
    assert groups.size == len(np.unique(groups.codes)) <= max(most, 1)
    assert groups.exact == (domain.size <= most)
    if missing:
        assert (groups.codes == groups.codes[-1]).sum() == 1
    if ordered:
        assert (np.diff(groups.codes) >= 0).all()
    elif not groups.exact:
        alone = np.bincount(groups.codes)[groups.codes[:size]] == 1
        # Whatever is kept apart is at least as frequent as what is put together.
        assert min(np.array(counts)[alone]) >= max(np.array(counts)[~alone])


def test_what_does_not_fit_is_refused() -> None:
    one = ValueGroups(codes=np.array([0]), size=1)
    cell = PairCounts(first=np.array([0]), second=np.array([0]), counts=np.array([[1, 2]]))
    with pytest.raises(SummaryError, match="one row of label counts"):
        PairCounts(first=np.array([0]), second=np.array([0, 1]), counts=np.array([[1, 2]]))
    with pytest.raises(SummaryError, match="negative"):
        PairCounts(first=np.array([-1]), second=np.array([0]), counts=np.array([[1, 2]]))
    with pytest.raises(SummaryError, match="does not fit"):
        PairTables(rows=3, sample_rows=3, labels=3, groups={"a": one, "b": one}, tables={("a", "b"): cell}, parts={})
    with pytest.raises(SummaryError, match="at least one row"):
        PairTables(rows=3, sample_rows=4, labels=2, groups={"a": one, "b": one}, tables={("a", "b"): cell}, parts={})
    with pytest.raises(SummaryError, match="change the limits"):
        PairLimits(parts=1)
    with pytest.raises(SummaryError, match="3 groups"):
        ValueGroups.bounded(Histogram(domain=Domain.of(Kind.INTEGER, range(9)), counts=np.ones(9)), 2)


def test_of_a_wide_table_the_attributes_that_tell_most_are_paired() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 400)
    noise = {f"noise{i}": rng.integers(0, 9, 400) for i in range(3)}
    rows = pa.table({**noise, "exact": label * 3, "hint": label ^ (rng.random(400) < 0.2), "health": label})
    dataset, counted = opened(rows)
    pairs = count_pairs(dataset, counted, limits=PairLimits(attributes=2))
    assert list(pairs.groups) == ["exact", "hint"]
    assert list(pairs.tables) == [("exact", "hint")]
    assert pairs.left_out == tuple(noise)
    assert count_pairs(dataset, counted).left_out == ()


def test_no_value_shows_in_a_repr() -> None:
    rows = table()
    dataset, counted = opened(rows)
    pairs = count_pairs(dataset, counted)
    shown = repr(pairs) + repr(pairs.groups) + repr(list(pairs.tables.values())[:3])
    assert "it's" not in shown
