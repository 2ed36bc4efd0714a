"""Selectors side by side, and what it means to agree with the exhaustive way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from aegis.counts.collect import count_joints
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import Summary, masked_counts
from aegis.data.engine import open_dataset
from aegis.errors import MeasureError
from aegis.evaluation.evaluated import agreement, random_choice
from aegis.evaluation.selectors import select, selectors
from aegis.masking.configuration import Configuration
from aegis.measures.measure import AttributeMeasure, measures_of
from aegis.result import plain

numbers = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=12)


@given(scores=numbers, seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_agreement_is_bounded_and_perfect_with_itself(scores: list[float], seed: int) -> None:
    gold = np.random.default_rng(seed).random(len(scores))
    found = agreement("s", scores, gold)
    assert -1 <= found.spearman <= 1
    assert -1 <= found.kendall <= 1
    assert 0 <= found.regret <= np.ptp(gold) + 1e-12
    assert 0 <= found.top5 <= 1
    if np.ptp(scores) > 0:
        assert found.spearman == pytest.approx(spearmanr(scores, gold).statistic, abs=1e-9)
        assert found.kendall == pytest.approx(kendalltau(scores, gold).statistic, abs=1e-9)
    itself = agreement("gold", gold, gold)
    assert itself.spearman == pytest.approx(1.0)
    assert (itself.regret, itself.top5) == (0.0, 1.0)


@given(scores=numbers, scale=st.floats(0.1, 10), shift=st.floats(-5, 5))
@settings(max_examples=50, deadline=None)
def test_only_the_order_of_the_scores_counts(scores: list[float], scale: float, shift: float) -> None:
    gold = np.linspace(0.5, 0.9, len(scores))
    one, two = (agreement("s", s, gold) for s in (scores, np.round(np.array(scores) * scale + shift, 9)))
    assert one.regret == pytest.approx(two.regret)
    assert one.spearman == pytest.approx(two.spearman)


def test_ties_for_first_are_chosen_among_at_random() -> None:
    gold = [0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    found = agreement("s", [1, 1, 0, 0, 0, 0, 0, 1], gold)
    assert found.regret == pytest.approx(0.9 - (0.9 + 0.7 + 0.0) / 3)
    assert found.top5 == pytest.approx(2 / 3)


def test_choosing_at_random_costs_the_mean() -> None:
    gold = np.arange(10) / 10
    found = random_choice(gold)
    assert found.regret == pytest.approx(0.9 - 0.45)
    assert (found.spearman, found.kendall, found.top5) == (0.0, 0.0, 0.5)
    assert plain(found)["name"] == "random"


def test_scores_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(MeasureError, match="two or more"):
        agreement("s", [1.0], [0.5])
    with pytest.raises(MeasureError, match="not a number"):
        agreement("s", [1.0, float("nan")], [0.5, 0.6])


@pytest.fixture(scope="module")
def told() -> tuple[Summary, PairTables]:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1500)
    strong = np.where(rng.random(1500) < 0.9, label * 20 + rng.integers(0, 20, 1500), rng.integers(0, 40, 1500))
    table = pa.table({"strong": strong, "weak": rng.integers(0, 40, 1500), "y": label})
    dataset = open_dataset(table)
    counted = count_joints(dataset, label="y")
    configurations = [
        Configuration.of("whole", {}),
        Configuration.of("coarse", {"strong": {"bucketize": {"width": 20}}, "weak": {"bucketize": {"width": 20}}}),
        Configuration.of("across", {"strong": {"bucketize": {"width": 20, "origin": 10}}, "weak": "suppress"}),
        Configuration.of("strong-gone", {"strong": "suppress"}),
        Configuration.of("noisy", {"strong": {"randomize": {"keep": 0.3}}, "weak": "shuffle"}),
    ]
    summary = masked_counts(
        name="t",
        label="y",
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=configurations,
    )
    return summary, count_pairs(dataset, counted)


def test_every_selector_scores_every_configuration(told: tuple[Summary, PairTables]) -> None:
    found = {one.selector: one for one in select(told[0], pairs=told[1])}
    assert set(found) == set(selectors())
    assert {name.split(" (")[0] for name in found if "(exact)" in name} == set(measures_of(AttributeMeasure))
    for one in found.values():
        assert one.scores.shape == (5,)
        assert np.isfinite(one.scores).all()
        assert one.cpu_seconds >= 0
    assert "label-probe" not in {one.selector for one in select(told[0])}


@pytest.mark.parametrize("name", ["label-probe", "pair-information", "leave-one-out-information (exact)"])
def test_good_selectors_keep_the_attribute_that_matters(told: tuple[Summary, PairTables], name: str) -> None:
    (one,) = select(told[0], pairs=told[1], names=[name])
    whole, coarse, across, gone, noisy = one.scores
    assert min(whole, coarse) > noisy >= gone
    assert coarse > across


def test_relative_entropy_sees_no_label_but_the_histograms(told: tuple[Summary, PairTables]) -> None:
    (one,) = select(told[0], names=["Mascara"])
    assert one.scores[0] == pytest.approx(0.0)  # nothing masked, nothing lost
    assert (one.scores[1:] < 0).all()


def test_the_paper_s_selectors_draw_and_equal_seeds_agree(told: tuple[Summary, PairTables]) -> None:
    one, two, other = (select(told[0], names=["Aegis+1D mutual-information"], seed=s)[0].scores for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_an_unknown_selector_is_named(told: tuple[Summary, PairTables]) -> None:
    with pytest.raises(MeasureError, match="no selector called nope"):
        select(told[0], names=["nope"])
