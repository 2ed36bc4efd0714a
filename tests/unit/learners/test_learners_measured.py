"""What one stage measured, and the chance of each candidate to be the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aegis.learners.measured import Measured, RowValues, likeliest, training_luck
from aegis.learners.race_result import RaceStage

ROWS = 2_000


def measured(values: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]], *, own_rows: str = "") -> Measured:
    stage = RaceStage(number=1, rows=ROWS, folds=2, repeats=1, candidates=len(values), out=())
    tested = {
        name: RowValues(sums=np.zeros(0), times=np.zeros(0), unpaired=(each,))
        if name == own_rows
        else RowValues(sums=2 * each, times=np.full(len(each), 2.0))
        for name, each in values.items()
    }
    return Measured.of(stage, tested)


def chances(stage: Measured, *, other_models: float = 0.0, higher_is_better: bool = True) -> dict[str, float]:
    names = list(stage.values)
    return stage.chances_to_be_best(names, higher_is_better=higher_is_better, other_models=other_models, seed=0)


def test_equal_candidates_have_equal_chances_and_all_together_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((4, ROWS))
    stage = measured({f"c{i}": each - each.mean() for i, each in enumerate(rows)})
    found = chances(stage)
    assert sum(found.values()) == pytest.approx(1.0)
    assert all(0.2 < chance < 0.3 for chance in found.values())


@pytest.mark.parametrize(("higher", "best"), [(True, "high"), (False, "low")])
def test_what_is_clearly_ahead_is_the_best_by_the_goal_s_direction(higher: bool, best: str) -> None:
    rng = np.random.default_rng(1)
    stage = measured({"low": rng.random(ROWS), "high": rng.random(ROWS) + 0.5})
    assert chances(stage, higher_is_better=higher)[best] == 1.0


def test_rows_that_are_hard_for_all_decide_nothing() -> None:
    rng = np.random.default_rng(2)
    hard = 10 * rng.random(ROWS)
    stage = measured({"behind": hard + 0.01 * rng.random(ROWS), "ahead": hard + 0.01 * rng.random(ROWS) + 0.01})
    assert chances(stage)["ahead"] == 1.0
    own = measured({"behind": hard, "ahead": hard + 0.01}, own_rows="ahead")  # other rows: nothing to pair
    assert 0.4 < chances(own)["ahead"] < 0.7


def test_a_table_of_its_own_rows_is_not_surer_for_being_parted_often() -> None:
    rows = np.random.default_rng(4).random(ROWS)
    once = measured({"own": rows, "shared": rows}, own_rows="own")
    often = Measured.of(
        RaceStage(number=1, rows=ROWS, folds=2, repeats=12, candidates=2, out=()),
        {**once.tested, "own": RowValues(sums=np.zeros(0), times=np.zeros(0), unpaired=(rows,) * 12)},
    )
    assert often.error("own") == pytest.approx(once.error("own"))


def test_chance_of_both_counts_where_one_has_rows_of_its_own() -> None:
    rng = np.random.default_rng(5)
    stage = measured({"own": rng.random(ROWS), "shared": rng.random(ROWS)}, own_rows="own")
    far = 1.5 * stage.difference_error("own", "shared")  # of which the table's own chance is but a part
    apart = stage.mean("shared") - stage.mean("own") + far
    stage = measured({"own": stage.values["own"] + apart, "shared": stage.values["shared"]}, own_rows="own")
    assert chances(stage)["shared"] == pytest.approx(0.067, abs=0.02)


def test_other_models_leave_a_chance_to_the_one_behind() -> None:
    stage = measured({"behind": np.zeros(ROWS), "ahead": np.full(ROWS, 0.01)})
    assert chances(stage)["behind"] == 0.0
    assert 0.1 < chances(stage, other_models=0.01)["behind"] < 0.22  # one standard deviation behind


def with_parts(stage: Measured, parts: dict[str, list[list[float]]], *, by_rows: float = 1e-5) -> Measured:
    """The same stage with what each learner reached on each part, and the variance that rows give that."""
    tested = {
        name: replace(stage.tested[name], parts=tuple(np.array([part, [by_rows] * len(part)]) for part in reached))
        for name, reached in parts.items()
    }
    return Measured.of(stage.stage, tested)


def test_a_learner_that_missed_on_one_part_leaves_its_candidate_a_chance() -> None:
    stage = measured({"behind": np.full(ROWS, 0.70), "ahead": np.full(ROWS, 0.75)})
    assert chances(stage)["behind"] == 0.0  # no row differs, so rows alone are sure
    steady = with_parts(stage, {"behind": [[0.7, 0.7], [0.7, 0.7]], "ahead": [[0.75, 0.75], [0.75, 0.75]]})
    assert chances(steady)["behind"] == 0.0
    missed = with_parts(stage, {"behind": [[0.8, 0.7], [0.6, 0.7]], "ahead": [[0.75, 0.75], [0.75, 0.75]]})
    assert 0.05 < chances(missed)["behind"] < 0.35
    assert missed.error("behind") == pytest.approx(0.05, rel=0.01)  # half of .2, shared by two learners
    assert missed.error("ahead") == 0.0
    assert missed.difference_error("ahead", "behind") == pytest.approx(0.05, rel=0.01)


def test_two_that_missed_on_the_same_part_are_not_sure_of_their_order() -> None:
    stage = measured({"behind": np.full(ROWS, 0.68), "ahead": np.full(ROWS, 0.70)})
    both = with_parts(stage, {"behind": [[0.75], [0.61]], "ahead": [[0.77], [0.63]]})
    assert 0.2 < chances(both)["behind"] < 0.5


def test_what_rows_explain_is_no_luck() -> None:
    stage = measured({"behind": np.full(ROWS, 0.70), "ahead": np.full(ROWS, 0.75)})
    gap = {"behind": [[0.71], [0.69]], "ahead": [[0.76], [0.74]]}
    assert chances(with_parts(stage, gap, by_rows=1e-4))["behind"] == 0.0
    assert chances(with_parts(stage, gap, by_rows=1e-6))["behind"] > 0.0


def test_luck_averages_out_over_parts() -> None:
    found, missed = np.array([[0.8], [1e-5]]), np.array([[0.6], [1e-5]])
    assert training_luck([found, missed] * 8) < training_luck([found, missed]) / 8
    assert training_luck([found]) == 0.0  # one part shows none
    sure, split = np.array([[1.0], [0.0]]), np.array([[0.5], [0.25]])  # all of a few rows right, half of others
    assert training_luck([sure, split]) == 0.0


def test_of_many_only_those_in_reach_have_a_chance() -> None:
    rng = np.random.default_rng(3)
    far = {f"far{i}": rng.random(ROWS) for i in range(150)}
    near = {f"near{i}": rng.random(ROWS) + 1.0 for i in range(3)}
    found = chances(measured({**far, **near}))
    assert len(found) == 153
    assert sum(found[name] for name in near) == pytest.approx(1.0)


def test_the_fewest_that_hold_the_best() -> None:
    found = {"a": 0.05, "b": 0.6, "c": 0.3, "d": 0.05}
    assert likeliest(found, 0.5) == ["b"]
    assert likeliest(found, 0.9) == ["b", "c"]
    assert likeliest(found, 0.95) == ["b", "c", "a"]
    assert likeliest(found, 1.0) == ["b", "c", "a", "d"]
