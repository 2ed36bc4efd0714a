"""Boxes under any model of a policy: every part that a cut would make is judged as a class of its own.

All boxes of a level are cut together. The best cut of each is judged first, all of them in one class table; where a
model refuses it, every other cut of that box is judged, and the best of those that may stand is taken.

A line is the codes of a box along a column, with what a cut after each of them gains. The codes and gains of all lines
stand one after the other in flat arrays. A line is four numbers: its box, its column, where it begins there, and how
many codes it has. The lines of a box follow each other; of cuts that gain alike the first is taken, as in the loop for
k alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.boxes.cutting import ALIKE, counted, divided_by, gain_after, is_looked_ahead
from aegis.candidates.boxes.gains import NOWHERE, cleared, gains_of_line, gathered, in_line, uncertainty
from aegis.candidates.boxes.terms import Growth, Held, Terms, room_for
from aegis.candidates.boxes.tuples import BoxTuples
from aegis.compiled import compiled
from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.model import ClassModel

BOX, COLUMN, BEGIN, LENGTH = 0, 1, 2, 3
"""What the numbers of a line are."""
MOST_CELLS = 4_000_000
"""So many counts are held at once while all cuts of boxes are judged; one line is never parted."""


@compiled
def lines_of_boxes(held: Held, terms: Terms, ahead: int, order: Ints, boxes: Ints) -> tuple[Ints, Ints, Floats]:
    """The lines of the boxes ``order[start:end]``, of which ``boxes`` has a row each: lines, their codes and gains.

    A line that no cut of gains anything is left out. With ``ahead`` only the best lines of so many columns are kept,
    each with what the best cuts of the two parts of its own best cut add.
    """
    places = 0
    columns = len(held.columns)
    for column in range(columns):
        ways = 2 if terms.ordered[column] == 1 and terms.missing[column] >= 0 else 1
        for box in range(len(boxes)):
            places += ways * min(terms.domains[column], boxes[box, 1] - boxes[box, 0])
    lines = np.empty((2 * columns * len(boxes), 4), dtype=np.int64)
    line_codes, line_gains = np.empty(places, dtype=np.int64), np.empty(places)
    own = np.empty((2 * columns, 4), dtype=np.int64)
    most = np.empty(2 * columns)
    room = room_for(terms, held)
    tried = order.copy() if ahead > 1 else order[:0].copy()
    made, filled = 0, 0
    for box in range(len(boxes)):
        start, end = boxes[box, 0], boxes[box, 1]
        here, whole, settled = counted(held, order, start, end)
        if here < 2 * terms.least:
            continue
        before = uncertainty(whole, terms.blocks, terms.scales)
        many = 0
        for column in range(columns):
            used = gathered(held, column, order, start, end, room)
            if used > 1:
                for way in range(in_line(terms, room, column, used)):
                    gains_of_line(terms, room, column, used, way, before)
                    best = _first_best(room.gains, used - 1)
                    if room.gains[best] > 0.0:
                        own[many] = box, column, filled, used
                        most[many] = room.gains[best]
                        many += 1
                        line_codes[filled : filled + used] = room.codes[:used]
                        line_gains[filled : filled + used - 1] = room.gains[: used - 1]
                        line_gains[filled + used - 1] = NOWHERE
                        filled += used
            cleared(room, used)
        kept = np.arange(many)
        if ahead > 1 and is_looked_ahead(terms, whole, before, settled):
            kept = np.argsort(-most[:many], kind="mergesort")[:ahead]
            for line in kept:
                column, begin, used = own[line, COLUMN], own[line, BEGIN], own[line, LENGTH]
                codes = line_codes[begin : begin + _first_best(line_gains[begin : begin + used], used) + 1]
                after = gain_after(held, terms, room, codes, column, order, tried, start, end)
                for at in range(begin, begin + used):
                    if line_gains[at] > 0.0:
                        line_gains[at] += after
        for line in kept:
            lines[made] = own[line]
            made += 1
    return lines[:made].copy(), line_codes[:filled].copy(), line_gains[:filled].copy()


@compiled
def _first_best(gains: Floats, many: int) -> int:
    """The place of the greatest of the first ``many`` gains, the first of those that are alike."""
    best = 0
    for at in range(1, many):
        if gains[at] > max(gains[best], 0.0) * ALIKE:
            best = at
    return best


@compiled
def best_cuts(lines: Ints, gains: Floats, allowed: Ints, boxes: int) -> tuple[Ints, Ints]:
    """For each box the line and the place of its best cut that is allowed, −1 where it has none."""
    best_line, best_place = np.full(boxes, -1, dtype=np.int64), np.full(boxes, -1, dtype=np.int64)
    best = np.zeros(boxes)
    for line in range(len(lines)):
        box, begin = lines[line, BOX], lines[line, BEGIN]
        for at in range(begin, begin + lines[line, LENGTH]):
            if allowed[at] and gains[at] > best[box] * ALIKE:
                best[box], best_line[box], best_place[box] = gains[at], line, at
    return best_line, best_place


@compiled
def sides(
    columns: Ints, order: Ints, boxes: Ints, lines: Ints, codes: Ints, cut_line: Ints, cut_place: Ints, widest: int
) -> tuple[Ints, Ints]:
    """The tuples of boxes, and the part of each: two parts for each box, one after the other.

    ``cut_line`` and ``cut_place`` are what `best_cuts` says of each.
    """
    total = 0
    for box in range(len(boxes)):
        total += boxes[box, 1] - boxes[box, 0]
    tuples, part = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    right = np.ones(widest, dtype=np.int64)
    filled = 0
    for box in range(len(boxes)):
        line = cut_line[box]
        column, begin = lines[line, COLUMN], lines[line, BEGIN]
        for at in range(begin, cut_place[box] + 1):
            right[codes[at]] = 0
        for at in range(boxes[box, 0], boxes[box, 1]):
            tuples[filled] = order[at]
            part[filled] = 2 * box + right[columns[column, order[at]]]
            filled += 1
        for at in range(begin, cut_place[box] + 1):
            right[codes[at]] = 1
    return tuples, part


@compiled
def places_in_lines(
    columns: Ints, order: Ints, boxes: Ints, lines: Ints, codes: Ints, widest: int
) -> tuple[Ints, Ints]:
    """The tuples of each line's box, and where the code of each stands: counted from the first of these lines on."""
    total = 0
    for line in range(len(lines)):
        total += boxes[lines[line, BOX], 1] - boxes[lines[line, BOX], 0]
    tuples, place = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    position = np.empty(widest, dtype=np.int64)
    filled, before = 0, 0
    for line in range(len(lines)):
        box, column = lines[line, BOX], lines[line, COLUMN]
        begin, used = lines[line, BEGIN], lines[line, LENGTH]
        for at in range(used):
            position[codes[begin + at]] = before + at
        for at in range(boxes[box, 0], boxes[box, 1]):
            tuples[filled] = order[at]
            place[filled] = position[columns[column, order[at]]]
            filled += 1
        before += used
    return tuples, place


@compiled
def divide_boxes(
    columns: Ints, order: Ints, boxes: Ints, lines: Ints, codes: Ints, cut_line: Ints, cut_place: Ints, widest: int
) -> Ints:
    """Cut each box: its tuples are put in the order of the two parts; gives where the second part of each begins."""
    goes_left = np.zeros(widest, dtype=np.int64)
    middles = np.empty(len(boxes), dtype=np.int64)
    for box in range(len(boxes)):
        line = lines[cut_line[box]]
        left = codes[line[BEGIN] : cut_place[box] + 1]
        middles[box] = divided_by(left, columns[line[COLUMN]], order, boxes[box, 0], boxes[box, 1], goes_left)
    return middles


def grown_by_models(
    ready: BoxTuples, models: Sequence[ClassModel], growth: Growth, least: int, order: Ints, begin: int, stop: int
) -> Ints:
    """As `grown` does, with every part judged by the models; what a cut leads to is looked at without them."""
    deepest = growth.most_cuts
    held, terms = ready.held(), ready.terms(growth, least)
    nodes = [np.array([[-1, begin, begin, stop, -1, -1]], dtype=np.int64)]
    made, depth = 1, 0
    while len(nodes[-1]) and (deepest is None or depth < deepest):
        level = nodes[-1]
        boxes = np.ascontiguousarray(level[:, [1, 3]])
        looks = deepest is None or depth + 1 < deepest
        lines, codes, gains = lines_of_boxes(held, terms, growth.look_ahead if looks else 0, order, boxes)
        level_cuts = _Level(ready=ready, models=models, order=order, boxes=boxes, lines=lines, codes=codes, gains=gains)
        cut_line, cut_place = level_cuts.allowed()
        cut = np.flatnonzero(cut_line >= 0)
        level[cut, 0] = lines[cut_line[cut], COLUMN]
        level[cut, 2] = divide_boxes(
            ready.columns, order, boxes[cut], lines, codes, cut_line[cut], cut_place[cut], level_cuts.widest
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Level:
    """The cuts of all boxes of a level (`lines_of_boxes`), and the models that judge them."""

    ready: BoxTuples
    models: Sequence[ClassModel]
    order: Ints
    boxes: Ints
    lines: Ints
    codes: Ints
    gains: Floats

    @property
    def widest(self) -> int:
        return int(self.ready.base.domains.max(initial=1))

    @property
    def _needed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(attribute for model in self.models for attribute in model.needs))

    def allowed(self) -> tuple[Ints, Ints]:
        """The line and the place of the best cut of each box whose two parts the models let stand, −1 where none is."""
        lines, boxes = self.lines, self.boxes
        allowed = np.ones(len(self.gains), dtype=np.int64)
        cut_line, cut_place = best_cuts(lines, self.gains, allowed, len(boxes))
        asked = np.flatnonzero(cut_line >= 0)
        if not len(asked):
            return cut_line, cut_place
        columns, cuts = self.ready.columns, (cut_line[asked], cut_place[asked])
        tuples, part = sides(columns, self.order, boxes[asked], lines, self.codes, *cuts, self.widest)
        stands = self._standing(tuples, part, 2 * len(asked))
        refused = np.zeros(len(boxes), dtype=bool)
        refused[asked] = ~(stands[0::2] & stands[1::2])
        if refused.any():
            for some in self._within_room(lines[refused[lines[:, BOX]]]):
                places, stand = self._judged_places(some)
                allowed[places] = stand
            again = best_cuts(lines, self.gains, allowed, len(boxes))
            cut_line, cut_place = np.where(refused, again[0], cut_line), np.where(refused, again[1], cut_place)
        return cut_line, cut_place

    def _standing(self, tuples: Ints, part: Ints, parts: int) -> Flags:
        """Whether each part, a class made of these tuples, satisfies every model."""
        contents = {}
        for name in self._needed:
            held = self.ready.table.contents[name].selected(tuples)
            contents[name] = self._content(name, part[held.owners], held.values, held.counts, parts)
        sizes = np.bincount(part, weights=self.ready.sizes[tuples], minlength=parts).astype(np.int64)
        return self._satisfying(sizes, contents)

    def _within_room(self, lines: Ints) -> Iterator[Ints]:
        """Lines in order, as many at a time as there is room for their counts."""
        widest = max((self.ready.table.contents[name].domain.size for name in self._needed), default=1)
        turn = np.cumsum(lines[:, LENGTH] * widest) // MOST_CELLS
        yield from np.split(lines, np.flatnonzero(np.diff(turn)) + 1)

    def _judged_places(self, lines: Ints) -> tuple[Ints, Flags]:
        """The places of some lines where a cut would gain something, and whether the models let both parts stand."""
        lengths = lines[:, LENGTH]
        first = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(lines[:, BEGIN] - first, lengths)
        line_of = np.repeat(np.arange(len(lines)), lengths)
        asked = np.flatnonzero(self.gains[places] > 0)
        starts, ends = first[line_of[asked]], (first + lengths - 1)[line_of[asked]]
        columns = self.ready.columns
        tuples, place = places_in_lines(columns, self.order, self.boxes, lines, self.codes, self.widest)

        def both_parts(counted: NDArray[Any]) -> Ints:
            running = np.cumsum(counted, axis=0)
            before = np.where((starts > 0).reshape(-1, *[1] * (counted.ndim - 1)), running[starts - 1], 0.0)
            return np.concatenate([running[asked] - before, running[ends] - running[asked]]).astype(np.int64)

        sizes = both_parts(np.bincount(place, weights=self.ready.sizes[tuples], minlength=len(places)))
        contents = {}
        for name in self._needed:
            content = self.ready.table.contents[name]
            held, width = content.selected(tuples), content.domain.size
            counted = np.bincount(
                place[held.owners] * width + held.values, weights=held.counts, minlength=len(places) * width
            )
            matrix = both_parts(counted.reshape(-1, width))
            owners, values = np.nonzero(matrix)
            contents[name] = self._content(name, owners, values, matrix[owners, values], len(sizes))
        stand = self._satisfying(sizes, contents)
        return places[asked], stand[: len(asked)] & stand[len(asked) :]

    def _content(self, name: str, owners: Ints, values: Ints, counts: Ints, classes: int) -> Content:
        """Some counts of an attribute, beside the distribution of the whole table."""
        whole = self.ready.table.contents[name]
        return Content.grouped(
            domain=whole.domain,
            owners=owners,
            values=values,
            counts=counts,
            classes=classes,
            totals=whole.totals,
            levels=whole.levels,
        )

    def _satisfying(self, sizes: Ints, contents: dict[str, Content]) -> Flags:
        """Which classes satisfy every model."""
        table = ClassTable(
            columns=("part",),
            domains=(Domain.of(Kind.INTEGER, np.arange(len(sizes))),),
            tuples=Tuples(np.arange(len(sizes), dtype=np.int64).reshape(-1, 1)),
            sizes=sizes,
            contents=contents,
        )
        stand = np.ones(len(sizes), dtype=bool)
        for model in self.models:
            stand &= ~model.failing(table, model.scores(table))
        return stand
