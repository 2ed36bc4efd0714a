"""The lines of many boxes at once: the codes of a box along a column, and what a cut after each of them gains.

The codes and gains of all lines stand one after the other in flat arrays. A line is four numbers: its box, its column,
where it begins there, and how many codes it has. The lines of a box follow each other; of cuts that gain alike the
first is taken, as in the loop for k alone.
"""

from __future__ import annotations

import numpy as np

from aegis.candidates.boxes.compiled import Floats, Ints, compiled
from aegis.candidates.boxes.cutting import best_gain, divided
from aegis.candidates.boxes.gains import (
    BY_BRANCH,
    NOWHERE,
    between_branches,
    cut_gains,
    gathered,
    in_line,
    uncertainty,
)

BOX, COLUMN, BEGIN, LENGTH = 0, 1, 2, 3
"""What the numbers of a line are."""
ALIKE = 1 + 1e-12
"""Gains are not told apart by their last digits."""


@compiled
def lines_of_boxes(
    columns: Ints,
    sizes: Ints,
    labels: Floats,
    blocks: Ints,
    scales: Floats,
    ordered: Ints,
    missing: Ints,
    domains: Ints,
    ranks: Ints,
    rank_starts: Ints,
    by: Ints,
    depths: Ints,
    weight: float,
    doubt: float,
    least: int,
    ahead: int,
    order: Ints,
    boxes: Ints,
) -> tuple[Ints, Ints, Floats]:
    """The lines of the boxes ``order[start:end]``, of which ``boxes`` has a row each: lines, their codes and gains.

    A line that no cut of gains anything is left out. With ``ahead`` only the best lines of so many columns are kept,
    each with what the best cuts of the two parts of its own best cut add.
    """
    room, widest = 0, 1
    for column in range(len(domains)):
        widest = max(widest, domains[column])
        turns = 2 if ordered[column] == 1 and missing[column] >= 0 else 1
        for box in range(len(boxes)):
            room += turns * min(domains[column], boxes[box, 1] - boxes[box, 0])
    lines = np.empty((2 * len(columns) * len(boxes), 4), dtype=np.int64)
    line_codes, line_gains = np.empty(room, dtype=np.int64), np.empty(room)
    own = np.empty((2 * len(columns), 4), dtype=np.int64)
    most = np.empty(2 * len(columns))
    seen = np.zeros(widest, dtype=np.int64)
    table = np.zeros((widest, labels.shape[1]))
    codes, left = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    places, gains = np.empty(widest), np.empty(widest)
    goes_left = np.zeros(widest, dtype=np.int64)
    tried = order.copy() if ahead > 1 else order[:0].copy()
    records = float(sizes.sum()) * max(len(columns), 1)
    made, filled = 0, 0
    for box in range(len(boxes)):
        start, end = boxes[box, 0], boxes[box, 1]
        here = 0
        whole = np.zeros(labels.shape[1])
        for at in range(start, end):
            here += sizes[order[at]]
            whole += labels[order[at]]
        if here < 2 * least:
            continue
        before = uncertainty(whole, blocks, scales)
        many = 0
        for column in range(len(columns)):
            used = gathered(columns[column], order, start, end, sizes, labels, seen, table, codes)
            if used > 1:
                rank = ranks[rank_starts[column] : rank_starts[column + 1]]
                in_line(codes, used, table, blocks, scales, ordered[column] == 1, rank, by[column], places)
                has_missing = ordered[column] == 1 and codes[used - 1] == missing[column]
                for turn in range(2 if has_missing else 1):
                    if turn == 1:  # missing values before all others
                        for at in range(used - 1, 0, -1):
                            codes[at] = codes[at - 1]
                        codes[0] = missing[column]
                    cut_gains(
                        codes, used, seen, table, blocks, scales, before, ordered[column] == 1, missing[column],
                        domains[column], records, weight, doubt, least, gains,
                    )  # fmt: skip
                    if by[column] == BY_BRANCH:
                        branch_depths = depths[rank_starts[column] : rank_starts[column + 1]]
                        between_branches(codes, used, rank, branch_depths, gains)
                    best = _first_best(gains, used - 1)
                    if gains[best] > 0.0:
                        own[many] = box, column, filled, used
                        most[many] = gains[best]
                        many += 1
                        line_codes[filled : filled + used] = codes[:used]
                        line_gains[filled : filled + used - 1] = gains[: used - 1]
                        line_gains[filled + used - 1] = NOWHERE
                        filled += used
            for at in range(used):
                seen[codes[at]] = 0
                table[codes[at]] = 0.0
        kept = np.arange(many)
        if ahead > 1:
            kept = np.argsort(-most[:many], kind="mergesort")[:ahead]
            for line in kept:
                column, begin, used = own[line, COLUMN], own[line, BEGIN], own[line, LENGTH]
                cut = begin + _first_best(line_gains[begin : begin + used], used)
                for at in range(begin, cut + 1):
                    goes_left[line_codes[at]] = 1
                tried[start:end] = order[start:end]
                middle = divided(columns[column], tried, start, end, goes_left)
                for at in range(begin, cut + 1):
                    goes_left[line_codes[at]] = 0
                after = 0.0
                for first, last in ((start, middle), (middle, end)):
                    after += best_gain(
                        columns, sizes, labels, blocks, scales, ordered, missing, domains, ranks, rank_starts, by,
                        depths, weight, doubt, least, tried, first, last, records, seen, table, codes, places, gains,
                        left,
                    )  # fmt: skip
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
        line = cut_line[box]
        begin = lines[line, BEGIN]
        for at in range(begin, cut_place[box] + 1):
            goes_left[codes[at]] = 1
        middles[box] = divided(columns[lines[line, COLUMN]], order, boxes[box, 0], boxes[box, 1], goes_left)
        for at in range(begin, cut_place[box] + 1):
            goes_left[codes[at]] = 0
    return middles
