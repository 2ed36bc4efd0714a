"""How many rows a race looks at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aegis.learners.schedule import Leg, Schedule
from aegis.learners.target import Target


def two_classes(rare: int, rows: int = 1_000) -> Target:
    return Target.of_classes((np.arange(rows) < rare).astype(np.int64), 2)


@pytest.mark.parametrize(("rare", "times"), [(500, 1.0), (100, 1 / 0.36), (10, 3.0), (0, 3.0)])
def test_a_rare_label_gets_as_many_rows_as_show_as_much(rare: int, times: float) -> None:
    plan = Schedule()
    scaled = plan.for_labels_alike(two_classes(rare))
    assert scaled.first_cells == pytest.approx(plan.alike * times * plan.first_cells, rel=1e-5)
    assert scaled.cells == pytest.approx(plan.alike * times * plan.cells, rel=1e-5)


def test_many_classes_are_planned_for_alike_however_rare_they_are() -> None:
    plan = Schedule()
    many = Target.of_classes(np.arange(90) % 3, 3)
    assert plan.for_labels_alike(many).cells == int(plan.alike * plan.cells)


def test_few_candidates_get_many_rows_and_no_stage_more_than_what_is_left() -> None:
    plan = Schedule()
    first = plan.first(40, 14, 20_000)
    assert first == Leg(rows=plan.first_cells // (40 * 14), folds=2, repeats=1, candidates=40)
    assert plan.first(1_000, 14, 20_000).rows == plan.least_rows
    assert plan.first(3, 14, 20_000).rows == 20_000
    left = plan.allowance(40, 14, 20_000) - plan.cost(first, 14)
    for candidates in (2, 5, 12, 30):
        leg = plan.later(candidates, 14, 20_000, before=first, repeated=1, left=left)
        assert leg is not None
        assert leg.rows >= plan.growth * first.rows
        assert leg.candidates <= candidates
        assert plan.cost(leg, 14) <= left


def test_the_likeliest_go_on_where_what_is_left_is_too_little_for_all() -> None:
    plan, before = Schedule(), Leg(rows=10_000, folds=2, repeats=1, candidates=40)
    leg = plan.later(40, 14, 20_000, before=before, repeated=1, left=4 * 14 * 15_000)
    assert leg == Leg(rows=15_000, folds=2, repeats=1, candidates=4)
    assert plan.later(40, 14, 20_000, before=before, repeated=1, left=1.5 * 14 * 15_000) is None
    assert plan.later(1, 14, 20_000, before=before, repeated=1, left=1e9) is None


def test_when_a_few_are_left_there_is_more_for_them() -> None:
    plan, before = Schedule(), Leg(rows=20_000, folds=2, repeats=1, candidates=10)
    each = 14 * 20_000
    assert plan.later(plan.few + 1, 14, 20_000, before=before, repeated=1, left=0.0) is None
    leg = plan.later(plan.few, 14, 20_000, before=before, repeated=1, left=0.0)
    assert leg is not None
    assert leg.candidates == plan.few
    assert plan.cost(leg, 14) <= plan.last_cells
    assert plan.later(2, 14, 20_000, before=before, repeated=1, left=2.0 * each - plan.last_cells) is not None
    assert plan.later(2, 14, 20_000, before=before, repeated=1, left=1.9 * each - plan.last_cells) is None  # all spent


def test_all_rows_are_parted_anew_until_that_tells_no_more() -> None:
    plan, before = Schedule(), Leg(rows=20_000, folds=2, repeats=1, candidates=4)
    leg = plan.later(4, 14, 20_000, before=before, repeated=2, left=1e9)
    assert leg == Leg(rows=20_000, folds=2, repeats=2, candidates=4)
    assert plan.later(4, 14, 20_000, before=before, repeated=plan.most_repeats, left=1e9) is None


def test_an_unreliable_order_is_looked_at_again_by_all() -> None:
    plan = Schedule()
    assert plan.second(40, 14, 20_000, before=5_000, reliability=0.96) is None
    again = plan.second(40, 14, 20_000, before=5_000, reliability=0.5)
    assert again is not None
    assert (again.candidates, again.folds, again.repeats) == (40, 2, 1)
    assert plan.second(1_000, 14, 20_000, before=700, reliability=0.5) is None
    assert plan.second(40, 14, 5_000, before=5_000, reliability=0.5) is None


def test_a_small_table_is_cut_into_more_parts_and_more_often() -> None:
    plan = Schedule()
    assert plan.folds(1_000, 1_000) == 4
    assert plan.folds(1_000, 5_000) == plan.folds(5_000, 5_000) == 2
    assert plan.first(10, 10, 1_000) == Leg(rows=1_000, folds=4, repeats=4, candidates=10)


def test_the_last_candidates_of_a_medium_table_are_cut_into_more_parts_where_that_can_be_paid() -> None:
    plan, rows = Schedule(last_cells=0), Schedule().medium_rows
    before = Leg(rows=rows, folds=2, repeats=1, candidates=40)
    four_parts = 3 * 14 * rows
    leg = plan.later(4, 14, rows, before=before, repeated=1, left=4 * four_parts)
    assert leg == Leg(rows=rows, folds=4, repeats=1, candidates=4)
    dear = plan.later(4, 14, rows, before=before, repeated=1, left=3.9 * four_parts)
    assert dear is not None
    assert (dear.folds, dear.candidates) == (2, 4)  # none is dropped for the sake of more parts
    large = plan.later(4, 14, rows + 1, before=replace(before, rows=rows + 1), repeated=1, left=1e9)
    assert large is not None
    assert large.folds == 2


def test_what_is_made_anew_for_every_part_is_not_made_so_often() -> None:
    plan, before = Schedule(), Leg(rows=20_000, folds=2, repeats=1, candidates=10)
    assert plan.later(2, 14, 20_000, before=before, repeated=1, left=0.0) is not None
    assert plan.sparing().later(2, 14, 20_000, before=before, repeated=1, left=0.0) is None
    assert plan.sparing().later(2, 14, 20_000, before=before, repeated=12, left=1e9) is None
    assert plan.later(2, 14, 20_000, before=before, repeated=12, left=1e9) is not None


def test_the_last_look_is_at_more_rows_or_at_the_same_parted_anew() -> None:
    plan = Schedule()
    before = Leg(rows=5_000, folds=2, repeats=1, candidates=40)
    leg = plan.for_order(30, 14, 20_000, before=before)
    assert leg == Leg(rows=int(plan.order_cells / (30 * 14)), folds=2, repeats=1, candidates=30)
    assert plan.for_order(40, 14, 20_000, before=replace(before, rows=6_000)) is None  # hardly more than were seen
    all_rows = plan.for_order(30, 14, 5_000, before=before)
    assert all_rows == Leg(rows=5_000, folds=2, repeats=2, candidates=30)
    assert plan.for_order(200, 14, 5_000, before=before) is None
    assert plan.for_order(2, 14, 20_000, before=before) is None  # one beside the one ahead has no order
