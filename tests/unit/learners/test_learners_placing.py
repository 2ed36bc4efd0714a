"""What may be said of a candidate: no loss only where one worth speaking of would have been seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from aegis.learners.candidate import Part
from aegis.learners.features import Split
from aegis.learners.goal import GOALS
from aegis.learners.measured import Measured, RowValues
from aegis.learners.placing import Course, placed
from aegis.learners.race_result import Raced, RaceStage, half_width_in, kept_words


@dataclass(frozen=True)
class Named:
    name: str
    kind: str = "masks"
    draws: int = 1

    def split(self, part: Part, *, draw: int) -> Split:
        raise NotImplementedError


def reached(share: float, rows: int) -> RowValues:
    """So many of the rows right, the first ones: the rows of two candidates are alike as far as they can be."""
    values = (np.arange(rows) < share * rows).astype(np.float64)
    return RowValues(sums=values, times=np.ones(rows))


def placed_one(lost: float, *, rows: int, unpaired: bool = False, unmasked: float = 0.85) -> Raced:
    stage = RaceStage(number=1, rows=rows, folds=2, repeats=1, candidates=1, out=())
    own = reached(unmasked - lost, rows)
    if unpaired:
        own = RowValues(sums=np.zeros(rows), times=np.zeros(rows), unpaired=(own.sums,))
    tested = {"guessing": reached(0.75, rows), "unmasked": reached(unmasked, rows), "one": own}
    course = Course(measured=[Measured.of(stage, tested)], chances={"one": 1.0}, doubts={}, interrupted=False)
    (place,) = placed([Named("one")], course, GOALS["accuracy"], probability=0.95)
    return place


def test_no_loss_is_found_where_a_loss_would_have_shown() -> None:
    assert kept_words(placed_one(0.0, rows=20_000)) == "no loss found"
    assert kept_words(placed_one(0.05, rows=20_000)) == "50% kept"


def test_wide_noise_is_no_reason_to_say_that_nothing_is_lost() -> None:
    place = placed_one(0.02, rows=2_000, unpaired=True)  # other rows, so that both noises count
    assert place.loss_interval is not None
    assert place.loss_interval[0] < 0 < 0.02 < place.loss_interval[1]
    assert not place.no_loss_found
    assert kept_words(place) == "80% kept, loss not certain"


def test_where_guessing_is_as_good_nothing_is_said_of_losses() -> None:
    place = placed_one(0.0, rows=2_000, unmasked=0.755)
    assert place.kept is None
    assert not place.no_loss_found
    assert place.in_best_group
    assert kept_words(place).startswith("nothing to keep")


def test_a_race_of_an_earlier_version_says_what_it_knows() -> None:
    older = Raced(rank=1, name="a", kind="masks", performance=0.8, interval=(0.7, 0.9), half_width=0.1, kept=0.93,
        no_loss_found=False, in_best_group=True, stage=1, rows=900)  # fmt: skip
    assert kept_words(older) == "93% kept"  # an earlier version did not say how sure the loss is
    assert older.to_json()["loss_interval"] is None
    assert placed_one(0.05, rows=20_000).to_json()["loss_interval"] == pytest.approx([0.05, 0.05], abs=0.01)


def test_an_interval_ends_at_what_a_goal_can_be_and_its_width_is_kept() -> None:
    """A share of right answers of 104 % was written, and half-widths were read back from what was written."""
    place = placed_one(0.0, rows=60, unmasked=0.98)
    assert place.interval[1] == 1.0
    assert place.half_width > 1.0 - place.performance
    assert place.interval[0] == pytest.approx(place.performance - place.half_width)
    assert GOALS["r2"].interval(0.2, 3.0) == (-2.8, 1.0)
    assert GOALS["mae"].interval(1.0, 3.0) == (0.0, 4.0)


def test_a_race_without_half_widths_has_those_of_its_intervals() -> None:
    assert half_width_in({"interval": [0.9, 1.1]}) == pytest.approx(0.1)
    assert half_width_in({"interval": [0.9, 1.0], "half_width": 0.2}) == 0.2


def test_rows_that_are_all_right_are_no_certainty() -> None:
    """Their variance is nought: 575 rows without a mistake were 100 % ± 0.0."""
    place = placed_one(0.0, rows=60, unmasked=1.0)
    assert place.performance == 1.0
    assert place.half_width >= 3 / 60
    assert place.interval == pytest.approx((0.95, 1.0), abs=0.01)
