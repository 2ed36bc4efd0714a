"""Boxes as models meet them: what a consumer makes of intervals and sets.

A number becomes the two ends of its interval and, for a few knots, how far the interval lies above them, so that a line
can bend; a category becomes, for each of the commonest values, one over the size of the set that holds it. All columns
of a box share the number of its first leaf as their code.
"""

from __future__ import annotations

import math

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import as_number
from aegis.learners.features import CodedColumn, SplitColumn

MOST_VALUES = 12
"""So many values of a category have a column of their own."""
KNOTS = 5
"""So many places where a line through the numbers of a column may bend."""


def box_columns(boxes: Boxes, training: Ints, testing: Ints) -> tuple[SplitColumn, ...]:
    """What models see of records in these leaves, `NO_BOX` included."""
    columns = []
    first = np.unique(boxes.numbers, return_index=True)[1][boxes.numbers]  # the leaves of a box are not told apart
    places = [np.where(leaf < 0, len(first), first[leaf]).astype(np.int32) for leaf in (training, testing)]
    hidden = np.array([leaf.suppressed for leaf in boxes.boxes])
    for at, column in enumerate(boxes.columns):
        if column.ordered:
            lines = _sides(boxes, at)
        else:
            share = _shares(boxes, at)
            weights = np.array([leaf.records for leaf in boxes.boxes]) @ share
            lines = [share[:, value] for value in np.argsort(-weights, kind="stable")[:MOST_VALUES]]
        for line in lines:
            numbers = np.append(np.where(hidden, np.nan, line), np.nan)
            described = CodedColumn(size=len(numbers), numbers=numbers)
            columns.append(SplitColumn(described, training=places[0], testing=places[1]))
    return tuple(columns)


def _shares(boxes: Boxes, column: int) -> Floats:
    """For each box one over the size of its set where a member is in it, members in the order of the column's values.

    A member is what a consumer tells apart: a value, missing, or a group of values that are not named.
    """
    sets = [held for line in boxes.sets if (held := line[column]) is not None]
    members: list[list[str | int | None]] = [
        [*held.values, *[None] * held.missing, *[held.unnamed] * bool(held.unnamed)] for held in sets
    ]
    declared = boxes.columns[column]
    known = [value for value in declared.values if value not in declared.rare]
    place = {member: at for at, member in enumerate(dict.fromkeys([*known, *(m for line in members for m in line)]))}
    share = np.zeros((len(members), len(place)))
    for box, line in enumerate(members):
        share[box, [place[member] for member in line]] = 1.0 / max(len(line), 1)
    return share


def _sides(boxes: Boxes, column: int) -> list[Floats]:
    """The two ends of each box, and the mean of max(x − knot, 0) over it for knots at quantiles of the records."""
    low, high = ends(boxes, column)
    present = ~np.isnan(low)
    if not present.any():
        return [low, high]
    order = np.argsort((low + high)[present] / 2, kind="stable")
    running = np.cumsum(np.array([leaf.records for leaf in boxes.boxes])[present][order])
    places = np.searchsorted(running, running[-1] * np.arange(1, KNOTS + 1) / (KNOTS + 1))
    knots = np.unique(((low + high)[present] / 2)[order][places])
    wide = np.where(high > low, high - low, 1.0)
    above = [
        np.where(
            high > low,
            (np.maximum(high - knot, 0.0) ** 2 - np.maximum(low - knot, 0.0) ** 2) / (2.0 * wide),
            np.maximum(high - knot, 0.0),
        )
        for knot in knots
    ]
    return [low, high, *(np.where(present, line, np.nan) for line in above)]


def ends(boxes: Boxes, column: int) -> tuple[Floats, Floats]:
    """The two ends of an ordered column in each box, NaN where only missing values are; an open end lies a step beyond.

    The step is the median distance between neighbouring edges: whoever receives the table knows no more.
    """
    regions = [way[column] for way in boxes.regions]
    edges = sorted({as_number(end) for r in regions for end in (r.low, r.high) if end is not None})
    step = float(np.median(np.diff(edges))) if len(edges) > 1 else 1.0
    lowest, highest = (edges[0] - step, edges[-1] + step) if edges else (0.0, 0.0)
    low = [math.nan if not r.present else lowest if r.low is None else as_number(r.low) for r in regions]
    high = [math.nan if not r.present else highest if r.high is None else as_number(r.high) for r in regions]
    return np.array(low), np.array(high)
