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

from aegis.candidates.boxes.compiled import Floats, Ints, compiled

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
def standing(table: Floats, codes: Ints, used: int, blocks: Ints, scales: Floats, places: Floats) -> None:
    """Where each code stands on the line along which the labels of the codes differ most."""
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
def gathered(
    column: Ints, order: Ints, start: int, end: int, sizes: Ints, labels: Floats, seen: Ints, table: Floats, codes: Ints
) -> int:
    """Sum records and labels by code over a box; gives how many codes occur, listed in order in ``codes``.

    ``seen`` and ``table`` are all zero before, and hold the sums after.
    """
    used = 0
    for at in range(start, end):
        tuple_at = order[at]
        code = column[tuple_at]
        if seen[code] == 0:
            codes[used] = code
            used += 1
        seen[code] += sizes[tuple_at]
        for place in range(labels.shape[1]):
            table[code, place] += labels[tuple_at, place]
    codes[:used].sort()
    return used


@compiled
def cut_gains(
    codes: Ints,
    used: int,
    seen: Ints,
    table: Floats,
    blocks: Ints,
    scales: Floats,
    before: float,
    ordered: bool,
    missing: int,
    domain: int,
    records: float,
    weight: float,
    doubt: float,
    least: int,
    gains: Floats,
) -> None:
    """The gain of cutting after each place of a line; `NOWHERE` where a part would have fewer than ``least`` records.

    ``missing`` is the code of missing values, −1 where there is none.
    """
    here = 0
    whole = np.zeros(table.shape[1])
    for at in range(used):
        here += seen[codes[at]]
        whole += table[codes[at]]
    left, right = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    span = max(domain - 1, 1)
    low_all, high_all = _ends(codes, 0, used, missing)
    width_all = (high_all - low_all if ordered else used - 1) / span
    by_chance = chance_gain(whole, blocks, scales, doubt)
    left_records = 0
    for at in range(used - 1):
        left_records += seen[codes[at]]
        left += table[codes[at]]
        if left_records < least or here - left_records < least:
            gains[at] = NOWHERE
            continue
        label_gain = 0.0
        if weight > 0.0:
            for column in range(len(right)):
                right[column] = whole[column] - left[column]
            label_gain = before - uncertainty(left, blocks, scales) - uncertainty(right, blocks, scales) - by_chance
        if ordered:
            low, high = _ends(codes, 0, at + 1, missing)
            left_width = (high - low) / span
            low, high = _ends(codes, at + 1, used, missing)
            right_width = (high - low) / span
        else:
            left_width, right_width = at / span, (used - at - 2) / span
        narrower = width_all * here - left_width * left_records - right_width * (here - left_records)
        gains[at] = weight * max(label_gain, 0.0) + (1.0 - weight) * max(narrower, 0.0) / records


@compiled
def between_branches(codes: Ints, used: int, ranks: Ints, depths: Ints, gains: Floats) -> None:
    """Allow only cuts between the highest branches that a box holds: its parts are whole branches of a hierarchy.

    ``depths`` says for each rank how far down the hierarchy it and the next rank part.
    """
    highest = np.iinfo(np.int64).max
    for turn in range(2):
        for at in range(used - 1):
            parted = np.iinfo(np.int64).max
            for rank in range(ranks[codes[at]], ranks[codes[at + 1]]):
                parted = min(parted, depths[rank])
            if turn == 0:
                highest = min(highest, parted)
            elif parted > highest:
                gains[at] = NOWHERE


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


@compiled
def in_line(
    codes: Ints,
    used: int,
    table: Floats,
    blocks: Ints,
    scales: Floats,
    ordered: bool,
    ranks: Ints,
    by: int,
    places: Floats,
) -> None:
    """Put the codes of a box in the line of their column, in place; equal places stay in the order of the codes."""
    if ordered:
        return
    if by != BY_LABEL:
        for at in range(used):
            places[at] = ranks[codes[at]]
    else:
        standing(table, codes, used, blocks, scales, places)
    line = np.argsort(places[:used], kind="mergesort")
    codes[:used] = codes[:used][line]
