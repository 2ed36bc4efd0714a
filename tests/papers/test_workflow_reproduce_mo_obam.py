"""The MO-OBAM chapter: printed values that are whole, and verdicts that follow from them at the same k."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")

import numpy as np

from aegis.candidates.clusters.records import Records
from aegis_papers.mo_obam_drawn import best_of, draw
from aegis_papers.mo_obam_paper import ADULT, GERMAN, KS, MODELS, Printed
from aegis_papers.mo_obam_recipe import ORIGINAL, key
from aegis_papers.mo_obam_repeats import Repeats
from aegis_papers.mo_obam_scores import AHEAD, BEHIND, LEVEL_WITH, Scores


@pytest.mark.parametrize("printed", [GERMAN, ADULT], ids=lambda one: one.table)
def test_the_printed_values_are_whole(printed: Printed) -> None:
    for rows in (printed.mdav, printed.zheng, printed.mo_obam):
        assert set(rows) == set(KS)
        assert all(a >= b >= c for a, b, c in (row.linkage for row in rows.values()))
    scores = [printed.f1_many, printed.f1_four, *(one for one in (printed.f1_mdav, printed.f1_zheng) if one)]
    assert all(set(one) == set(KS) for one in scores)
    assert {len(row) for one in scores for row in (*one.values(), printed.f1_baseline)} == {len(MODELS)}
    assert all(0.2 < value < 0.9 for one in scores for row in one.values() for value in row)
    assert {*printed.worse_many, *printed.worse_four} <= set(MODELS)


def test_the_text_and_the_printed_scores_agree() -> None:
    """What the text calls worse is lower in the printed means."""
    for printed in (GERMAN, ADULT):
        for worse, scores in ((printed.worse_many, printed.f1_many), (printed.worse_four, printed.f1_four)):
            for model, ks in worse.items():
                place = list(MODELS).index(model)
                assert all(scores[k][place] < printed.f1_baseline[place] for k in ks)


def _records(rng: np.random.Generator, *, rows: int = 60) -> Records:
    return Records.from_columns(
        {
            "age": rng.integers(18, 80, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["a", "b", "c"], rows),
        },
        quasi_identifiers=["age", "sex"],
        sensitive=["ill"],
    )


def test_a_drawn_record_is_published_as_the_nearest_centroid() -> None:
    records = _records(np.random.default_rng(1))
    drawn = draw(records, classes=7, rng=np.random.default_rng(2))
    assert (drawn.numbers >= records.numeric.min()).all()
    assert (drawn.numbers <= records.numeric.max()).all()
    for row in range(len(records)):
        distances = (records.numeric[row, 0] - drawn.numbers[:, 0]) ** 2 + (
            records.categorical[row, 0] != drawn.categories[:, 0]
        )
        assert distances[drawn.nearest[row]] == distances.min()


def test_the_loss_of_a_draw_is_that_of_the_paper() -> None:
    records = _records(np.random.default_rng(3))
    drawn = draw(records, classes=5, rng=np.random.default_rng(4))
    ages, codes = records.numeric[:, 0], records.categorical[:, 0]
    lost = ((ages - drawn.numbers[drawn.nearest, 0]) ** 2).sum() + (codes != drawn.categories[drawn.nearest, 0]).sum()
    there = ((ages - ages.mean()) ** 2).sum() + len(codes) - np.bincount(codes).max()
    assert drawn.loss == pytest.approx(lost / there)
    told = drawn.figures(records)
    assert told["classes"] == len(np.unique(drawn.nearest))


def test_more_draws_never_lose_more() -> None:
    records = _records(np.random.default_rng(5))
    losses = [
        best_of(records, classes=6, trade_off=0.0, draws=draws, rng=np.random.default_rng(6)).loss
        for draws in (1, 5, 25)
    ]
    assert losses == sorted(losses, reverse=True)


def test_weight_on_entropy_never_lowers_it() -> None:
    records = _records(np.random.default_rng(7))
    entropies = [
        best_of(records, classes=3, trade_off=weight, draws=40, rng=np.random.default_rng(8)).entropy_bits
        for weight in (0.0, 0.1, 1.0, 10.0)
    ]
    assert entropies == sorted(entropies)


def test_runs_of_a_recipe_have_a_median_a_spread_and_a_rank() -> None:
    runs = Repeats(runs=tuple({"loss": 0.1 + place / 1000, "linkage": [place, 0, 0]} for place in range(41)))
    assert runs.median("loss") == pytest.approx(0.12)
    spread = runs.spread("linkage 0.05")
    assert (spread.low, spread.high) == (1.0, 39.0)
    assert runs.below("loss", 0.05).shows
    assert not runs.below("loss", 0.12).shows


def _scores(shift: float, *, splits: int = 30) -> Scores:
    """Scores of a model on the original, and lower by a shift on four classes."""
    rng = np.random.default_rng(9)
    base = rng.normal(0.8, 0.02, splits)
    return Scores(
        name="made up",
        by={
            key(ORIGINAL, 0): {"RF": base},
            key("four", 5): {"RF": rng.normal(0.8 - shift, 0.02, splits)},
            key("many", 5): {"RF": base[:1]},
        },
        importance={},
        one_partition=True,
        first_k=5,
    )


def test_a_loss_is_found_at_every_k_where_there_is_one_partition() -> None:
    lower = _scores(0.05)
    assert {lower.standing(("four", k), (ORIGINAL, 0), "RF") for k in KS} == {BEHIND}
    assert lower.standing((ORIGINAL, 0), ("four", 20), "RF") == AHEAD
    assert _scores(0.0).standing(("four", 5), (ORIGINAL, 0), "RF") == LEVEL_WITH


def test_what_was_not_trained_has_no_verdict() -> None:
    scores = _scores(0.05)
    assert scores.mean("mdav", 5, "RF") is None
    assert scores.standing(("mdav", 5), (ORIGINAL, 0), "RF") is None
    assert scores.of("many", 5, "RF") is None  # one split has no spread
    assert scores.above("many", 5, "RF", [0.9, 0.9]) is None


def test_the_tolerance_is_what_splits_move_two_means_by() -> None:
    few, many = _scores(0.0, splits=5), _scores(0.0, splits=80)
    assert few.tolerance(ORIGINAL, 0, "RF") > many.tolerance(ORIGINAL, 0, "RF")
    values = many.of(ORIGINAL, 0, "RF")
    assert values is not None
    expected = 1.96 * values.std(ddof=1) * np.sqrt(1 / 80 + 1 / 100)
    assert many.tolerance(ORIGINAL, 0, "RF") == pytest.approx(expected)


def test_ours_is_better_only_where_the_splits_say_so() -> None:
    scores = _scores(0.05)
    higher = scores.above(ORIGINAL, 0, "RF", [0.9 + place / 1000 for place in range(20)])
    lower = scores.above(ORIGINAL, 0, "RF", [0.7 + place / 1000 for place in range(20)])
    assert higher is not None
    assert lower is not None
    assert higher.shows
    assert not lower.shows
