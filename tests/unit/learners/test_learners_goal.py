"""Goals by row: the mean is what was reached, and the rows say how sure that is."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.data.kind import Kind
from aegis.learners.goal import GOALS, goal_for
from aegis.learners.target import Target

ROWS, RARE = 1_000, 40


def half_right(seed: int) -> tuple[np.ndarray, Target]:
    """Chances that put three of four rows of the common label on its side, and half of the rare one's."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(ROWS) < RARE).astype(int)
    chance = np.where(rng.random(ROWS) < np.where(labels == 1, 0.5, 0.25), 0.3, 0.01)
    return np.stack([1 - chance, chance], axis=1), Target.of_classes(labels, 2)


def test_balanced_accuracy_is_the_mean_of_what_the_labels_reach() -> None:
    chances, target = half_right(0)
    said = chances[:, 1] > RARE / ROWS
    reached = [np.mean(said[:RARE]), np.mean(~said[RARE:])]
    values = GOALS["balanced-accuracy"].by_row(chances, target, target)
    assert values.mean() == pytest.approx(np.mean(reached), abs=1e-12)


def test_its_rows_vary_as_much_as_it_varies_from_sample_to_sample() -> None:
    by_sample = [
        GOALS["balanced-accuracy"].by_row(*half_right(seed)[:1], *2 * half_right(seed)[1:]) for seed in range(400)
    ]
    means = np.array([values.mean() for values in by_sample])
    expected = np.mean([values.std() / np.sqrt(ROWS) for values in by_sample])
    assert expected == pytest.approx(means.std(), rel=0.1)


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Kind.DATE, "a date, taken as a number of days"), (Kind.TIMESTAMP, "a date"), (Kind.INTEGER, "a number")],
)
def test_the_reason_says_what_the_label_holds(kind: Kind, said: str) -> None:
    goal, reason = goal_for(Target.of_numbers(np.arange(40.0)), kind=kind)
    assert goal.name == "r2"
    assert reason.startswith(f"the label is {said}")


@pytest.mark.parametrize(("rare", "said"), [(90, "91%"), (4, "more than 99%")])
def test_a_rare_label_is_not_told_away(rare: int, said: str) -> None:
    _, reason = goal_for(Target.of_classes((np.arange(ROWS) < rare).astype(int), 2), kind=Kind.TEXT)
    assert f"one label has {said} of the rows" in reason
