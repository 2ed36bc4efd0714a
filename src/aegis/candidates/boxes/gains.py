"""What each cut of a box gains.

A box is a stretch ``order[start:end]`` of the distinct tuples. For one column its codes are put in a line (numbers by
their order, categories by their share of the label among the records of the box, or by a hierarchy), and every place
in that line is a cut. Missing values of an ordered column have no place in its order: they are tried at either end, so
that they may have a branch of their own.

The gain of a cut is ``weight × label + (1 − weight) × width``: the share of the table's uncertainty about the label
that goes away, and the share of the table's width. Uncertainty is entropy for classes and variance for numbers, the
mean of both where there are several labels; width is how much of a column's line the records of a box take up.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.terms import Held, Room, Terms
from aegis.compiled import ZERO, compiled

BY_LABEL, BY_RANK, BY_BRANCH = 0, 1, 2
"""How codes are put in a line: by the label's share among the records of the box, or by a rank that is given; and cut
anywhere in it, or only between branches of the hierarchy that the rank comes from."""

FEW = 10.0
"""So many records of a category weigh as much as the rest of its box when it is put in line by its label."""

NOWHERE = -1.0
"""The gain of a cut that is not allowed."""


@compiled
def uncertainty(held: Floats, blocks: Ints, scales: Floats) -> float:
    """What is uncertain about the labels of some records, as a share of the whole table's.

    ``blocks`` has a line (first column, columns, classes or 0 for numbers) per label; the columns of a block count the
    classes, or hold the number of records, the sum and the sum of squares.
    """
    total = 0.0
    for block in range(len(blocks)):
        first, columns = blocks[block, 0], blocks[block, 1]
        if blocks[block, 2] > 0:
            records, inside = 0.0, 0.0
            for column in range(first, first + columns):
                count = held[column]
                if count > 0:
                    records += count
                    inside += count * np.log(count)
            if records > 0:
                total += scales[block] * (records * np.log(records) - inside)
        elif held[first] > 0:
            total += scales[block] * max(held[first + 2] - held[first + 1] ** 2 / held[first], 0.0)
    return total


@compiled
def uncertainty_of_each(labels: Floats, blocks: Ints, scales: Floats) -> Floats:
    """The `uncertainty` of each line of labels."""
    each = np.empty(len(labels))
    for at in range(len(labels)):
        each[at] = uncertainty(labels[at], blocks, scales)
    return each


@compiled
def chance_gain(held: Floats, blocks: Ints, scales: Floats, doubt: float) -> float:
    """What the best of several cuts gains by chance alone, in the unit of `uncertainty`: ``doubt`` nats a parameter."""
    total = 0.0
    for block in range(len(blocks)):
        first = blocks[block, 0]
        if blocks[block, 2] > 0:
            total += scales[block] * doubt * (blocks[block, 2] - 1)
        elif held[first] > 0:
            variance = max(held[first + 2] - held[first + 1] ** 2 / held[first], 0.0) / held[first]
            total += scales[block] * 2.0 * doubt * variance
    return total


@compiled
def standing(terms: Terms, room: Room, used: int) -> None:
    """Where each code stands on the line along which the labels of the codes differ most."""
    blocks, scales, table, codes, places = terms.blocks, terms.scales, room.table, room.codes, room.places
    columns = table.shape[1]
    points = np.zeros((used, columns))
    weights = np.zeros(used)
    for at in range(used):
        held = table[codes[at]]
        for block in range(len(blocks)):
            first, width = blocks[block, 0], blocks[block, 1]
            if scales[block] <= 0.0:
                continue
            if blocks[block, 2] > 0:
                records = 0.0
                for column in range(first, first + width):
                    records += held[column]
                if records > 0:
                    weights[at] = max(weights[at], records)
                    for column in range(first, first + width):
                        points[at, column] = held[column] / records
            elif held[first] > 0:
                weights[at] = max(weights[at], held[first])
                points[at, first + 1] = held[first + 1] / held[first] * np.sqrt(scales[block])
    total = weights.sum()
    if total <= 0:
        places[:used] = 0.0
        return
    farthest, away = 0, -1.0
    for column in range(columns):
        mean = (weights * points[:, column]).sum() / total
        points[:, column] -= mean
    for at in range(used):
        apart = weights[at] * (points[at] ** 2).sum()
        if apart > away:
            farthest, away = at, apart
    direction = points[farthest].copy()
    for _ in range(12):
        following = np.zeros(columns)
        for at in range(used):
            along = 0.0
            for column in range(columns):
                along += points[at, column] * direction[column]
            for column in range(columns):
                following[column] += weights[at] * along * points[at, column]
        length = np.sqrt((following**2).sum())
        if length <= 0:
            break
        direction = following / length
    for at in range(used):
        along = 0.0
        for column in range(columns):
            along += points[at, column] * direction[column]
        places[at] = along * weights[at] / (weights[at] + FEW)  # a few records tell little: nearer to the middle


@compiled
def gathered(held: Held, column: int, order: Ints, start: int, end: int, room: Room) -> int:
    """Sum records and labels by code over a box; gives how many codes occur, listed in order."""
    codes = held.columns[column]
    used = 0
    for at in range(start, end):
        tuple_at = order[at]
        code = codes[tuple_at]
        if room.seen[code] == 0:
            room.codes[used] = code
            used += 1
        room.seen[code] += held.sizes[tuple_at]
        for place in range(held.labels.shape[1]):
            room.table[code, place] += held.labels[tuple_at, place]
    room.codes[:used].sort()
    return used


@compiled
def cleared(room: Room, used: int) -> None:
    """The room as it was before `gathered`."""
    for at in range(used):
        room.seen[room.codes[at]] = 0
        room.table[room.codes[at]] = 0.0


@compiled
def in_line(terms: Terms, room: Room, column: int, used: int) -> int:
    """Put the codes of a box in the line of their column; gives how many ways there are to do so.

    Equal places stay in the order of the codes. Missing values of an ordered column stand last, or in a second way
    first.
    """
    if terms.ordered[column] == 1:
        return 2 if used > 1 and room.codes[used - 1] == terms.missing[column] else 1
    if terms.by[column] != BY_LABEL:
        for at in range(used):
            room.places[at] = terms.ranks[terms.rank_starts[column] + room.codes[at]]
    else:
        standing(terms, room, used)
    line = np.argsort(room.places[:used], kind="mergesort")
    room.codes[:used] = room.codes[:used][line]
    return 1


@compiled
def gains_of_line(terms: Terms, room: Room, column: int, used: int, way: int, before: float) -> None:
    """What a cut after each place of a line gains; the second way to put it in line has missing values first."""
    if way == 1:
        for at in range(used - 1, 0, -1):
            room.codes[at] = room.codes[at - 1]
        room.codes[0] = terms.missing[column]
    _cut_gains(terms, room, column, used, before)
    if terms.by[column] == BY_BRANCH:
        _between_branches(terms, room, column, used)


@compiled
def _cut_gains(terms: Terms, room: Room, column: int, used: int, before: float) -> None:
    """The gain of a cut after each place of a line; `NOWHERE` where a part would have fewer than ``least`` records."""
    blocks, scales, codes, table, weight = terms.blocks, terms.scales, room.codes, room.table, terms.weight
    ordered, missing, least = terms.ordered[column] == 1, terms.missing[column], terms.least
    here = 0
    whole = np.zeros(table.shape[1])
    for at in range(used):
        here += room.seen[codes[at]]
        whole += table[codes[at]]
    left, right = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    span = max(terms.domains[column] - 1, 1)
    low_all, high_all = _ends(codes, ZERO, used, missing)
    width_all = (high_all - low_all if ordered else used - 1) / span
    by_chance = chance_gain(whole, blocks, scales, terms.doubt)
    left_records = 0
    for at in range(used - 1):
        left_records += room.seen[codes[at]]
        left += table[codes[at]]
        if left_records < least or here - left_records < least:
            room.gains[at] = NOWHERE
            continue
        label_gain = 0.0
        if weight > 0.0:
            for place in range(len(right)):
                right[place] = whole[place] - left[place]
            label_gain = before - uncertainty(left, blocks, scales) - uncertainty(right, blocks, scales) - by_chance
        if ordered:
            low, high = _ends(codes, ZERO, at + 1, missing)
            left_width = (high - low) / span
            low, high = _ends(codes, at + 1, used, missing)
            right_width = (high - low) / span
        else:
            left_width, right_width = at / span, (used - at - 2) / span
        narrower = width_all * here - left_width * left_records - right_width * (here - left_records)
        room.gains[at] = weight * max(label_gain, 0.0) + (1.0 - weight) * max(narrower, 0.0) / terms.records


@compiled
def _between_branches(terms: Terms, room: Room, column: int, used: int) -> None:
    """Allow only cuts between the highest branches that a box holds: its parts are whole branches of a hierarchy.

    The depths of a column say for each rank how far down the hierarchy it and the next rank part.
    """
    first = terms.rank_starts[column]
    highest = np.iinfo(np.int64).max
    for turn in range(2):
        for at in range(used - 1):
            parted = np.iinfo(np.int64).max
            for rank in range(terms.ranks[first + room.codes[at]], terms.ranks[first + room.codes[at + 1]]):
                parted = min(parted, terms.depths[first + rank])
            if turn == 0:
                highest = min(highest, parted)
            elif parted > highest:
                room.gains[at] = NOWHERE


@compiled
def _ends(codes: Ints, first: int, last: int, missing: int) -> tuple[int, int]:
    """The lowest and highest code of a stretch of an ordered line, missing values apart."""
    if codes[first] == missing:
        first += 1
    if last > first and codes[last - 1] == missing:
        last -= 1
    if last <= first:
        return 0, 0
    return codes[first], codes[last - 1]
