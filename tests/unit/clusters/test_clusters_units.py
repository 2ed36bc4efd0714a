"""The bookkeeping of moves is exact: every delta equals the difference of two losses computed from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.clusters.class_limits import limits_of
from aegis.candidates.clusters.first_partition import agglomerate, repair, sweep
from aegis.candidates.clusters.information_loss import centers_of, deviation, divisors, embed
from aegis.candidates.clusters.neighbourhood_search import neighbours_of, search_rounds
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import (
    Units,
    add,
    best_met,
    cost_of_adding,
    gain_of_removing,
    may_release,
    note,
    place,
    remove,
    take,
    total_loss,
    units_of,
)


def table(seed: int, rows: int) -> Records:
    rng = np.random.default_rng(seed)
    return Records.from_arrays(
        numeric=rng.integers(0, 12, (rows, 2)).astype(float),
        categorical=rng.integers(0, 3, (rows, 2)),
        sensitive=rng.integers(0, 3, (rows, 2)),
    )


def make(seed: int, rows: int, *, whole: bool = False) -> tuple[Records, Units]:
    records = table(seed, rows)
    return records, units_of(records, collapse(records), scale="raw", whole_tuples=whole)


def valid(labels: np.ndarray[Any, Any], records: Records, k: int, l: int) -> bool:
    for c in np.unique(labels):
        inside = records.sensitive[labels == c]
        if len(inside) < k or any(len(np.unique(column)) < l for column in inside.T):
            return False
    return True


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_delta_is_exact(seed: int, whole: bool) -> None:
    _, units = make(seed, 20, whole=whole)
    rng = np.random.default_rng(seed)
    state = place(units, rng.integers(0, 4, len(units.weight)), capacity=4)
    for _ in range(15):
        u, target = int(rng.integers(len(units.weight))), int(rng.integers(4))
        before = total_loss(state)
        gain = gain_of_removing(units, state, u)
        remove(units, state, u)
        assert before - total_loss(state) == pytest.approx(gain, abs=1e-7)
        between = total_loss(state)
        cost = cost_of_adding(units, state, u, target)
        add(units, state, u, target)
        assert total_loss(state) - between == pytest.approx(cost, abs=1e-7)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_state_after_moves_is_the_state_from_scratch(seed: int) -> None:
    records, units = make(seed, 25)
    rng = np.random.default_rng(seed)
    state = place(units, rng.integers(0, 4, 25), capacity=4)
    for u in rng.integers(0, 25, 30):
        remove(units, state, int(u))
        add(units, state, int(u), int(rng.integers(4)))
    fresh = place(units, state.label.copy(), capacity=4)
    for name in ("size", "counts", "top", "seen", "distinct"):
        assert (getattr(state, name) == getattr(fresh, name)).all(), name
    labels = np.unique(state.label, return_inverse=True)[1]
    assert total_loss(state) == pytest.approx(deviation(records, centers_of(records, labels).rows(labels)))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_may_leave_is_what_validity_says(seed: int, k: int, l: int) -> None:
    records, units = make(seed, 14)
    labels = np.random.default_rng(seed).integers(0, 2, 14)
    state = place(units, labels, capacity=2)
    for u in range(14):
        if any(len(np.unique(column)) < l for column in records.sensitive[labels == labels[u]].T):
            continue  # the class lacks values already
        rest = np.delete(np.arange(14), u)
        own = rest[labels[rest] == labels[u]]
        inside = records.sensitive[own]
        expected = len(own) >= k and all(len(np.unique(c)) >= l for c in inside.T) if len(own) else k <= 0
        assert bool(may_release(units, state, u, k, l)) == expected


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 2), st.booleans())
@settings(max_examples=30, deadline=None)
def test_start_repair_sweep_and_search_never_leave_a_bad_class(seed: int, k: int, l: int, free: bool) -> None:
    records = table(seed, 60)
    tuples = collapse(records)
    coarse = units_of(records, tuples, scale="raw", whole_tuples=True)
    labels = agglomerate(coarse, k=k, l=l, classes=None if free else 6)[tuples.tuple_of]
    units = units_of(records, tuples, scale="raw", whole_tuples=False)
    state = place(units, labels, capacity=max(int(labels.max()) + 1, 12))
    assert len(repair(units, state, k=k, l=l)) == 0
    before = total_loss(state)
    sweep(units, state, k=k, l=l)
    assert total_loss(state) <= before + 1e-9
    assert valid(state.label, records, k, l)
    near = neighbours_of(tuples, np.ones(2), count=20, whole_tuples=False)
    assert near is not None
    rng, limits = np.random.default_rng(seed), limits_of(records, None)
    before = total_loss(state)
    aim = 0 if free else len(np.unique(labels))
    search_rounds(units, state, near, rng, k, l, limits, aim, 0, np.zeros(1), 1.0, 60, 0.0)
    assert total_loss(state) <= before + 1e-9
    assert valid(state.label, records, k, l)
    if not free:
        assert len(np.unique(state.label)) == len(np.unique(labels))
    before = total_loss(state)
    hot = 1e3  # so warm that all is kept
    met = search_rounds(units, state, near, rng, k, l, limits, aim, 1, np.zeros(1), 1.0, 60, hot)
    assert met.fits
    assert valid(met.labels, records, k, l)
    assert free or len(np.unique(met.labels)) == aim
    again = place(units, met.labels, capacity=int(met.labels.max()) + 1)
    assert total_loss(again) == pytest.approx(before - met.lowered)
    assert met.lowered >= 0


def test_the_best_partition_met_is_kept_while_the_search_goes_on() -> None:
    _, units = make(1, 6)
    state = place(units, np.array([0, 0, 0, 1, 1, 1]), capacity=2)
    met = best_met(state)

    def move(u: int) -> None:
        to = 1 - state.label[u]
        remove(units, state, u)
        add(units, state, u, to)
        note(met, np.array([u]))

    move(0)
    take(met, state)
    assert met.labels.tolist() == [1, 0, 0, 1, 1, 1]
    move(1)
    move(0)
    move(1)
    assert met.labels.tolist() == [1, 0, 0, 1, 1, 1]
    take(met, state)
    assert met.labels.tolist() == state.label.tolist() == [0, 0, 0, 1, 1, 1]


def test_repair_borrows_only_what_can_be_spared() -> None:
    records = Records.from_arrays(numeric=[0.0, 0.0, 0.0, 0.0, 9.0, 9.0], sensitive=["a", "b", "a", "b", "a", "a"])
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    state = place(units, np.array([0, 0, 0, 0, 1, 1]), capacity=2)
    assert len(repair(units, state, k=2, l=2)) == 0
    assert valid(state.label, records, 2, 2)
    stuck = place(units, np.array([0, 0, 1, 1, 1, 1]), capacity=2)
    assert len(repair(units, stuck, k=4, l=2)) == 1  # six records cannot make two classes of four


def test_the_embedding_measures_what_the_loss_measures() -> None:
    records = table(3, 12)
    tuples = collapse(records)
    points = embed(tuples, divisors(records, scale="raw"))
    for a in range(len(tuples)):
        gaps = ((tuples.numeric[a] - tuples.numeric) ** 2).sum(axis=1)
        misses = (tuples.categorical[a] != tuples.categorical).sum(axis=1)
        assert ((points[a] - points) ** 2).sum(axis=1) == pytest.approx(gaps + misses)
