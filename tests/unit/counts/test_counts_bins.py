"""Bins that DuckDB looks up are the bins that comparisons give, edges and missing values included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts import collect
from aegis.counts.answer import NO_LIMIT, grouped
from aegis.counts.binned import Binned, binned, count_bins
from aegis.counts.collect import Limits, count_joints
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind

WHOLE = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)
DECIMAL = st.floats(-3, 3, width=32) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, 0.3])


def _cells(answer: pa.Table) -> dict[Any, int]:
    return {(a, y): n for a, y, n in zip(*(answer[name].to_pylist() for name in "ayn"), strict=True)}


@settings(max_examples=40, deadline=None)
@given(
    whole=st.booleans(),
    data=st.data(),
    labels=st.lists(st.sampled_from(["p", "q", None]), min_size=30, max_size=30),
)
def test_looking_up_is_comparing(whole: bool, data: st.DataObject, labels: list[str | None]) -> None:
    values = WHOLE if whole else DECIMAL
    rows = data.draw(st.lists(st.none() | values, min_size=30, max_size=30))
    starts = sorted(set(data.draw(st.lists(values, min_size=1, max_size=8))))
    if not whole:  # engines read a decimal of seventeen digits as its neighbour now and then
        starts = sorted({float(f"{start:.15g}") for start in starts})
        starts = [start for start in starts if np.isfinite(start)] or [0.0]
    kind = Kind.INTEGER if whole else Kind.REAL
    table = open_dataset(pa.table({"x": pa.array(rows, pa.int64() if whole else pa.float64()), "y": labels})).table
    edges = np.array(starts, dtype=kind.dtype)
    counted = Binned(source=table.x, kind=kind, starts=edges, discretised=True)
    label = Binned(source=table.y, kind=Kind.TEXT)
    found = _cells(count_bins(table, counted, label))
    assert found == _cells(grouped(table, {"a": counted.column, "y": label.column}, limit=NO_LIMIT))
    by_hand: dict[Any, int] = {}
    for value, y in zip(rows, labels, strict=True):
        place = None if value is None else max(int(np.searchsorted(edges, value, side="right")) - 1, 0)
        by_hand[place, y] = by_hand.get((place, y), 0) + 1
    assert found == by_hand


def test_bins_hold_about_equally_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_FEW_ROWS", 0)  # as for a long table
    rng = np.random.default_rng(2)
    x, y = rng.lognormal(size=20_000), rng.integers(0, 2, 20_000)
    joint = count_joints(open_dataset(pa.table({"x": x, "y": y})), label="y", limits=Limits(bins=40)).joints["x"]
    sizes = joint.counts.sum(axis=1)
    assert joint.attribute.discretised
    assert len(sizes) == 40
    assert 0.6 * 500 < sizes.min() <= sizes.max() < 1.6 * 500
    assert joint.attribute.values[0] == x.min()


def test_a_column_of_nothing_has_no_bins() -> None:
    dataset = open_dataset(pa.table({"x": pa.array([None, None], pa.float64()), "y": [1, 2]}))
    assert binned(dataset, "x", Kind.REAL, 8).starts is None
