"""From what the stages of a race measured to its places: what each candidate reaches, loses and may be said to be.

"No loss found" needs both: that no loss was found, and that one worth speaking of would have been. A finished table
that stands above the unmasked one is no winner: whatever it is, it is no masking of that table.

A table may tell much about a label that accuracy does not show: where two records in three share a label, models that
order records well may still answer that label for nearly all of them. Then it is said which other goal would tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from aegis.learners.candidate import FINISHED, Candidate, MaskTables, unmasked
from aegis.learners.features import SplitProtocol
from aegis.learners.goal import GOALS, Goal
from aegis.learners.learner import Learner, expect
from aegis.learners.measured import Measured, likeliest
from aegis.learners.race_result import Raced, Reached
from aegis.learners.sample import FEW_ROWS
from aegis.learners.schedule import parts
from aegis.learners.target import Floats, Target

SURE = NormalDist().inv_cdf(0.975)
UNSEEN_MISTAKES = 3.0
"""Where no mistake was seen, so many in the number of rows may be made with 95 % probability (the rule of three)."""
WORTH_SPEAKING_OF = 0.10
"""A loss below this share of what the unmasked table gains over guessing is small; "no loss found" rules out others."""
ABOVE = 0.05
"""By more than this share of that gain, and than chance, no masking of a table is better than the table."""

_ABOVE_BY_OWN_ROWS = (
    "scores above the unmasked table, which no masking of it can: its labels or rows are not the source's, or copies"
)
_ABOVE_BY_REAL_ROWS = (
    "scores above the unmasked table, which no table made of other rows can: the rows that test it are among those it "
    "was made of, or it is made of more than the source"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """How a race went: its stages, and each candidate's chance to be the best as the last stage it was in left it.

    ``doubts`` says of candidates why they cannot be compared: they have no chance and no place among the best.
    ``order`` is another look at those that were out first, beside the one ahead: it puts them in order and changes no
    chance.
    """

    measured: list[Measured]
    chances: dict[str, float]
    doubts: dict[str, str]
    interrupted: bool
    order: Measured | None = None

    @property
    def stages(self) -> list[Measured]:
        """All that was measured, in the order it was."""
        return [*self.measured, *([] if self.order is None else [self.order])]


def above_unmasked(stage: Measured, candidates: Iterable[Candidate], goal: Goal) -> dict[str, str]:
    """The finished tables that score above the unmasked one by more than chance, with what is to be said of each."""
    doubts = {}
    for candidate in candidates:
        if candidate.kind != FINISHED:
            continue
        ahead = goal.better(stage.mean(candidate.name), stage.mean("unmasked"))
        gain = goal.better(stage.mean("unmasked"), stage.mean("guessing"))
        if ahead > max(SURE * stage.difference_error("unmasked", candidate.name), ABOVE * gain):
            own = stage.tested[candidate.name].protocol is SplitProtocol.OWN
            doubts[candidate.name] = _ABOVE_BY_OWN_ROWS if own else _ABOVE_BY_REAL_ROWS
    return doubts


def unmasked_reached(last: Measured, goal: Goal) -> Reached:
    mean, half = last.mean("unmasked"), _half_width(last, "unmasked", goal)
    return Reached(performance=mean, interval=goal.interval(mean, half), half_width=half)


def _half_width(stage: Measured, name: str, goal: Goal) -> float:
    """Half of the interval of what is reached.

    Where all rows are right their variance is nought, which is no certainty.
    """
    least = UNSEEN_MISTAKES / stage.stage.rows if goal.percent else 0.0
    return max(SURE * stage.error(name), least)


def label_is_told(last: Measured, goal: Goal) -> bool:
    """Whether models of the unmasked table are better than guessing by more than chance."""
    return goal.better(last.mean("unmasked"), last.mean("guessing")) > SURE * last.error("unmasked")


def placed(candidates: Sequence[Candidate], course: Course, goal: Goal, *, probability: float) -> tuple[Raced, ...]:
    """The candidates in order, the best first; those that cannot be compared come last, whatever they score."""
    last, doubts = course.measured[-1], course.doubts
    told = label_is_told(last, goal)
    in_last = [candidate.name for candidate in candidates if candidate.name in last.values]
    finalists = [name for name in in_last if name not in doubts] or in_last
    ahead = max(finalists, key=lambda name: goal.better(last.mean(name), 0.0))
    group = {ahead, *likeliest(course.chances, probability)} if told else {candidate.name for candidate in candidates}
    gain = goal.better(last.mean("unmasked"), last.mean("guessing"))
    raced = []
    for candidate in candidates:
        until = next(stage for stage in reversed(course.measured) if candidate.name in stage.values)
        own = until
        if until is not last and course.order is not None and candidate.name in course.order.values:
            own = course.order
        doubt = doubts.get(candidate.name)
        performance = own.mean(candidate.name)
        if own is not last:
            # What the ones that went on gained since: a candidate that was out would have gained about as much.
            stayed = [name for name in finalists if name in own.values]
            performance += float(np.mean([last.mean(name) - own.mean(name) for name in stayed]))
            if doubt is None and goal.better(performance, last.mean(ahead)) > 0:
                performance = last.mean(ahead)  # who was out is not put before the one that came in first
        half = _half_width(own, candidate.name, goal)
        lost = goal.better(own.mean("unmasked"), own.mean(candidate.name))
        noise = SURE * own.difference_error("unmasked", candidate.name)
        comparable = told and doubt is None
        raced.append(
            Raced(
                rank=0,
                name=candidate.name,
                kind=candidate.kind,
                protocol=str(own.tested[candidate.name].protocol),
                performance=performance,
                interval=goal.interval(performance, half),
                half_width=half,
                kept=min(max(goal.better(performance, last.mean("guessing")) / gain, 0.0), 1.0) if comparable else None,
                loss_interval=(lost - noise, lost + noise),
                no_loss_found=comparable and lost <= noise and lost + noise <= WORTH_SPEAKING_OF * gain,
                in_best_group=doubt is None and candidate.name in group,
                doubt=doubt,
                stage=until.stage.number,
                rows=own.stage.rows,
            )
        )
    # Equal ones stay in the order they were given.
    raced.sort(key=lambda each: (each.doubt is not None, -goal.better(each.performance, 0.0), each.name != ahead))
    return tuple(replace(each, rank=rank) for rank, each in enumerate(raced, 1))


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
