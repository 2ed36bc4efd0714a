"""Finished tables in the race: what they train on and what tests them, whatever they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.data.engine import open_dataset
from aegis.errors import LabelError
from aegis.learners.candidate import MaskTables, Part
from aegis.learners.finished import FinishedTable, GeneralisedTable, finished_table
from aegis.learners.race import race
from aegis.learners.sample import Sample, draw_sample
from aegis.learners.schedule import Schedule, parts

ROWS = 800
QUICK = Schedule(first_cells=ROWS * 8, least_rows=ROWS, cells=ROWS * 8, small_rows=0)


def people(rows: int = ROWS) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    age, town = rng.integers(20, 80, rows), rng.choice(["north", "south", "west"], rows)
    income = rng.integers(0, 100_000, rows)
    ill = (age - 50) / 8 + np.where(town == "west", 1.0, -1.0) + rng.logistic(0, 1, rows) > 0
    return {"age": age, "town": town, "income": income, "health": np.where(ill, "ill", "well")}


def sample_of(columns: dict[str, Any]) -> Sample:
    return draw_sample(open_dataset(pa.table(columns)), label="health")


def first_part(sample: Sample) -> Part:
    return parts(sample.target(), sample.rows, folds=2, repeats=1, seed=0)[0]


def intervals(ages: Any) -> list[str]:
    return [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in ages]


def test_a_table_of_real_values_trains_and_real_rows_test_it() -> None:
    source = sample_of(people())
    noisy = people()
    noisy["age"] = noisy["age"] + np.random.default_rng(1).normal(0, 2, ROWS)
    candidate = finished_table("noisy", sample_of(noisy), source)
    assert isinstance(candidate, FinishedTable)
    part = first_part(source)
    split = candidate.split(part, draw=0)
    assert str(split.protocol) == "the table trains, real rows test"
    assert split.test_rows == len(part.testing)
    ages = split.columns[0]
    real = source.histograms["age"].domain.values[source.codes["age"][part.testing]]
    assert ages.column.numbers is not None
    np.testing.assert_array_equal(ages.column.numbers[ages.testing], real)


def test_labels_by_a_rule_of_its_own_win_nothing() -> None:
    source, fake = people(), people()
    fake["health"] = np.where(fake["income"] > 50_000, "ill", "well")
    tables = MaskTables(sample_of(source))
    candidates = [
        finished_table(name, sample_of(rows), tables.sample) for name, rows in (("fake", fake), ("as-is", source))
    ]
    result = race(candidates, tables, schedule=QUICK)
    by_name = {candidate.name: candidate for candidate in result.ranking}
    assert by_name["fake"].rank == 2
    assert by_name["fake"].performance < result.guessing + 0.1
    assert not by_name["fake"].in_best_group
    assert not by_name["fake"].no_loss_found
    assert by_name["as-is"].doubt is None
    assert by_name["as-is"].performance == pytest.approx(result.unmasked.performance, abs=0.03)


def test_copies_of_test_rows_do_not_train() -> None:
    rows = people()
    source = sample_of(rows)
    copied = {name: np.tile(values[: ROWS // 4], 4) for name, values in rows.items()}
    candidate = finished_table("copied", sample_of(copied), source)
    part = first_part(source)
    split = candidate.split(part, draw=0)
    tested = set(zip(*(column.testing.tolist() for column in split.columns), strict=True))
    trained = set(zip(*(column.training.tolist() for column in split.columns), strict=True))
    assert not tested & trained  # the incomes tell all rows apart
    assert len(split.target) == pytest.approx(ROWS / 2, abs=ROWS / 10)


def test_records_of_a_table_in_the_source_s_order_do_not_test_what_they_trained() -> None:
    source = sample_of(people())
    noisy = people()
    moved = np.arange(ROWS) / (10 * ROWS)  # less than a tenth: says which row it was, and equals none
    noisy["age"] = noisy["age"] + moved + 0.01
    candidate = finished_table("noisy", sample_of(noisy), source)
    part = first_part(source)
    split = candidate.split(part, draw=0)
    ages = split.columns[0]
    assert ages.column.numbers is not None
    numbers = ages.column.numbers[ages.training] - 0.01
    trained = np.rint((numbers - np.floor(numbers)) * 10 * ROWS).astype(int)
    assert source.positions is not None
    assert set(trained.tolist()) == set(source.positions[part.training].tolist())


def test_a_table_of_nothing_but_test_rows_still_trains() -> None:
    rows = people()
    source = sample_of(rows)
    part = first_part(source)
    two = [int(np.flatnonzero(source.label_codes[part.testing] == label)[0]) for label in (0, 1)]
    places = np.repeat(part.testing[two], 20)
    columns = {name: source.histograms[name].domain.values[codes[places]] for name, codes in source.codes.items()}
    columns["health"] = source.label_domain.values[source.label_codes[places]]
    split = finished_table("two", sample_of(columns), source).split(part, draw=0)
    assert len(split.target) == 40


def test_one_category_of_its_own_stands_for_those_the_table_does_not_have() -> None:
    rows = people()
    source = sample_of(rows)
    rows["town"] = np.where(rows["town"] == "west", "(other)", rows["town"])
    candidate = finished_table("rare", sample_of(rows), source)
    assert isinstance(candidate, FinishedTable)
    split = candidate.split(first_part(source), draw=0)
    town = split.columns[1]
    assert set(town.training.tolist()) == set(town.testing.tolist())
    rows["town"] = np.where(rows["town"] == "north", "{north, south}", rows["town"])
    assert isinstance(finished_table("sets", sample_of(rows), source), GeneralisedTable)


def test_a_table_of_intervals_in_the_source_s_order_is_asked_about_the_same_records() -> None:
    rows = people()
    source = sample_of(rows)
    rows["age"] = intervals(rows["age"])
    finished = sample_of(rows)
    candidate = finished_table("cut", finished, source)
    assert isinstance(candidate, GeneralisedTable)
    assert "in the source's order" in candidate.reason
    part = first_part(source)
    split = candidate.split(part, draw=0)
    assert split.own_target is None
    incomes = [
        sample.histograms["income"].domain.values[codes]
        for sample, codes in ((finished, split.columns[2].testing), (source, source.codes["income"][part.testing]))
    ]
    np.testing.assert_array_equal(incomes[0], incomes[1])
    np.testing.assert_array_equal(split.target.labels, part.training_target.labels)


def test_a_table_of_intervals_is_split_inside_itself() -> None:
    rows = people()
    source = sample_of(rows)
    rows = {name: values[::-1] for name, values in rows.items()}
    rows["age"] = intervals(rows["age"])
    candidate = finished_table("cut", sample_of(rows), source)
    assert isinstance(candidate, GeneralisedTable)
    assert candidate.doubt is None
    assert candidate.copies == 0
    part = first_part(source)
    split = candidate.split(part, draw=0)
    assert str(split.protocol) == "split inside itself"
    assert (len(split.target), split.test_rows) == (len(part.training), len(part.testing))
    assert candidate.reason == "a finished table of generalised values, split inside itself"


def test_copies_in_a_generalised_table_lie_on_one_side_and_are_counted() -> None:
    rows = people()
    source = sample_of(rows)
    copied = {name: np.tile(values[: ROWS // 4], 4) for name, values in rows.items()}
    copied["age"] = np.array(intervals(copied["age"]))
    candidate = finished_table("copied", sample_of(copied), source)
    assert isinstance(candidate, GeneralisedTable)
    assert candidate.copies == 3 * ROWS // 4
    assert "600 rows more than in the source are copies of others, kept on one side" in candidate.reason
    split = candidate.split(first_part(source), draw=0)
    tested = set(zip(*(column.testing.tolist() for column in split.columns), strict=True))
    trained = set(zip(*(column.training.tolist() for column in split.columns), strict=True))
    assert tested
    assert trained
    assert not tested & trained


def test_other_labels_in_a_generalised_table_are_a_doubt() -> None:
    rows = people()
    source = sample_of(rows)
    rows["age"] = intervals(rows["age"])
    rows["health"] = np.where(rows["income"] > 80_000, "ill", "well")
    doubt = finished_table("fake", sample_of(rows), source).doubt
    assert doubt is not None
    assert "points away from the source's" in doubt


def test_labels_that_the_source_does_not_have_are_refused() -> None:
    rows = people()
    source = sample_of(rows)
    rows["health"] = np.where(rows["health"] == "ill", "sick", "well")
    with pytest.raises(LabelError, match="has values that the table does not have"):
        finished_table("other", sample_of(rows), source)
