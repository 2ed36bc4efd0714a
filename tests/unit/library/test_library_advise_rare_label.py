"""A label that nearly all rows share: the ranking says that accuracy has nothing to say, and what does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import aegis

SAID = "balanced-prediction"


def _rows(rare: int) -> pa.Table:
    rng = np.random.default_rng(0)
    ill = np.arange(3_000) % rare == 0
    return pa.table(
        {
            "age": rng.integers(20, 60, 3_000) + 15 * ill,
            "town": rng.choice(["ulm", "bonn", "jena"], 3_000),
            "pulse": rng.integers(50, 90, 3_000) + 10 * ill,
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.mark.parametrize(("rare", "said"), [(20, True), (10, True), (5, False)])
def test_a_common_label_is_said(rare: int, said: bool) -> None:
    ranking = aegis.advise(_rows(rare), label="ill", generate=8, seed=0, fast=True)
    assert ranking.measure == "pair-prediction"
    assert any(SAID in note for note in ranking.notes) == said
    if said:
        assert any(f"{1 - 1 / rare:.0%} of the rows share a label" in note for note in ranking.notes)


def test_whoever_asks_for_it_is_not_told_again_and_gets_decisions() -> None:
    specs = {"kept": {"town": "suppress"}, "gone": {"age": "suppress", "pulse": "suppress"}}
    configurations = [aegis.Configuration.of(name, masks) for name, masks in specs.items()]
    ranking = aegis.advise(_rows(20), label="ill", configs=configurations, measure=SAID)
    assert not any("share a label" in note for note in ranking.notes)
    kept, gone = ranking.ranking
    assert (kept.configuration, gone.configuration) == ("kept", "gone")
    # Each label counting alike, half of the errors of a guess and more are avoided, though one label is rare.
    assert (kept.utility or 0.0) > 0.5 > 0.2 > (gone.utility or 0.0)


def test_further_rows_of_a_rare_label_test_where_labels_count_alike() -> None:
    def asked(**options: Any) -> aegis.Ranking:
        return aegis.advise(_rows(20), label="ill", generate=4, seed=0, rows=1_000, **options)

    told, by_rows = asked(), asked(goal="accuracy")
    assert told.race is not None
    assert by_rows.race is not None
    assert told.race.goal == "balanced-accuracy"
    assert told.race.sample_rows + told.race.further_rows <= 1_000
    assert told.race.further_rows > 50  # as many as the table has beyond the sample
    assert told.to_json()["further_rows"] == told.race.further_rows
    assert any("further rows of rare labels" in note for note in told.notes)
    assert by_rows.race.further_rows == 0
    assert not any("further rows" in note for note in by_rows.notes)


def test_models_are_judged_by_balanced_accuracy_where_one_label_is_common() -> None:
    ranking = aegis.advise(_rows(20), label="ill", generate=4, seed=0)
    assert ranking.race is not None
    assert ranking.race.goal == "balanced-accuracy"
    assert "accuracy cannot tell" in ranking.race.goal_reason
    assert ranking.race.guessing == 0.5
