"""The lines of many boxes at once: the codes of a box along a column, and what a cut after each of them gains.

The codes and gains of all lines stand one after the other in flat arrays. A line is four numbers: its box, its column,
where it begins there, and how many codes it has. The lines of a box follow each other; of cuts that gain alike the
first is taken, as in the loop for k alone.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.cutting import ALIKE, counted, divided_by, gain_after, is_looked_ahead
from aegis.candidates.boxes.gains import NOWHERE, cleared, gains_of_line, gathered, in_line, uncertainty
from aegis.candidates.boxes.terms import Held, Terms, room_for
from aegis.compiled import compiled

BOX, COLUMN, BEGIN, LENGTH = 0, 1, 2, 3
"""What the numbers of a line are."""


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
