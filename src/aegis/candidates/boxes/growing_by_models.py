"""Boxes under any model of a policy: every part that a cut would make is judged as a class of its own.

All boxes of a level are cut together. The best cut of each is judged first, all of them in one class table; where a
model refuses it, every other cut of that box is judged, and the best of those that may stand is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.growth import Growth
from aegis.candidates.boxes.lines import (
    BEGIN,
    BOX,
    COLUMN,
    LENGTH,
    best_cuts,
    divide_boxes,
    lines_of_boxes,
    places_in_lines,
    sides,
)
from aegis.candidates.boxes.tuples import BoxTuples
from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.model import ClassModel

Truths = NDArray[np.bool_]

MOST_CELLS = 4_000_000
"""So many counts are held at once while all cuts of boxes are judged; one line is never parted."""


def grown_by_models(
    ready: BoxTuples, models: Sequence[ClassModel], growth: Growth, least: int, order: Ints, begin: int, stop: int
) -> Ints:
    """As `grown` does, with every part judged by the models; what a cut leads to is looked at without them."""
    deepest = growth.most_cuts
    widest = int(ready.domains.max(initial=1))
    held, terms = ready.held(), ready.terms(growth, least)
    nodes = [np.array([[-1, begin, begin, stop, -1, -1]], dtype=np.int64)]
    made, depth = 1, 0
    while len(nodes[-1]) and (deepest is None or depth < deepest):
        level = nodes[-1]
        boxes = np.ascontiguousarray(level[:, [1, 3]])
        looks = deepest is None or depth + 1 < deepest
        lines, codes, gains = lines_of_boxes(held, terms, growth.look_ahead if looks else 0, order, boxes)
        cut_line, cut_place = _allowed_cuts(ready, models, order, boxes, lines, codes, gains, widest)
        cut = np.flatnonzero(cut_line >= 0)
        level[cut, 0] = lines[cut_line[cut], COLUMN]
        level[cut, 2] = divide_boxes(
            ready.columns, order, boxes[cut], lines, codes, cut_line[cut], cut_place[cut], widest
        )
        level[cut, 4] = made + 2 * np.arange(len(cut))
        level[cut, 5] = level[cut, 4] + 1
        parts = np.full((2 * len(cut), 6), -1, dtype=np.int64)
        parts[0::2, 1] = parts[0::2, 2] = level[cut, 1]
        parts[0::2, 3] = parts[1::2, 1] = parts[1::2, 2] = level[cut, 2]
        parts[1::2, 3] = level[cut, 3]
        nodes.append(parts)
        made += len(parts)
        depth += 1
    return np.concatenate(nodes)


def _allowed_cuts(
    ready: BoxTuples,
    models: Sequence[ClassModel],
    order: Ints,
    boxes: Ints,
    lines: Ints,
    codes: Ints,
    gains: Floats,
    widest: int,
) -> tuple[Ints, Ints]:
    """The line and the place of the best cut of each box whose two parts the models let stand, −1 where none is."""
    allowed = np.ones(len(gains), dtype=np.int64)
    cut_line, cut_place = best_cuts(lines, gains, allowed, len(boxes))
    asked = np.flatnonzero(cut_line >= 0)
    if not len(asked):
        return cut_line, cut_place
    tuples, part = sides(
        ready.columns, order, boxes[asked], lines, codes, cut_line[asked], cut_place[asked], widest
    )  # fmt: skip
    stands = _standing(ready, models, tuples, part, 2 * len(asked))
    refused = np.zeros(len(boxes), dtype=bool)
    refused[asked] = ~(stands[0::2] & stands[1::2])
    if refused.any():
        for some in _within_room(lines[refused[lines[:, BOX]]], ready, models):
            places, stand = _judged_places(ready, models, order, boxes, some, codes, gains, widest)
            allowed[places] = stand
        again = best_cuts(lines, gains, allowed, len(boxes))
        cut_line, cut_place = np.where(refused, again[0], cut_line), np.where(refused, again[1], cut_place)
    return cut_line, cut_place


def _standing(ready: BoxTuples, models: Sequence[ClassModel], tuples: Ints, part: Ints, parts: int) -> Truths:
    """Whether each part, a class made of these tuples, satisfies every model."""
    contents = {}
    for name in _needed(models):
        content = ready.table.contents[name]
        held = content.selected(tuples)
        contents[name] = Content.grouped(
            domain=content.domain,
            owners=part[held.owners],
            values=held.values,
            counts=held.counts,
            classes=parts,
            totals=content.totals,
            levels=content.levels,
        )
    sizes = np.bincount(part, weights=ready.sizes[tuples], minlength=parts).astype(np.int64)
    return _satisfy(models, sizes, contents)


def _within_room(lines: Ints, ready: BoxTuples, models: Sequence[ClassModel]) -> Iterator[Ints]:
    """Lines in order, as many at a time as there is room for their counts."""
    widest = max((ready.table.contents[name].domain.size for name in _needed(models)), default=1)
    turn = np.cumsum(lines[:, LENGTH] * widest) // MOST_CELLS
    yield from np.split(lines, np.flatnonzero(np.diff(turn)) + 1)


def _judged_places(
    ready: BoxTuples,
    models: Sequence[ClassModel],
    order: Ints,
    boxes: Ints,
    lines: Ints,
    codes: Ints,
    gains: Floats,
    widest: int,
) -> tuple[Ints, Truths]:
    """The places of some lines where a cut would gain something, and whether the models let both parts stand."""
    lengths = lines[:, LENGTH]
    first = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(lines[:, BEGIN] - first, lengths)
    line_of = np.repeat(np.arange(len(lines)), lengths)
    asked = np.flatnonzero(gains[places] > 0)
    starts, ends = first[line_of[asked]], (first + lengths - 1)[line_of[asked]]
    tuples, place = places_in_lines(ready.columns, order, boxes, lines, codes, widest)

    def both_parts(counted: NDArray[Any]) -> Ints:
        running = np.cumsum(counted, axis=0)
        before = np.where((starts > 0).reshape(-1, *[1] * (counted.ndim - 1)), running[starts - 1], 0.0)
        return np.concatenate([running[asked] - before, running[ends] - running[asked]]).astype(np.int64)

    sizes = both_parts(np.bincount(place, weights=ready.sizes[tuples], minlength=len(places)))
    contents = {}
    for name in _needed(models):
        content = ready.table.contents[name]
        held, width = content.selected(tuples), content.domain.size
        counted = np.bincount(
            place[held.owners] * width + held.values, weights=held.counts, minlength=len(places) * width
        )
        matrix = both_parts(counted.reshape(-1, width))
        owners, values = np.nonzero(matrix)
        contents[name] = Content.grouped(
            domain=content.domain,
            owners=owners,
            values=values,
            counts=matrix[owners, values],
            classes=len(sizes),
            totals=content.totals,
            levels=content.levels,
        )
    stand = _satisfy(models, sizes, contents)
    return places[asked], stand[: len(asked)] & stand[len(asked) :]


def _satisfy(models: Sequence[ClassModel], sizes: Ints, contents: dict[str, Content]) -> Truths:
    """Which classes satisfy every model."""
    table = ClassTable(
        columns=("part",),
        domains=(Domain.of(Kind.INTEGER, np.arange(len(sizes))),),
        tuples=Tuples(np.arange(len(sizes), dtype=np.int64).reshape(-1, 1)),
        sizes=sizes,
        contents=contents,
    )
    stand = np.ones(len(sizes), dtype=bool)
    for model in models:
        stand &= ~model.failing(table, model.scores(table))
    return stand


def _needed(models: Sequence[ClassModel]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(attribute for model in models for attribute in model.needs))
