"""Edges that are published stand on nobody's own value where there is room beside it."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tree import Cut
from aegis.candidates.search.masks import mask_for
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.grid import edge_between, moment_between
from aegis.masking.masks.bucketize import Bucketize
from aegis.privacy.policy import Policy

WHOLE = st.integers(-(10**12), 10**12)
REAL = st.floats(-1e9, 1e9, allow_nan=False)


@given(WHOLE, WHOLE)
def test_a_whole_number_is_between_where_one_is(one: int, other: int) -> None:
    low, high = sorted((one, other))
    if low < high:
        edge = edge_between(float(low), float(high), Kind.INTEGER)
        assert edge == int(edge)
        assert low < edge <= high
        assert (edge == high) == (high - low == 1)


@given(REAL, REAL)
def test_a_real_number_is_between(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        edge = edge_between(low, high, Kind.REAL)
        assert low < edge <= high
        if high - low > 1e-6 * max(abs(low), abs(high)):
            assert edge < high


@pytest.mark.parametrize("kind", [Kind.DATE, Kind.TIMESTAMP])
@given(first=st.integers(-20_000, 20_000), gap=st.integers(1, 5_000))
def test_a_moment_is_between_where_one_is(kind: Kind, first: int, gap: int) -> None:
    unit = "D" if kind is Kind.DATE else "us"
    low, high = np.array([first, first + gap]).astype(f"datetime64[{unit}]")
    edge = np.datetime64(moment_between(low, high, kind))
    assert low < edge <= high
    assert (edge == high) == (gap == 1)


@pytest.mark.parametrize("gap", [4, 5, 6])
def test_an_edge_does_not_tell_the_value_beside_it(gap: int) -> None:
    """The last day, or the last whole number, before the next value was taken: whoever saw an edge knew that value."""
    low = np.datetime64("2020-02-03")
    day = np.datetime64(moment_between(low, low + gap, Kind.DATE))
    assert min(day - low, low + gap - day) >= np.timedelta64(2, "D")
    tick = np.timedelta64(1, "us")
    moment = np.datetime64(moment_between(low + tick, low + (gap + 1) * tick, Kind.TIMESTAMP))
    assert min(moment - low - tick, low + (gap + 1) * tick - moment) >= 2 * tick
    whole = edge_between(1003.0, 1003.0 + gap, Kind.INTEGER)
    assert min(whole - 1003, 1003 + gap - whole) >= 2
    real = edge_between(53_211.21, 53_211.21 + gap / 100, Kind.REAL)
    assert min(real - 53_211.21, 53_211.21 + gap / 100 - real) > 0.015


def test_one_bucket_beside_missing_values_begins_at_nobodys_value() -> None:
    """A search that tells only who has a value from who has none began its bucket at the least one."""
    groups, counts = np.array([0, 0, 0, 1]), np.ones(4, dtype=np.int64)
    pay = Domain.of(Kind.INTEGER, [1207, 3044, 5150], missing=True)
    mask = mask_for(pay, groups, counts)
    assert mask.parameters() == {"edges": [0.0]}
    assert isinstance(mask, Bucketize)
    assert mask.on_values(pay.values).tolist() == ["[0, inf)"] * 3
    days = Domain.of(Kind.DATE, np.array(["1931-05-02", "1950-01-01", "1999-03-04"], dtype="M8[D]"), missing=True)
    assert mask_for(days, groups, counts).parameters() == {"edges": ["1900-01-01"]}


def test_buckets_of_equal_frequency_begin_at_nobodys_salary() -> None:
    salaries = Domain.of(Kind.REAL, [1204.17, 1333.41, 1952.83, 2001.4, 2613.72, 3120.55])
    edges = Bucketize(quantiles=3).resolve(salaries, np.ones(6)).edges
    assert edges is not None
    assert len(edges) == 2
    assert not set(edges) & set(salaries.values.tolist())
    whole = Domain.of(Kind.INTEGER, [18_911, 20_417, 31_733, 44_090])
    assert Bucketize(quantiles=2).resolve(whole, np.ones(4)).edges == (30_000.0,)


def test_boxes_begin_on_nobodys_birthday() -> None:
    """Every end of a box of days was the birthday of one to four people, and stood in the released table."""
    days = [date(1950, 1, 1) + timedelta(days=11 * i) for i in range(400)]
    domain = Domain.of(Kind.DATE, np.array(days, dtype="datetime64[D]"))
    ill = np.arange(400) // 40 % 2
    table = ClassTable.from_codes(
        columns=("born",),
        domains=(domain,),
        codes=np.arange(400).reshape(-1, 1),
        counts=np.ones(400, dtype=np.int64),
        contents={"ill": (Domain.of(Kind.TEXT, ["no", "yes"]), ill.astype(np.int64))},
    )
    grown = grow_boxes(table, Policy.from_mapping({"k": 5}), labels=["ill"], growth=Growth())
    ends = {str(node.below) for node in grown.boxes.nodes if isinstance(node, Cut) and node.below is not None}
    assert len(ends) > 3
    assert not ends & {str(day) for day in days}
