"""Which other goal would tell, where the one that was asked for does not.

A table may tell much about a label that accuracy does not show: where two records in three share a label, models that
order records well may still answer that label for nearly all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np

from aegis.learners.candidate import MaskTables, unmasked
from aegis.learners.goal import GOALS, Goal
from aegis.learners.learner import Learner, expect
from aegis.learners.sample import FEW_ROWS
from aegis.learners.schedule import parts
from aegis.learners.target import Floats, Target


def note_on_other_goals(
    goal: Goal, tables: MaskTables, target: Target, learners: Mapping[str, Learner], *, rows: int, folds: int, seed: int
) -> str:
    """What to say where models of the unmasked table are not better than guessing by more than chance."""
    label = tables.sample.label
    if rows < FEW_ROWS:
        return (
            f"{goal.title} does not tell what is kept of the label {label!r}: by it models of the unmasked table are "
            f"not better than guessing by more than chance, and {rows} rows are too few to try other goals"
        )
    others = [other for _, other in GOALS.items() if other is not goal and other.fits(target)]
    told = _reached(others, tables, target, learners.values(), rows=rows, folds=folds, seed=seed)
    if not told:
        return (
            f"nothing here tells the label {label!r}: models of the unmasked table are not better than guessing by "
            f"more than chance, by {goal.title} or by any other goal"
        )
    listed = ", ".join(
        f"{other.title} {other.shown(reached)} (guessing {other.shown(guessed)}; --goal {other.name})"
        for other, (reached, guessed) in told.items()
    )
    return (
        f"{goal.title} does not tell what is kept of the label {label!r}: by it models of the unmasked table are not "
        f"better than guessing by more than chance. By another goal they are: {listed}"
    )


def _reached(
    goals: list[Goal],
    tables: MaskTables,
    target: Target,
    learners: Iterable[Learner],
    *,
    rows: int,
    folds: int,
    seed: int,
) -> dict[Goal, tuple[float, float]]:
    """What the unmasked table and guessing reach by each goal that tells the two apart."""
    reference, trained = unmasked(tables), list(learners)
    reached: dict[str, list[Floats]] = {goal.name: [] for goal in goals}
    guessed: dict[str, list[Floats]] = {goal.name: [] for goal in goals}
    for part in parts(target, rows, folds=folds, repeats=1, seed=seed):
        split = reference.split(part, draw=0)
        expected = [expect(learner, split, seed=seed + part.number) for learner in trained]
        for goal in goals:
            by_learner = [goal.by_row(each, part.testing_target, part.training_target) for each in expected]
            reached[goal.name].append(np.mean(by_learner, axis=0))
            guess = np.tile(goal.guess(part.training_target), (len(part.testing), 1))
            guessed[goal.name].append(goal.by_row(guess, part.testing_target, part.training_target))
    told = {}
    for goal in goals:
        values, guesses = np.concatenate(reached[goal.name]), np.concatenate(guessed[goal.name])
        error = math.sqrt((1.0 + folds / (folds - 1.0)) * float(values.var()) / len(values))
        if goal.better(float(values.mean()), float(guesses.mean())) > NormalDist().inv_cdf(0.975) * error:
            told[goal] = float(values.mean()), float(guesses.mean())
    return told
