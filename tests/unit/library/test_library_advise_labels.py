"""Labels of every kind: classes, numbers, several at once, and none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import aegis
from aegis.errors import DataError, LabelError, OptionError


def _people(rows: int = 1_200) -> pa.Table:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, rows)
    town = rng.choice(["ulm", "bonn", "jena"], rows)
    return pa.table(
        {
            "age": age,
            "town": town,
            "pulse": rng.integers(50, 90, rows),
            "ill": np.where(age + rng.normal(0, 8, rows) > 45, "yes", "no"),
            "cost": 10.0 * age + 50 * (town == "ulm") + rng.normal(0, 30, rows),
        }
    )


MASKS: dict[str, dict[str, Any]] = {
    "no-age": {"age": "suppress"},
    "decades": {"age": {"bucketize": {"width": 10}}},
    "no-town": {"town": "suppress"},
}
CONFIGURATIONS = [aegis.Configuration.of(name, masks) for name, masks in MASKS.items()]


def test_a_number_is_predicted_as_a_number() -> None:
    ranking = aegis.advise(_people(), label="cost", configs=CONFIGURATIONS)
    assert ranking.race is not None
    assert ranking.race.goal == "r2"
    assert ranking.best.configuration in ("decades", "no-town")
    assert ranking.ranking[-1].configuration == "no-age"
    assert ranking.race.unmasked.performance > 0.8
    lost = aegis.advise(_people(), label="cost", configs=CONFIGURATIONS, goal="mae")
    assert lost.race is not None
    assert not lost.higher_is_better
    assert lost.race.unmasked.performance < lost.race.guessing


@pytest.mark.parametrize(("unit", "missing"), [("D", False), ("D", True), ("us", False)])
def test_a_date_is_predicted_as_a_number_of_days(unit: str, missing: bool) -> None:
    """Dates of more than fifty months were refused."""
    people = _people()
    days = 40 * people["age"].to_numpy() + np.random.default_rng(1).integers(0, 300, people.num_rows)
    dates = (np.datetime64("1990-01-01") + days).astype(f"datetime64[{unit}]")
    hidden = np.arange(people.num_rows) % 10 == 0 if missing else None
    table = people.append_column("joined", pa.array(dates, mask=hidden))
    ranking = aegis.advise(table, label="joined", configs=CONFIGURATIONS)
    assert ranking.race is not None
    assert ranking.race.goal == "r2"
    assert ranking.race.unmasked.performance > 0.8
    assert ranking.ranking[-1].configuration == "no-age"
    assert any("120 rows without a label" in note for note in ranking.notes) == missing


def test_several_labels_are_ranked_by_the_mean_of_what_is_kept() -> None:
    ranking = aegis.advise(_people(), label="ill,cost", configs=CONFIGURATIONS)
    assert [each.label for each in ranking.labels] == ["ill", "cost"]
    assert ranking.ranking[-1].configuration == "no-age"
    for place in ranking.ranking:
        kept = [
            next(own.kept or 0.0 for own in each.ranking if own.configuration == place.configuration)
            for each in ranking.labels
        ]
        assert place.kept == pytest.approx(np.mean(kept))
    assert "keeps least for" in ranking.best.reasons[0]
    again = aegis.Ranking.from_json(ranking.to_json())
    assert again.to_json() == ranking.to_json()


def test_without_a_label_each_column_is_one_in_turn() -> None:
    ranking = aegis.advise(_people(400), configs=CONFIGURATIONS)
    assert {"age", "ill", "cost"} <= {each.label for each in ranking.labels}
    assert any("better than guessing" in note and "pulse" in note for note in ranking.notes)


def test_what_one_label_only_can_have_is_refused_for_several() -> None:
    with pytest.raises(OptionError, match="one label"):
        aegis.advise(_people(), label="ill,cost", configs=CONFIGURATIONS, report="never.html")
    with pytest.raises(LabelError, match="one label"):
        aegis.advise(_people(), label="ill,town", configs=CONFIGURATIONS, fast=True)


def test_a_ranking_is_read_back_from_its_json() -> None:
    options: dict[str, Any]
    for options in ({}, {"fast": True}, {"measure": "mutual-information"}):
        ranking = aegis.advise(_people(400), label="ill", configs=CONFIGURATIONS, **options)
        again = aegis.Ranking.from_json(ranking.to_json())
        assert again.to_json() == ranking.to_json()
        assert again.best == ranking.best
        assert len(ranking.to_pandas()) == len(ranking.to_polars()) == 3
        assert ranking.best.configuration in ranking._repr_html_()


@pytest.mark.parametrize("seed", range(4))
def test_a_column_that_gives_the_label_away_is_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = rng.choice(["p", "q"], 500)
    table = pa.table({"a": rng.integers(0, 50, 500), "copy": label, "y": label, "key": [f"k{i}" for i in range(500)]})
    for options in ({}, {"fast": True}, {"measure": "balanced-prediction"}):
        ranking = aegis.advise(table, label="y", generate=6, seed=seed, **options)
        warned = [note for note in ranking.notes if "tells y by itself" in note]
        assert len(warned) == 1
        assert warned[0].startswith("copy ")


def test_a_random_label_is_said_to_be_one() -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {"a": rng.integers(0, 9, 600), "b": rng.choice(list("uvw"), 600), "y": rng.choice(["p", "q"], 600)}
    )
    ranking = aegis.advise(table, label="y", generate=4)
    assert ranking.race is not None
    assert any("nothing here tells the label" in note for note in ranking.notes)


def test_without_a_label_columns_that_a_finished_table_masks_are_left_out(tmp_path: Path) -> None:
    """The first of them ended it all: a masked column cannot be the label, and others can."""
    rows = _people(300)
    masked = tmp_path / "masked.csv"
    decades = [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in rows["age"].to_pylist()]
    pyarrow.csv.write_csv(rows.set_column(0, "age", [decades]), masked)
    ranking = aegis.advise(rows, configs=CONFIGURATIONS[:1], tables=[masked])
    assert "holds no numbers" in ranking.skipped["age"]
    assert [each.label for each in ranking.labels] == ["town", "pulse", "ill", "cost"]
    assert {place.configuration for place in ranking.ranking} == {"no-age", "masked"}
    with pytest.raises(LabelError, match="holds no numbers"):
        aegis.advise(rows, label="age", configs=CONFIGURATIONS[:1], tables=[masked])


def test_a_finished_table_of_few_rows_is_named(tmp_path: Path) -> None:
    """The data has rows enough: it was told to give more of them."""
    few = tmp_path / "few.csv"
    pyarrow.csv.write_csv(_people(300).slice(0, 29), few)
    with pytest.raises(DataError, match=r"few.csv: 29 rows have a label"):
        aegis.advise(_people(300), label="ill", configs=CONFIGURATIONS[:1], tables=[few])
