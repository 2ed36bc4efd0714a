"""What usefulness is measured by: a number people know, with its direction and how it is printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aegis.data.kind import DATES, Kind
from aegis.errors import MeasureError
from aegis.learners.target import Floats, Places, Target
from aegis.registry import Registry

COMMON = 0.9
"""Where one label has at least this share of the rows, nearly every model answers that label: accuracy cannot tell."""
_NEARLY_ALL = 0.995  # from here on a whole percentage would be all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """``by_row`` gives a number for each test row whose mean is what was reached: predictions, the label of the test
    rows, and that of the training rows. ``guess`` is what the best guess without any column predicts.

    ``percent`` goals are printed as a percentage and their intervals in points. Where labels count ``alike``, however
    common they are, the rarest decides how many rows are needed. Nothing is below ``low`` or above ``high``.
    """

    name: str
    title: str
    higher_is_better: bool
    for_numbers: bool
    percent: bool
    by_row: Callable[[Floats, Target, Target], Floats]
    guess: Callable[[Target], Floats]
    alike: bool = False
    low: float = -math.inf
    high: float = math.inf

    def better(self, first: float, second: float) -> float:
        """By how much ``first`` is better than ``second``."""
        return first - second if self.higher_is_better else second - first

    def interval(self, value: float, half_width: float) -> tuple[float, float]:
        """The values that are as near as this, of those that there are.

        >>> GOALS["accuracy"].interval(0.99, 0.03)
        (0.96, 1.0)
        """
        low, high = value - half_width, value + half_width
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def fits(self, target: Target) -> bool:
        return self.for_numbers == (target.classes == 0)

    def shown(self, value: float) -> str:
        """The value as people read it.

        >>> GOALS["accuracy"].shown(0.8412), GOALS["r2"].shown(0.7132), GOALS["mae"].shown(12.3456)
        ('84.1 %', '0.713', '12.35')
        """
        return f"{self._number(value)}{' %' if self.percent else ''}"

    def shown_width(self, width: float) -> str:
        """Half an interval, in points where the goal is a percentage."""
        return self._number(width)

    def _number(self, value: float) -> str:
        if self.percent:
            return f"{100 * value:.1f}"
        return f"{value:.3f}" if self.name in ("r2", "auc", "log-loss") else f"{value:.4g}"

    def sentence(self, value: float, half_width: float, *, unmasked: float, guessing: float) -> str:
        """One line that says what is reached, and between what.

        >>> GOALS["accuracy"].sentence(0.8412, 0.003, unmasked=0.852, guessing=0.759)
        'accuracy 84.1 % ± 0.3 (unmasked 85.2 %, guessing 75.9 %)'
        """
        return (
            f"{self.title} {self.shown(value)} ± {self.shown_width(half_width)} "
            f"(unmasked {self.shown(unmasked)}, guessing {self.shown(guessing)})"
        )


GOALS: Registry[Goal] = Registry("goals", noun="goal", error=MeasureError)


def goal_called(name: str) -> Goal:
    """A goal by its name, the mean over several labels included."""
    return KEPT if name == KEPT.name else GOALS[name]


def goal_for(target: Target, name: str | None = None, *, kind: Kind = Kind.REAL) -> tuple[Goal, str]:
    """The goal called ``name``, or the one that suits the label, and why it was taken; an error if it does not fit.

    ``kind`` is what the column of the label holds, where it is predicted as a number.
    """
    if name is not None:
        goal = GOALS[name]
        if not goal.fits(target):
            kinds = ("classes", "numbers")
            fitting = ", ".join(each for each, known in GOALS.items() if known.fits(target))
            raise MeasureError(
                f"the goal {name!r} is for labels that are {kinds[goal.for_numbers]}, and this label is treated as "
                f"{kinds[target.classes == 0]}; use {fitting}"
            )
        return goal, "as asked"
    if target.classes == 0:
        return GOALS["r2"], f"the label is {'a date, taken as a number of days' if kind in DATES else 'a number'}"
    commonest = float(target.shares().max())
    if commonest >= COMMON:
        share = f"{commonest:.0%}" if commonest < _NEARLY_ALL else "more than 99%"
        return GOALS["balanced-accuracy"], f"one label has {share} of the rows, so that accuracy cannot tell"
    return GOALS["accuracy"], "the label is a class"


def _right(chances: Floats, wanted: Target, seen: Target) -> Floats:
    return (_likeliest(chances) == wanted.labels).astype(np.float64)


def _likeliest(chances: Floats) -> Places:
    """The class with the highest chance, the first of equal ones; numpy's search is slow along so short an axis."""
    if chances.shape[1] == 2:
        return (chances[:, 1] > chances[:, 0]).astype(np.int64)
    return chances.argmax(axis=1)


def _right_alike(chances: Floats, wanted: Target, seen: Target) -> Floats:
    """Right answers, every label counting alike, when the answer is the label whose chance is highest for its share.

    A row's part is by how much it is above or below what its label reaches: how many rows of each label test is not
    left to chance, so it is no part of the variance that labels are not equally easy.
    """
    shares = seen.shares()
    raised = np.where(shares > 0, chances / np.where(shares > 0, shares, 1.0), 0.0)
    right = (_likeliest(raised) == wanted.labels).astype(np.float64)
    counts = np.bincount(wanted.labels, minlength=wanted.classes)
    reached = np.bincount(wanted.labels, weights=right, minlength=wanted.classes) / np.maximum(counts, 1)
    weight = len(wanted) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    weight *= np.sqrt(counts / np.maximum(counts - 1, 1))  # what a label reaches was taken from the same rows
    return reached[counts > 0].mean() + (right - reached[wanted.labels]) * weight[wanted.labels]


def _area(chances: Floats, wanted: Target, seen: Target) -> Floats:
    """The area under the ROC curve of each label against the others, averaged over the labels that occur.

    A row's part is the share of the rows of the other side that it stands on the right side of, as DeLong splits it.
    """
    rows = len(wanted)
    parts = []
    for label in range(1, 2) if wanted.classes == 2 else range(wanted.classes):
        of_label = wanted.labels == label
        positives = int(of_label.sum())
        negatives = rows - positives
        if not positives or not negatives:
            continue
        scores = chances[:, label]
        area_of_row = np.empty(rows)
        area_of_row[of_label] = _share_below(scores[~of_label], scores[of_label])
        area_of_row[~of_label] = 1.0 - _share_below(scores[of_label], scores[~of_label])
        area = float(area_of_row[of_label].mean())
        weight = np.where(of_label, rows / positives, rows / negatives)
        parts.append(area + (area_of_row - area) * weight)
    return np.mean(parts, axis=0) if parts else np.full(rows, 0.5)


def _share_below(others: Floats, scores: Floats) -> Floats:
    """The share of ``others`` that lie below each of ``scores``, equal ones counting half."""
    ordered = np.sort(others)
    places = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
    return places / (2.0 * len(others))


def _log_loss(chances: Floats, wanted: Target, seen: Target) -> Floats:
    """A chance is never taken to be below one in twice as many rows as were learnt from: none can be known better."""
    least = 0.5 / max(len(seen), 1)
    kept = np.clip(chances, least, None)
    kept = kept / kept.sum(axis=1, keepdims=True)
    return -np.log(kept[np.arange(len(wanted)), wanted.labels])


def _explained(expected: Floats, wanted: Target, seen: Target) -> Floats:
    """The share of the variance that is explained; a row's part counts what it adds to the variance as well."""
    apart = (wanted.numbers - wanted.mean()) ** 2
    variance = float(apart.mean())
    if variance <= 0:
        return np.zeros(len(wanted))
    errors = (wanted.numbers - expected[:, 0]) ** 2 / variance
    return 1.0 - errors + errors.mean() * (apart / variance - 1.0)


def _absolute(expected: Floats, wanted: Target, seen: Target) -> Floats:
    return np.abs(wanted.numbers - expected[:, 0])


def _shares(seen: Target) -> Floats:
    return seen.shares()


def _mean(seen: Target) -> Floats:
    return np.array([seen.mean()])


def _median(seen: Target) -> Floats:
    return np.array([np.median(seen.numbers)])


for _goal in (
    Goal(
        name="accuracy",
        title="accuracy",
        higher_is_better=True,
        for_numbers=False,
        percent=True,
        by_row=_right,
        guess=_shares,
        low=0.0,
        high=1.0,
    ),
    Goal(
        name="balanced-accuracy",
        title="balanced accuracy",
        higher_is_better=True,
        for_numbers=False,
        percent=True,
        by_row=_right_alike,
        guess=_shares,
        alike=True,
        low=0.0,
        high=1.0,
    ),
    Goal(
        name="auc",
        title="AUC",
        higher_is_better=True,
        for_numbers=False,
        percent=False,
        by_row=_area,
        guess=_shares,
        alike=True,
        low=0.0,
        high=1.0,
    ),
    Goal(
        name="log-loss",
        title="log loss",
        higher_is_better=False,
        for_numbers=False,
        percent=False,
        by_row=_log_loss,
        guess=_shares,
        low=0.0,
    ),
    Goal(
        name="r2",
        title="R²",
        higher_is_better=True,
        for_numbers=True,
        percent=False,
        by_row=_explained,
        guess=_mean,
        high=1.0,
    ),
    Goal(
        name="mae",
        title="mean absolute error",
        higher_is_better=False,
        for_numbers=True,
        percent=False,
        by_row=_absolute,
        guess=_median,
        low=0.0,
    ),
):
    GOALS.add(_goal.name, _goal)

KEPT = Goal(
    name="kept",
    title="kept on average",
    higher_is_better=True,
    for_numbers=False,
    percent=True,
    by_row=_right,
    guess=_shares,
    low=0.0,
    high=1.0,
)
"""No goal of models, but what rankings for several labels are averaged by: the share of the gain over guessing."""
