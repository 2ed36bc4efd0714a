"""Tests of scores: held against scipy and against what the corrections promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, mannwhitneyu

from aegis.errors import MeasureError
from aegis.evaluation.anonymizer_comparison import holm, mann_whitney
from aegis.evaluation.classifiers import CLASSIFIERS, balanced_weights, f1_score, try_classifier
from aegis.evaluation.splits import matched_rows, propensity

scores = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=20)


@given(scores, scores)
def test_the_rank_test_is_scipys_and_symmetric(first: list[float], second: list[float]) -> None:
    ours, back = mann_whitney(first, second), mann_whitney(second, first)
    assert ours.u + back.u == pytest.approx(len(first) * len(second))
    assert ours.p_value == pytest.approx(back.p_value)
    if len({*first, *second}) > 1:
        theirs = mannwhitneyu(first, second, alternative="two-sided")
        assert (ours.u, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_equal_scores_are_no_evidence() -> None:
    assert mann_whitney([0.5, 0.5], [0.5, 0.5, 0.5]).p_value == 1.0
    with pytest.raises(MeasureError):
        mann_whitney([], [0.5])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_the_raw_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for raw, corrected in zip(p_values, adjusted, strict=True):
        assert raw <= corrected <= min(1.0, raw * len(p_values)) + 1e-12
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()
    if p_values:  # Holm guards against any false alarm, which is more than the share of them
        assert (np.array(adjusted) >= false_discovery_control(p_values) - 1e-12).all()


def test_holm_on_a_worked_example() -> None:
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_f1_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    wanted, answers = (np.array(side) for side in zip(*pairs, strict=True))
    for positive in range(3):
        theirs = metrics.f1_score(wanted, answers, labels=[positive], average="macro", zero_division=0)
        assert f1_score(wanted, answers, positive=positive) == pytest.approx(theirs)
    theirs = metrics.f1_score(wanted, answers, average="macro", zero_division=0)
    assert f1_score(wanted, answers, positive=None) == pytest.approx(theirs)


def _tried(model: str, *, share: float, gap: float, balanced: bool = False) -> float:
    rng = np.random.default_rng(0)
    y = (rng.random(1200) < share).astype(np.int64)
    X = np.column_stack([gap * y + rng.normal(size=1200), rng.normal(size=1200)])
    rows = np.arange(1200)
    return try_classifier(
        model, X, y, training=rows[:800], testing=rows[800:], positive=1, balanced=balanced, seed=0
    ).f1


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_every_classifier_learns_and_listens_to_weights(model: str) -> None:
    pytest.importorskip("sklearn")
    assert _tried(model, share=0.5, gap=3.0) > 0.85
    plain, weighted = (_tried(model, share=0.05, gap=1.0, balanced=balanced) for balanced in (False, True))
    assert weighted != plain
    if model in ("logistic-regression", "naive-bayes", "svm"):  # smooth ones never say a label this rare by themselves
        assert plain < 0.05 < weighted


def test_balanced_weights_give_every_label_the_same_sum() -> None:
    labels = np.array([0, 0, 0, 2, 2, 5])
    weights = balanced_weights(labels)
    sums = [weights[labels == label].sum() for label in (0, 2, 5)]
    assert sums == pytest.approx([2.0, 2.0, 2.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_matching_uses_each_record_once(seed: int, ratio: int) -> None:
    rng = np.random.default_rng(seed)
    scores, rare = rng.normal(size=60), rng.random(60) < 0.15
    rows = matched_rows(scores, rare, ratio=ratio, rng=rng)
    assert len(np.unique(rows)) == len(rows)
    assert set(np.flatnonzero(rare)) <= set(rows)
    others = 60 - rare.sum()
    assert len(rows) == (60 if ratio * rare.sum() >= others else (1 + ratio) * rare.sum())


def test_matching_balances_what_it_matches_on() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    age = rng.normal(50, 15, 3000)
    rare = rng.random(3000) < 1 / (1 + np.exp(-(age - 90) / 10))
    rows = matched_rows(propensity(((age - 50) / 15)[:, None], rare), rare, ratio=1, rng=rng)
    kept = rare[rows]
    assert age[rare].mean() - age[~rare].mean() > 10
    assert abs(age[rows][kept].mean() - age[rows][~kept].mean()) < 1
