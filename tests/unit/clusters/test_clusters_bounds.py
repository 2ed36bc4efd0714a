"""A lower bound is below the best of all partitions, found here by trying every one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aegis.arrays import Ints
from aegis.candidates.clusters import optimise
from aegis.candidates.clusters.anonymizer import most_diverse_classes
from aegis.candidates.clusters.branching import Limit, bonus_of, halves
from aegis.candidates.clusters.centres import OneNumber, best_savings, members_of_best
from aegis.candidates.clusters.information_loss import centers_of, information_loss
from aegis.candidates.clusters.lower_bound import lower_bound
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import gap_in_words
from aegis.candidates.clusters.records import Records, collapse
from aegis.errors import AnonymizerError


def partitions(count: int) -> Iterator[Ints]:
    """Every way to put ``count`` records into classes."""

    def extend(prefix: list[int]) -> Iterator[list[int]]:
        if len(prefix) == count:
            yield prefix
            return
        for label in range(max(prefix, default=-1) + 2):
            yield from extend([*prefix, label])

    return (np.array(labels, dtype=np.int64) for labels in extend([]))


def optimum(records: Records, k: int, l: int, classes: int | None) -> tuple[float, Ints]:
    """The least loss of all valid partitions, and the labels that have it."""
    best, found = np.inf, np.zeros(len(records), dtype=np.int64)
    for labels in partitions(len(records)):
        if np.bincount(labels).min() < k or (classes is not None and labels.max() + 1 != classes):
            continue
        if any(len(np.unique(c)) < l for g in range(labels.max() + 1) for c in records.sensitive[labels == g].T):
            continue
        loss = information_loss(records, centers_of(records, labels).rows(labels))
        if loss < best:
            best, found = loss, labels
    return best, found


def small(seed: int, rows: int, numbers: int, categories: int) -> Records:
    rng = np.random.default_rng(seed)
    return Records.from_arrays(
        numeric=rng.integers(0, 6, (rows, numbers)).astype(float) if numbers else None,
        categorical=rng.integers(0, 3, (rows, categories)) if categories else None,
        sensitive=rng.integers(0, 2, (rows, 1)),
    )


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 2), st.integers(1, 3), st.integers(1, 3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_partition_goes_below_the_bound(
    seed: int, numbers: int, categories: int, k: int, classes: int, free: bool
) -> None:
    if numbers + categories == 0 or k * classes > 7:
        return
    records = small(seed, 7, numbers, categories)
    best, labels = optimum(records, k, 1, None if free else classes)
    for seconds in (0.0, 0.02):
        bound = lower_bound(records, labels, k=k, classes=None if free else classes, seconds=seconds, class_price=1.0)
        assert bound <= best + 1e-9


def test_the_dual_bound_is_tight_where_classes_are_plain() -> None:
    records = Records.from_arrays(numeric=[0.0, 1.0, 2.0, 50.0, 51.0, 52.0])
    labels = np.array([0, 0, 0, 1, 1, 1])
    loss = information_loss(records, centers_of(records, labels).rows(labels))
    bound = lower_bound(records, labels, k=3, classes=2, seconds=2.0, class_price=100.0)
    assert 0.98 * loss <= bound <= loss


def test_pricing_takes_everything_that_pays_and_fills_up_to_k() -> None:
    number, codes, weight = np.array([0.0, 1.0, 5.0]), np.zeros((3, 0), dtype=np.int64), np.array([2, 1, 4])
    modes, grid = np.zeros((1, 0), dtype=np.int64), np.array([0.0])
    prices = np.array([1.0, 0.5, 2.0])
    # at centre 0 the two records at 0 pay 1 each, the one at 1 pays 0.5 − 1, those at 5 pay 2 − 25
    assert best_savings(number, codes, weight, prices, grid, modes, 1, 0.0)[0, 0] == pytest.approx(2.0)
    assert best_savings(number, codes, weight, prices, grid, modes, 3, 0.0)[0, 0] == pytest.approx(1.5)
    assert best_savings(number, codes, weight, prices, grid, modes, 5, 0.0)[0, 0] == pytest.approx(1.5 - 2 * 23.0)
    assert members_of_best(number, codes, weight, prices, 0.0, modes[0], 5, 0.0).tolist() == [2.0, 1.0, 2.0]


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_pricing_against_trying_every_set(seed: int, k: int) -> None:
    records = small(seed, 7, 1, 1)
    tuples = collapse(records)
    points = OneNumber.of(tuples.numeric[:, 0], tuples.categorical, tuples.weight)
    rng = np.random.default_rng(seed)
    prices = rng.normal(1.0, 2.0, len(tuples))
    grid, modes = np.array([float(rng.integers(0, 6)) + 0.3]), points.modes()
    found = best_savings(points.number, points.codes, points.weight, prices, grid, modes, k, 0.1)
    for m, mode in enumerate(modes):
        value = prices + 0.1 - (points.number - grid[0]) ** 2 - (points.codes != mode).sum(axis=1)
        each = np.sort(np.repeat(value, points.weight))[::-1]
        expected = max(each[:size].sum() for size in range(k, len(each) + 1))
        assert found[m, 0] == pytest.approx(expected)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]))
@example(2128, 1, 2)  # where the search was warm to the end, and left the optimum again
@settings(max_examples=25, deadline=None)
def test_the_search_finds_the_optimum_of_small_tables(seed: int, k: int, l: int) -> None:
    records = small(seed, 7, 1, 1)
    if records.sensitive_levels[0] < l:
        return
    best, _ = optimum(records, k, l, None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(optimise, "MOST_RECORDS", 0)  # searched, though it is small enough to be solved
        result = MOOBAM(k=k, l=l, rounds=400).fit(records).result_
    assert result.diagnosis.finished == "rounds"
    assert result.information_loss >= best - 1e-9
    assert result.information_loss <= best * 1.05 + 1e-9


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]), st.sampled_from([None, 1, 2, 3]))
@example(2128, 1, 2, None)
@settings(max_examples=25, deadline=None)
def test_small_tables_are_solved(seed: int, k: int, l: int, classes: int | None) -> None:
    records = small(seed, 7, 1, 1)
    best, _ = optimum(records, k, l, classes)
    try:
        result = MOOBAM(k=k, l=l, classes=classes, seconds=0.0).fit(records).result_
    except AnonymizerError:
        assert best == np.inf or (classes or 0) > len(collapse(records))
        return
    assert result.diagnosis.finished == "done"
    assert result.information_loss == pytest.approx(best)
    assert result.lower_bound == pytest.approx(best)
    assert result.gap in ("nothing is lost", "within 0.0 % of the best possible")


def test_numbers_however_small_are_solved() -> None:
    fitted = MOOBAM(k=2).fit(Records.from_arrays(numeric=[1e-9, 9e-9, 2e-9, 8e-9]))
    assert fitted.labels_.tolist() == [0, 1, 0, 1]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 3))
@settings(deadline=None)
def test_the_most_diverse_classes_against_trying_every_partition(values: list[int], l: int) -> None:
    codes = np.array(values, dtype=np.int64)
    most = 0
    for labels in partitions(len(values)):
        if all(len(np.unique(codes[labels == g])) >= l for g in range(labels.max() + 1)):
            most = max(most, int(labels.max()) + 1)
    assert most_diverse_classes(codes, l=l) == most


def test_the_gap_in_words() -> None:
    assert gap_in_words(0.0, 0.0) == "nothing is lost"
    assert gap_in_words(0.1, 0.0) == "no bound above zero is known"
    assert gap_in_words(0.11, 0.1) == "within 10.0 % of the best possible"


def test_branching_closes_a_gap_that_prices_leave_open() -> None:
    # half of each of the three pairs in a triple covers it and costs (50 + 50 + 200)/2; the triple itself costs 200.
    # Prices alone prove no more than 300, and no partition costs less than 400
    records = Records.from_arrays(numeric=[0.0, 10.0, 20.0, 1000.0, 1010.0, 1020.0])
    labels = np.array([0, 0, 0, 1, 1, 1])
    best, found = optimum(records, 2, 1, None)
    assert found.tolist() == labels.tolist()
    bound = lower_bound(records, labels, k=2, classes=None, seconds=60.0)  # ends early: nothing is left to split
    assert 0.99 * best <= bound <= best
    assert type(bound) is float  # it is written as JSON


@given(st.integers(0, 10**6), st.integers(0, 2), st.integers(1, 3), st.integers(1, 3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_no_partition_goes_below_the_bound_after_branching(
    seed: int, categories: int, k: int, classes: int, free: bool
) -> None:
    if k * classes > 7:
        return
    records = small(seed, 7, 1, categories)
    limit = None if free else classes
    best, labels = optimum(records, k, 1, limit)
    other = np.zeros(7, dtype=np.int64) if free else labels  # a bad partition must not make the bound wrong either
    for known in (labels, other):
        assert lower_bound(records, known, k=k, classes=limit, seconds=0.2, class_price=0.5) <= best + 1e-9


def least_deviation(numbers: list[float], k: int, classes: int | None) -> tuple[float, list[int]]:
    """The exact optimum for one number and its class sizes: the best classes are runs of the sorted records."""
    count = len(numbers)
    values = np.sort(np.array(numbers))
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(0, 0): (0.0, [])}
    for end in range(k, count + 1):
        for start in range(end - k + 1):
            run = values[start:end]
            cost = float(((run - run.mean()) ** 2).sum())
            for used in range(count // k):
                if (start, used) in best:
                    before, sizes = best[start, used]
                    if (end, used + 1) not in best or before + cost < best[end, used + 1][0]:
                        best[end, used + 1] = (before + cost, [*sizes, end - start])
    wanted = range(1, count // k + 1) if classes is None else [classes]
    return min(best[count, used] for used in wanted)


@given(
    st.lists(st.integers(0, 60), min_size=24, max_size=24).filter(lambda values: len(set(values)) > 1),
    st.integers(2, 4),
    st.sampled_from([None, 3, 5, 6]),
)
@settings(max_examples=8, deadline=None)
def test_the_bound_against_the_exact_optimum_of_one_number(values: list[int], k: int, classes: int | None) -> None:
    least, sizes = least_deviation([float(value) for value in values], k, classes)
    records = Records.from_arrays(numeric=np.sort(np.array(values, dtype=float)))
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    total = float(((records.numeric - records.numeric.mean()) ** 2).sum())
    assert information_loss(records, centers_of(records, labels).rows(labels)) == pytest.approx(least / total)
    bad = (np.arange(24) % 2).astype(np.int64)  # a known partition that is far from the best one
    for known in (labels, bad):
        bound = lower_bound(records, known, k=k, classes=classes, seconds=0.3, class_price=1.0)
        assert bound <= least / total + 1e-9


def test_a_split_asks_where_half_a_class_is_open() -> None:
    grid = np.arange(10.0)
    shares = np.array([1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0])
    ((score, at_most, at_least),) = halves(-1, shares, grid)
    assert (at_most.count, at_least.count, at_most.sign, at_least.sign) == (1, 2, -1, 1)
    assert 2 <= at_most.point < 6
    assert at_least.point == at_most.point
    assert score == pytest.approx(0.25 * 4.0**2)
    assert list(halves(-1, np.array([1.0, 0.0, 2.0]), grid[:3])) == []


def test_a_fee_counts_where_its_limit_counts() -> None:
    limits = (Limit(mode=-1, point=1, sign=1, count=2), Limit(mode=0, point=0, sign=-1, count=1))
    bonus = bonus_of(limits, np.array([3.0, 1.0]), (2, 3))
    assert bonus.tolist() == [[2.0, 3.0, 0.0], [3.0, 3.0, 0.0]]
    assert Limit(mode=0, point=0, sign=-1, count=0).replaces(limits[1])
    assert not Limit(mode=0, point=0, sign=1, count=0).replaces(limits[1])
