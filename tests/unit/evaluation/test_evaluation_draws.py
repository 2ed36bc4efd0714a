"""Several draws of a family: means lie between the lowest and the highest, and JSON keeps its shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.evaluation.evaluated import (
    Agreement,
    EvaluatedDraw,
    EvaluatedFamily,
    Evaluation,
    agreement,
    mean_agreement,
    over_draws,
)
from aegis.evaluation.gold import GoldScore, GoldStandard

NUMBERS = ("spearman", "kendall", "regret", "top5", "cpu_seconds")
KEYS = {"name", *NUMBERS}


def agreements(seed: int) -> list[Agreement]:
    rng = np.random.default_rng(seed)
    gold = rng.random(8)
    return [agreement(name, rng.random(8), gold, cpu_seconds=float(rng.random())) for name in ("ours", "theirs")]


def gold(accuracies: list[float]) -> GoldStandard:
    scores = tuple(
        GoldScore(
            configuration=f"g{i}", id=f"id{i}", accuracy=one, interval=(one, one), accuracy_by_model={"m": one},
            accuracy_by_split=(one, one), auc=one, auc_by_split=(one, one), balanced_accuracy=one,
            balanced_accuracy_by_split=(one, one), cpu_seconds=1.0,
        )
        for i, one in enumerate(accuracies)
    )  # fmt: skip
    return GoldStandard(
        models=("m",), splits=2, training_rows=10, test_rows=5, scores=scores, cpu_seconds=float(len(scores))
    )


def evaluation(*draws: int) -> Evaluation:
    families = tuple(
        EvaluatedFamily(
            name=f"family {number}",
            draws=tuple(
                EvaluatedDraw(seed=seed, gold=gold([0.5, 0.7]), selectors=tuple(agreements(seed)))
                for seed in range(times)
            ),
            notes=("a note",),
        )
        for number, times in enumerate(draws)
    )
    return Evaluation(name="t", rows=15, attributes=3, label="y", families=families)


@given(seeds=st.lists(st.integers(0, 500), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_the_mean_of_draws_lies_between_the_lowest_and_the_highest(seeds: list[int]) -> None:
    draws = [agreements(seed) for seed in seeds]
    spreads = over_draws(draws)
    assert {one.mean.selector for one in spreads} == {"ours", "theirs"}
    assert [one.mean.regret for one in spreads] == sorted(one.mean.regret for one in spreads)
    for one in spreads:
        for name in NUMBERS:
            each = [getattr(a, name) for draw in draws for a in draw if a.selector == one.mean.selector]
            low, mean, high = (getattr(of, name) for of in (one.lowest, one.mean, one.highest))
            assert (low, high) == (min(each), max(each))
            assert mean == pytest.approx(np.mean(each))


def test_draws_are_averaged_before_families() -> None:
    found = evaluation(3, 1)
    means = {one.selector: one for one in found.selectors}
    first = np.mean([agreements(seed)[0].regret for seed in range(3)])
    assert means["ours"].regret == pytest.approx((first + agreements(0)[0].regret) / 2)
    assert found.most_draws == 3
    assert found.families[0].training_seconds == 2.0, "of one draw"
    assert mean_agreement([agreements(0)])[0] == agreements(0)[0]


@pytest.mark.parametrize("draws", [(1,), (3,), (1, 3), (1, 1)])
def test_the_contract_holds_however_often_families_are_drawn(draws: tuple[int, ...]) -> None:
    (table,) = evaluation(*draws).to_json()["datasets"]
    assert {"name", "rows", "attributes", "selectors"} <= set(table)
    assert all(set(one) == KEYS for one in table["selectors"])
    assert ("gold" in table) == (draws == (1,))
    for family, times in zip(table["families"], draws, strict=True):
        assert all(set(one) == KEYS for one in family["selectors"])
        assert family["notes"] == ["a note"]
        if times == 1:
            assert len(family["gold"]["configurations"]) == 2
            assert "draws" not in family
            continue
        assert "gold" not in family
        assert [draw["seed"] for draw in family["draws"]] == list(range(times))
        assert all(set(draw) == {"seed", "gold", "selectors"} for draw in family["draws"])


def test_the_page_says_means_with_their_ends_and_keeps_every_draw() -> None:
    pytest.importorskip("jinja2")
    from aegis.report.evaluation_report import render_evaluation

    once = render_evaluation(evaluation(1), default="ours")
    assert "Draw 1" not in once
    assert "a note" in once
    page = render_evaluation(evaluation(2, 1), default="ours")
    assert "Draw 1 of 2 (seed 0)" in page
    assert "Draw 2 of 2 (seed 1)" in page
    assert "family 0: 2 times, seeds 0 to 1" in page
    assert "family 1: once" in page
    ends = sorted(100 * agreements(seed)[0].regret for seed in range(2))
    assert f"{ends[0]:.2f} to {ends[1]:.2f}" in page
