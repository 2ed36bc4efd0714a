"""A policy and its suppression: what is promised holds on the table that would be published, judged afresh."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.transition import Partition
from aegis.privacy.judgement import FailingClasses, hopeless, judge_all
from aegis.privacy.policy import Policy, Suppressed

ASKED = [
    "k: 3",
    "k: 2\nl: {s: 2}",
    "l: {s: {kind: entropy, l: 1.8}}",
    "l: {s: {kind: recursive, c: 2, l: 2}}",
    "t: {s: 0.4}",
    "k: 2\nt: {s: {distance: ordered, t: 0.35}}",
    "beta: {s: 1.5}",
    "delta: {s: 1.5}",
    "risk: {marketer: 0.2}",
    "risk: {linkage: {tau: 0.3, share: 0.1}, homogeneity: {attributes: [s], share: 0.05}}",
    "k: 3\nalpha: {s: 0.7}",
]


def numbers(size: int) -> Domain:
    return Domain.of(Kind.INTEGER, np.arange(size))


def table_of(matrix: list[list[int]] | np.ndarray) -> ClassTable:
    counts = np.array(matrix)
    where = np.argwhere(counts >= 0)
    return ClassTable.from_codes(
        columns=["q"],
        domains=[numbers(len(counts))],
        codes=where[:, :1],
        counts=counts.ravel(),
        contents={"s": (numbers(counts.shape[1]), where[:, 1])},
    )


def random_table(rng: np.random.Generator) -> ClassTable:
    rates = rng.uniform(0.1, 5, (int(rng.integers(2, 15)), 1)) * rng.dirichlet(np.ones(3) * 2)
    matrix = rng.poisson(rates) + (rng.random(rates.shape) < 0.4)
    matrix[0, 0] += 1
    return table_of(matrix)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("mode", list(Suppressed))
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_promised_holds_on_the_released_table(asked: str, mode: Suppressed, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    limit = float(rng.choice([0.0, 0.2, 0.5, 1.0]))
    policy = Policy.from_yaml(f"{asked}\nmax_suppression: {limit}\nsuppressed: {mode.value}")
    judgement = judge_all(table, policy)
    released = judgement.released
    assert judgement.records == table.records
    assert judgement.suppressed <= limit * table.records + 1e-9
    assert released.records == table.records - (judgement.suppressed if mode is Suppressed.DROPPED else 0)
    assert released.star == (judgement.suppressed > 0 and mode is not Suppressed.DROPPED)
    assert json.dumps(judgement.as_certificate(), allow_nan=False)
    raw = all(model.judge(table).satisfied for model in policy.models)
    assert (judgement.worst == ()) == raw
    if raw:
        assert judgement.satisfied
        assert judgement.suppressed == judgement.records_to_suppress == 0
    if not judgement.satisfied:
        assert not raw
        assert judgement.suppressed == 0
        assert judgement.reason is not None
        assert not all(verdict.satisfied for verdict in judgement.verdicts)
        return
    # Count the published rows afresh: nothing of the judgement's own bookkeeping is left in this table.
    dense = released.contents["s"].dense()
    if released.classes and not (mode is Suppressed.EXEMPT and released.star):
        fresh = table_of(dense)
        assert all(model.judge(fresh).satisfied for model in policy.models)
    elif released.classes:
        seen = released.without_star(published=True)
        assert (seen.contents["s"].totals == dense.sum(axis=0)).all()
        assert all(model.judge(seen).satisfied for model in policy.models)
    assert all(verdict.satisfied for verdict in judgement.verdicts)
    again = judge_all(released, policy, suppress=False)
    assert all(verdict.satisfied for verdict in again.verdicts)
    assert again.satisfied or mode is Suppressed.DROPPED


def test_the_suppressed_are_a_class_that_must_hold_too() -> None:
    table = table_of([[1, 0], [3, 3], [4, 4], [20, 20]])
    judged = judge_all(table, Policy.from_yaml("k: 2\nmax_suppression: 0.2"))
    assert judged.satisfied
    assert judged.suppressed == 7  # the one who stands out, and the six of the smallest class to hide among
    assert judged.released.sizes.tolist() == [8, 40, 7]
    assert judged.smallest_class == 7
    exempt = judge_all(table, Policy.from_yaml("k: 2\nmax_suppression: 0.2\nsuppressed: exempt"))
    assert exempt.suppressed == 1
    assert exempt.classes == 4
    assert exempt.smallest_class == 6
    dropped = judge_all(table, Policy.from_yaml("k: 2\nmax_suppression: 0.2\nsuppressed: dropped"))
    assert dropped.classes == 3
    assert dropped.released.records == 54


def test_where_nobody_can_hide_the_reason_is_said() -> None:
    table = table_of([[1, 0], [3, 3], [4, 4], [20, 20]])
    judgement = judge_all(table, Policy.from_yaml("k: 2\nmax_suppression: 0.1"))
    assert not judgement.satisfied
    assert judgement.reason is not None
    assert "class of the 1 suppressed records fails itself" in judgement.reason
    assert judgement.suppressed == 0
    assert judgement.released is table
    strict = judge_all(table, Policy.from_yaml("k: 7\nmax_suppression: 0.1"))
    assert strict.reason == "at least 7 records would have to be suppressed, and the policy allows 5"
    assert strict.records_to_suppress == 7
    assert strict.records_suppressible == 5
    assert strict.worst == (
        FailingClasses(size=1, classes=1, records=1, models=("k-anonymity",)),
        FailingClasses(size=6, classes=1, records=6, models=("k-anonymity",)),
    )
    assert repr(strict) == "Judgement(NOT satisfied: 4 classes, 55 records, 0 suppressed)"


def test_dropping_changes_what_the_others_are_compared_with() -> None:
    # Without its first class the table has another distribution, and the small class that was close no longer is.
    table = table_of([[55, 0], [4, 1], [30, 70]])
    asked = "t: {s: 0.3}\nmax_suppression: 1\nsuppressed: "
    exempt = judge_all(table, Policy.from_yaml(asked + "exempt"))
    dropped = judge_all(table, Policy.from_yaml(asked + "dropped"))
    assert (exempt.satisfied, dropped.satisfied) == (True, True)
    assert exempt.released.sizes.tolist() == [5, 100, 55]
    assert dropped.released.sizes.tolist() == [100]
    assert dropped.suppressed == 60
    assert judge_all(dropped.released, Policy.from_yaml(asked + "dropped"), suppress=False).satisfied


def test_a_written_table_must_keep_the_limit() -> None:
    table = table_of([[5, 5], [6, 6], [20, 20]]).suppress(np.array([True, False, False]))
    policy = Policy.from_yaml("k: 5\nmax_suppression: 0.1")
    judgement = judge_all(table, policy, suppress=False)
    assert all(verdict.satisfied for verdict in judgement.verdicts)
    assert not judgement.satisfied
    assert judgement.reason == "10 records are suppressed, and the policy allows 6"
    assert judge_all(table, Policy.from_yaml("k: 5\nmax_suppression: 0.2"), suppress=False).satisfied


def test_with_suppression_merging_may_cost_more_records() -> None:
    """Why a search must not prune by entropy diversity once records may be suppressed."""
    table = table_of([[9, 0], [5, 5], [50, 50]])
    asked = "l: {s: {kind: entropy, l: 1.9}}\nmax_suppression: 0.1\nsuppressed: exempt"
    assert judge_all(table, Policy.from_yaml(asked)).satisfied  # 9 of 119 suppressed
    merged = table.merged({"q": Partition(codes=np.array([0, 0, 1]), target=numbers(2))})
    judgement = judge_all(merged, Policy.from_yaml(asked))
    assert not judgement.satisfied  # now all 19
    assert judgement.records_to_suppress == 19


def test_the_fewest_small_classes_join_the_suppressed() -> None:
    table = table_of([[1, 0], *[[2, 2]] * 30, [50, 50]])
    judgement = judge_all(table, Policy.from_yaml("k: 4\nl: {s: 2}\nmax_suppression: 0.5"))
    assert judgement.suppressed == 5  # one neighbour is enough
    judgement = judge_all(table, Policy.from_yaml("k: 4\nt: {s: 0.05}\nmax_suppression: 0.5"))
    # One more record of the first value among 2 j others: within .05 of one half from j = 5 classes of four on.
    assert judgement.satisfied
    assert 1 + 4 * 2 < judgement.suppressed <= 1 + 4 * 4


def test_what_no_mask_can_reach_is_named() -> None:
    table = table_of([[9, 1], [8, 0]])
    policy = Policy.from_yaml("k: 5\nl: {s: [2, {kind: entropy, l: 1.9}]}\nt: {s: 0.1}")
    assert [verdict.name for verdict in hopeless(table, policy)] == ["entropy-l-diversity"]
    assert [verdict.name for verdict in hopeless(table, Policy.from_yaml("k: 19\nl: {s: 2}"))] == ["k-anonymity"]


def test_a_table_without_classes_satisfies_everything_and_says_so() -> None:
    table = table_of([[1, 0], [0, 1]])
    judgement = judge_all(table, Policy.from_yaml("k: 5\nmax_suppression: 1\nsuppressed: dropped"))
    assert judgement.satisfied
    assert judgement.classes == judgement.smallest_class == 0
    assert judgement.verdicts[0].value is None


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_worst_classes_are_counted_by_size_and_model(seed: int) -> None:
    table = random_table(np.random.default_rng(seed))
    policy = Policy.from_yaml("k: 4\nl: {s: 2}\nt: {s: 0.4}")
    verdicts = [model.judge(table) for model in policy.models]
    expected = Counter(
        (int(size), tuple(v.title for v in verdicts if v.failing[i]))
        for i, size in enumerate(table.sizes)
        if any(v.failing[i] for v in verdicts)
    )
    worst = judge_all(table, policy).worst
    listed = {(w.size, w.models): w.classes for w in worst}
    assert len(listed) == len(worst) == min(len(expected), 10)
    assert all(expected[key] == count for key, count in listed.items())
    assert all(w.records == w.size * w.classes for w in worst)
    assert [w.size for w in worst] == sorted(size for size, _ in expected)[: len(worst)]
