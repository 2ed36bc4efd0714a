"""Counting: every joint is the one a row-by-row count would give, missing included."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from aegis.counts.collect import Limits, count_joints
from aegis.counts.joint import TableCounts
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import DataError, LabelError


def _count(columns: dict[str, Any], *, label: str = "y", **options: Any) -> TableCounts:
    roles = options.pop("roles", None)
    return count_joints(open_dataset(pa.table(columns), roles=roles), label=label, **options)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-3, 3)),
            st.one_of(st.none(), st.sampled_from(["a", "b", "ü", ""])),
            st.one_of(st.none(), st.sampled_from(["x", "y", "z"])),
        ),
        min_size=2,
        max_size=40,
    ).filter(lambda rows: len({row[2] for row in rows} - {None}) >= 1 and len({row[2] for row in rows}) >= 2)
)
def test_joints_equal_a_count_by_hand(rows: list[tuple[Any, Any, Any]]) -> None:
    table = pa.table(
        {
            "n": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.string()),
            "y": pa.array([row[2] for row in rows], pa.string()),
        }
    )
    counted = count_joints(open_dataset(table), label="y")
    for position, name in enumerate(["n", "t"]):
        joint = counted.joints[name]
        values = [*joint.attribute.values.tolist(), *([None] if joint.attribute.missing else [])]
        labels = [*joint.label.values.tolist(), *([None] if joint.label.missing else [])]
        found = {
            (value, label): int(joint.counts[i, j])
            for i, value in enumerate(values)
            for j, label in enumerate(labels)
            if joint.counts[i, j]
        }
        assert found == Counter((row[position], row[2]) for row in rows)


def test_tables_of_the_same_shape_are_not_taken_for_each_other() -> None:
    """To Ibis tables of one name and schema are equal, whichever engine they lie in."""
    tables = [open_dataset(pa.table({"x": [0, 1] * n, "y": [0, 1] * n})) for n in (5, 10, 15)]
    assert [count_joints(table, label="y").rows for table in tables] == [10, 20, 30]
    assert [int(count_joints(table, label="y").joints["x"].counts.sum()) for table in reversed(tables)] == [30, 20, 10]


def test_large_numeric_domains_are_discretised_and_say_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=9_000)
    counted = _count({"x": x, "k": np.arange(9_000) % 3_000, "y": x > 1}, limits=Limits(bins=100))
    assert counted.joints["x"].attribute.discretised
    assert 80 <= counted.joints["x"].attribute.size <= 100
    assert counted.joints["x"].counts.sum(axis=1).max() < 9_000 * 0.03
    assert not counted.joints["k"].attribute.discretised, "3,000 distinct numbers are counted exactly"
    assert counted.joints["k"].attribute.size == 3_000
    assert counted.joints["x"].rows == 9_000


def test_texts_beyond_the_limit_are_left_out_with_the_reason() -> None:
    counted = _count(
        {"id": [f"p{i}" for i in range(300)], "a": [0, 1, 2] * 100, "y": [0, 1] * 150}, limits=Limits(texts=200)
    )
    assert set(counted.joints) == {"a"}
    assert "more than 200 distinct texts" in counted.skipped["id"]


def test_identifying_columns_are_never_counted() -> None:
    counted = _count({"id": [1, 2], "a": [1, 1], "y": [0, 1]}, roles=Roles(identifying=("id",)))
    assert set(counted.joints) == {"a"}
    assert "identifying" in counted.skipped["id"]


def test_a_continuous_label_can_be_cut_into_classes() -> None:
    values = np.linspace(0, 1, 400)
    with pytest.raises(LabelError, match=r"looks continuous .* --label-bins"):
        _count({"a": values > 0.5, "y": values})
    counted = _count({"a": values > 0.5, "y": values}, label_bins=4)
    assert counted.label_histogram.domain.size == 4
    assert counted.label_histogram.counts.min() >= 90


def test_an_integer_label_with_few_values_is_a_class_label() -> None:
    assert _count({"a": [1, 2, 3, 4], "y": [1, 2, 2, 1]}).label_histogram.domain.size == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1, 2], "y": ["CANARY", "CANARY"]}, "same value in every row"),
        ({"a": [1], "y": ["CANARY"]}, "same value in every row"),
        ({"a": [1, 2], "y": pa.array([None, None], pa.string())}, "missing in every row"),
        ({"a": [1, 2], "z": ["CANARY", "b"]}, "there is no column 'y'"),
    ],
)
def test_a_label_that_is_none(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(LabelError, match=said) as caught:
        _count(columns)
    assert "CANARY" not in str(caught.value)


def test_an_empty_table_and_a_table_of_only_a_label() -> None:
    with pytest.raises(DataError, match="no rows"):
        _count({"a": pa.array([], pa.int64()), "y": pa.array([], pa.string())})
    with pytest.raises(DataError, match="no attribute"):
        _count({"y": [0, 1]})


def test_an_all_missing_column_is_one_value() -> None:
    joint = _count({"a": pa.array([None, None], pa.string()), "y": [0, 1]}).joints["a"]
    assert joint.counts.tolist() == [[1, 1]]
    assert joint.attribute.missing


def test_tables_of_the_same_name_in_two_connections_are_counted_apart() -> None:
    # Ibis calls embedded engines equal, and so expressions over their tables of the same name.
    first = open_dataset(pa.table({"a": [1, 1, 2], "y": ["p", "q", "q"]}))
    second = open_dataset(pa.table({"a": [1, 2, 2], "y": ["p", "p", "q"]}))
    for _ in range(2):
        assert count_joints(first, label="y").joints["a"].counts.tolist() == [[1, 1], [0, 1]]
        assert count_joints(second, label="y").joints["a"].counts.tolist() == [[1, 0], [1, 1]]


def test_two_attributes_of_few_values_are_counted_in_one_pass_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "sex": pa.array([("f", "m", None)[place] for place in rng.integers(0, 3, 500)]),
            "age": rng.integers(18, 60, 500),
            "job": rng.choice(list("abcdefgh"), 500),
            "zip": rng.integers(0, 400, 500),
            "ill": pa.array([(True, False, None)[place] for place in rng.integers(0, 3, 500)]),
            "y": rng.choice(["no", "yes"], 500),
        }
    )
    collect: Any = import_module("aegis.counts.collect")
    asked: list[tuple[str, ...]] = []
    grouped = collect.grouped

    def counting(table: Any, columns: Any, *, limit: int) -> pa.Table:
        asked.append(tuple(columns.values()))
        return grouped(table, columns, limit=limit)

    monkeypatch.setattr(collect, "grouped", counting)
    together = count_joints(open_dataset(table), label="y")
    assert asked == [("y",), ("sex", "ill", "y"), ("age", "job", "y"), ("zip", "y")]
    monkeypatch.setattr(collect, "_MOST_TOGETHER", 0)
    alone = count_joints(open_dataset(table), label="y")
    assert list(together.joints) == list(alone.joints)
    for name, joint in alone.joints.items():
        assert together.joints[name].attribute == joint.attribute
        assert (together.joints[name].counts == joint.counts).all()


def test_values_that_the_first_rows_do_not_show_are_counted_apart() -> None:
    """Sorted by a column, the first rows show one value of it; its pass with another column is given up."""
    rows = 40_000
    table = pa.table({"day": np.arange(rows) // 8, "sex": np.arange(rows) % 2, "y": np.arange(rows) // 3 % 2})
    counted = count_joints(open_dataset(table), label="y", limits=Limits(peek_rows=100))
    assert counted.joints["day"].attribute.size == rows // 8
    assert counted.joints["sex"].counts.sum() == rows
