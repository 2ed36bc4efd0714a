"""The models against their definitions, written out slowly, and against figures from the literature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MeasureError
from aegis.masking.transition import Partition
from aegis.privacy.models.k_anonymity import AlphaKAnonymity
from aegis.privacy.models.l_diversity import EntropyLDiversity, RecursiveLDiversity
from aegis.privacy.models.likeness import BasicBetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from aegis.privacy.models.risks import HomogeneityRisk, JournalistRisk, LinkageRisk, MarketerRisk
from aegis.privacy.models.t_closeness import TCloseness, equal_distance, hierarchical_distance, ordered_distance

VALUES = 6


def numbers(size: int, *, missing: bool = False) -> Domain:
    return Domain.of(Kind.INTEGER, np.arange(size - missing) * 3, missing=missing)


def table_of(matrix: np.ndarray, *, missing: bool = False, kind: Kind = Kind.INTEGER) -> ClassTable:
    """A table whose class i holds value v matrix[i, v] times."""
    rows, values = matrix.shape
    domain = numbers(values, missing=missing)
    if kind is Kind.TEXT:
        domain = Domain.of(Kind.TEXT, [f"v{i:03}" for i in range(values)])
    where = np.argwhere(matrix >= 0)
    return ClassTable.from_codes(
        columns=["q"],
        domains=[numbers(rows)],
        codes=where[:, :1],
        counts=matrix.ravel(),
        contents={"s": (domain, where[:, 1])},
    )


def random_counts(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 5, (rng.integers(1, 7), VALUES)) * (rng.random((1, VALUES)) < 0.8)
    matrix[np.arange(len(matrix)), rng.integers(0, VALUES, len(matrix))] += 1
    return np.asarray(matrix)


def transport(q: np.ndarray, p: np.ndarray, cost: np.ndarray) -> float:
    """The earth mover's distance as the linear program that defines it."""
    size = len(q)
    sums = np.zeros((2 * size, size * size))
    for i in range(size):
        sums[i, i * size : (i + 1) * size] = 1
        sums[size + i, i::size] = 1
    answer = linprog(cost.ravel(), A_eq=sums, b_eq=np.concatenate([q, p]), method="highs")
    assert answer.success
    return float(answer.fun)


def distances(matrix: np.ndarray, cost: np.ndarray) -> list[float]:
    p = matrix.sum(axis=0) / matrix.sum()
    return [transport(row / row.sum(), p, cost) for row in matrix]


seeds = st.integers(0, 2**32)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_the_equal_distance_is_the_transport_cost(seed: int) -> None:
    matrix = random_counts(seed)
    found = equal_distance(table_of(matrix).contents["s"])
    assert found == pytest.approx(distances(matrix, 1.0 - np.eye(VALUES)), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_the_ordered_distance_is_the_transport_cost_between_ranks(seed: int) -> None:
    matrix = random_counts(seed)
    occurring = np.flatnonzero(matrix.sum(axis=0))
    steps = max(len(occurring) - 1, 1)
    small = matrix[:, occurring]
    cost = np.abs(np.subtract.outer(np.arange(len(occurring)), np.arange(len(occurring)))) / steps
    assert ordered_distance(table_of(matrix).contents["s"]) == pytest.approx(distances(small, cost), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_with_missing_values_the_ordered_distance_is_never_too_small(seed: int) -> None:
    matrix = random_counts(seed)
    known = np.flatnonzero(matrix[:, :-1].sum(axis=0))
    kept = [*known, VALUES - 1]
    cost = np.ones((len(kept), len(kept)))
    cost[:-1, :-1] = np.abs(np.subtract.outer(np.arange(len(known)), np.arange(len(known)))) / max(len(known) - 1, 1)
    np.fill_diagonal(cost, 0)
    found = ordered_distance(table_of(matrix, missing=True).contents["s"])
    least = np.array(distances(matrix[:, kept], cost))
    assert (found >= least - 1e-9).all()
    assert (found <= 1.0).all()
    if not matrix[:, -1].any():
        assert found == pytest.approx(least, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_the_hierarchical_distance_is_the_transport_cost_in_the_tree(seed: int) -> None:
    matrix = random_counts(seed)
    levels = [np.array([0, 0, 1, 1, 2, 3]), np.array([0, 0, 0, 0, 1, 1]), np.zeros(6, dtype=np.int64)]
    content = table_of(matrix).with_levels(
        {"s": tuple(Partition(codes=level, target=numbers(int(level.max()) + 1)) for level in levels)}
    )
    height = np.full((VALUES, VALUES), 3.0)
    for h, level in reversed(list(enumerate(levels, start=1))):
        height[level[:, None] == level[None, :]] = h
    np.fill_diagonal(height, 0)
    found = hierarchical_distance(content.contents["s"])
    assert found == pytest.approx(distances(matrix, height / 3), abs=1e-9)


def test_the_salaries_of_li_li_and_venkatasubramanian() -> None:
    # Their worked example: salaries 3k to 11k, each once in the table; {3k, 4k, 5k} is .375 away, {6k, 8k, 11k} .167.
    matrix = np.zeros((3, 9), dtype=np.int64)
    matrix[0, [0, 1, 2]] = matrix[1, [3, 5, 8]] = matrix[2, [4, 6, 7]] = 1
    scores = TCloseness(attribute="s", t=0.2, distance="ordered").scores(table_of(matrix))
    assert scores[:2] == pytest.approx([0.375, 1 / 6])


def test_wide_ordered_values_keep_their_closed_form() -> None:
    rng = np.random.default_rng(3)
    matrix = (rng.random((40, 500)) < 0.01).astype(np.int64) * rng.integers(1, 9, (40, 500))
    matrix[np.arange(40), rng.integers(0, 500, 40)] += 1
    used = matrix[:, matrix.any(axis=0)]
    p = used.sum(axis=0) / used.sum()
    q = used / used.sum(axis=1, keepdims=True)
    slow = np.abs(np.cumsum(q - p, axis=1)).sum(axis=1) / (used.shape[1] - 1)
    assert ordered_distance(table_of(matrix).contents["s"]) == pytest.approx(slow, abs=1e-9)


def test_the_ordered_distance_refuses_text_and_the_hierarchical_one_needs_a_hierarchy() -> None:
    table = table_of(np.array([[1, 2]]), kind=Kind.TEXT)
    with pytest.raises(MeasureError, match="use the distance 'equal'"):
        TCloseness(attribute="s", t=0.2, distance="ordered").judge(table)
    with pytest.raises(MeasureError, match="needs a hierarchy"):
        TCloseness(attribute="s", t=0.2, distance="hierarchical").judge(table)


@given(seeds)
def test_counts_in_a_class_against_their_definitions(seed: int) -> None:
    matrix = random_counts(seed)
    table = table_of(matrix)
    p = matrix.sum(axis=0) / matrix.sum()
    used = p > 0
    for i, row in enumerate(matrix):
        q = row / row.sum()
        held = q > 0
        falling = sorted(row[held].tolist(), reverse=True)
        effective = math.exp(-float((q[held] * np.log(q[held])).sum()))
        assert EntropyLDiversity(attribute="s", l=2).scores(table)[i] == pytest.approx(effective)
        for l in (1, 2, 3):
            tail = sum(falling[l - 1 :])
            expected = falling[0] / tail if tail else math.inf
            assert RecursiveLDiversity(attribute="s", c=1, l=l).scores(table)[i] == pytest.approx(expected)
        assert AlphaKAnonymity(attribute="s", alpha=0.5).scores(table)[i] == q.max()
        gain = (q[used] - p[used]) / p[used]
        basic = max(gain.max(), 0.0)
        assert BasicBetaLikeness(attribute="s", beta=1).scores(table)[i] == pytest.approx(basic, abs=1e-9)
        for beta in (0.3, 1.0, 3.0):
            model = EnhancedBetaLikeness(attribute="s", beta=beta)
            allowed = (gain <= np.minimum(beta, -np.log(p[used])) + 1e-9).all()
            assert model.failing(table, model.scores(table))[i] == (not allowed)
        counted = DeltaDisclosure(attribute="s", delta=1).scores(table)[i]
        held_only = DeltaDisclosure(attribute="s", delta=1, absent="ignored").scores(table)[i]
        assert held_only == pytest.approx(np.abs(np.log(q[held] / p[held])).max(), abs=1e-9)
        assert counted == (held_only if (q[used] > 0).all() else math.inf)


def test_entropy_of_equal_shares_reaches_l_exactly() -> None:
    for values in range(2, 40):
        table = table_of(np.full((1, values), 3))
        assert EntropyLDiversity(attribute="s", l=values).judge(table).satisfied
        assert not EntropyLDiversity(attribute="s", l=values + 0.001).judge(table).satisfied


def test_recursive_diversity_is_strict() -> None:
    table = table_of(np.array([[4, 2, 2]]))
    assert not RecursiveLDiversity(attribute="s", c=1, l=2).judge(table).satisfied
    assert RecursiveLDiversity(attribute="s", c=1.01, l=2).judge(table).satisfied


def test_linkage_is_strict_and_homogeneity_counts_singletons() -> None:
    matrix = np.zeros((4, 2), dtype=np.int64)
    matrix[0] = [10, 10]
    matrix[1] = [19, 0]
    matrix[2] = [0, 1]
    matrix[3] = [5, 5]
    table = table_of(matrix)
    linkage = LinkageRisk(tau=0.05).judge(table)
    assert linkage.failing.tolist() == [False, True, True, True]  # 1/20 is not above .05
    assert linkage.value == 30 / 50
    homogeneity = HomogeneityRisk(attributes=("s",)).judge(table)
    assert homogeneity.failing.tolist() == [False, True, True, False]
    assert homogeneity.value == 20 / 50


def test_a_share_is_kept_by_the_fewest_classes() -> None:
    sizes = np.array([[1], [1], [2], [40]])
    verdict = LinkageRisk(tau=0.1, share=0.05).judge(table_of(sizes))
    assert verdict.value == 4 / 44
    assert verdict.failing.tolist() == [True, True, False, False]  # 2 of 42 remain at risk


def test_marketers_and_journalists_see_the_population() -> None:
    people = ClassTable.from_codes(
        columns=["q"], domains=[numbers(3)], codes=np.array([[0], [1], [2]]), counts=np.array([10, 5, 99])
    )
    table = ClassTable.from_codes(
        columns=["q"], domains=[numbers(3)], codes=np.array([[0], [1]]), counts=np.array([2, 4]), population=people
    )
    assert JournalistRisk(limit=0.2).scores(table).tolist() == [0.1, 0.2]
    assert MarketerRisk(limit=0.2).judge(table).value == pytest.approx((2 / 10 + 4 / 5) / 6)
    alone = ClassTable.from_codes(
        columns=["q"], domains=[numbers(3)], codes=np.array([[0], [1]]), counts=np.array([2, 4])
    )
    assert JournalistRisk(limit=0.2).scores(alone).tolist() == [0.5, 0.25]
    assert MarketerRisk(limit=0.2).judge(alone).value == pytest.approx(2 / 6)
    # Somebody whom the population forgot is at least in the table; who is suppressed has no tuple to look up.
    forgotten = ClassTable.from_codes(
        columns=["q"], domains=[numbers(3)], codes=np.array([[0]]), counts=np.array([12]), population=people
    )
    assert JournalistRisk(limit=0.2).scores(forgotten).tolist() == [1 / 12]
    starred = table.suppress(np.array([True, False]))
    assert JournalistRisk(limit=0.2).scores(starred).tolist() == [0.2, 0.5]


def test_a_population_counted_otherwise_is_refused() -> None:
    people = ClassTable.from_codes(columns=["r"], domains=[numbers(3)], codes=np.array([[0]]), counts=np.array([1]))
    table = ClassTable.from_codes(
        columns=["q"], domains=[numbers(3)], codes=np.array([[0]]), counts=np.array([1]), population=people
    )
    with pytest.raises(MeasureError, match="same columns"):
        JournalistRisk(limit=0.2).judge(table)


def test_missing_is_a_value_like_any_other() -> None:
    matrix = np.array([[3, 0, 3]])  # the last code is missing
    assert EntropyLDiversity(attribute="s", l=2).judge(table_of(matrix, missing=True)).satisfied


def test_a_verdict_shows_no_value_of_the_data() -> None:
    table = table_of(np.array([[1, 2]]), kind=Kind.TEXT)
    verdict = TCloseness(attribute="s", t=0.2).judge(table)
    assert "v00" not in repr(verdict) + str(verdict.as_certificate())
    assert verdict.sentence() == "t-closeness of s (distance = equal): at most 0.2 asked, found 0: satisfied"
