"""How many rows a race looks at."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.learners.schedule import Schedule
from aegis.learners.target import Target


def two_classes(rare: int, rows: int = 1_000) -> Target:
    return Target.of_classes((np.arange(rows) < rare).astype(np.int64), 2)


@pytest.mark.parametrize(("rare", "times"), [(500, 1.0), (100, 1 / 0.36), (10, 3.0), (0, 3.0)])
def test_a_rare_label_gets_as_many_rows_as_show_as_much(rare: int, times: float) -> None:
    plan = Schedule()
    scaled = plan.for_rare(two_classes(rare))
    assert scaled.first_cells == pytest.approx(times * plan.first_cells, rel=1e-5)
    assert scaled.cells == pytest.approx(times * plan.cells, rel=1e-5)


def test_numbers_and_many_classes_are_planned_for_as_they_are() -> None:
    many = Target.of_classes(np.arange(90) % 3, 3)
    numbers = Target.of_numbers(np.arange(90.0))
    assert Schedule().for_rare(many) == Schedule().for_rare(numbers) == Schedule()
