"""All ways to cut one column, each weighed exactly, in one pass over the tuples.

A cut divides a group of values, and with it every class that has the group in this column. Going through the group's
tuples in the order of their values moves one tuple after the other from the right parts of the classes to the left
ones; the score is kept up to date on the way and written down wherever the value changes.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.search.classes import Codes
from aegis.candidates.search.objective import cell_bits, row_bits
from aegis.compiled import ZERO, compiled


@compiled
def sweep(
    rows: Ints,
    group: Ints,
    rank: Ints,
    owner: Codes,
    classes: int,
    labels: Ints,
    entry_start: Ints,
    entry_value: Ints,
    entry_count: Ints,
    ends: Ints,
    wanted: Ints,
    least: int,
    cells: Floats,
    row_table: Floats,
    prior: Floats,
) -> tuple[Floats, Ints, Flags]:
    """For every place in ``rows`` (tuples by group, then rank) the table cut right after it.

    The answers are the leave-one-out bits (failing classes pooled as one), the records in failing classes, and
    whether the pool itself would pass; places where no cut is possible have minus infinity bits. Tuple r holds value
    ``entry_value[e]`` of some sensitive attribute ``entry_count[e]`` times, e from ``entry_start[r]``; the values of
    attribute a are numbered from ``ends[a]`` to ``ends[a + 1]`` and a class needs ``wanted[a]`` of them.
    """
    places = len(rows)
    kinds = labels.shape[1]
    values = ends[-1]
    attributes = len(wanted)
    # Part 0 of a class is left of the cut, part 1 right of it.
    counts = np.zeros((2, classes, kinds), dtype=np.int64)
    sizes = np.zeros((2, classes), dtype=np.int64)
    held = np.zeros((2, classes, values), dtype=np.int64)
    different = np.zeros((2, classes, attributes), dtype=np.int64)
    attribute_of = np.zeros(values, dtype=np.int64)
    for a in range(attributes):
        for v in range(ends[a], ends[a + 1]):
            attribute_of[v] = a
    pool = np.zeros(kinds, dtype=np.int64)
    pool_held = np.zeros(values, dtype=np.int64)
    passing = np.zeros(1)  # leave-one-out bits of the classes that pass

    def weigh(part: int, c: int, sign: int) -> None:
        size = sizes[part, c]
        if size == 0:
            return
        fails = size < least
        for a in range(attributes):
            fails = fails or different[part, c, a] < wanted[a]
        if fails:
            for y in range(kinds):
                pool[y] += sign * counts[part, c, y]
            for v in range(values):
                pool_held[v] += sign * held[part, c, v]
        else:
            bits = row_bits(size, row_table)
            for y in range(kinds):
                bits += cell_bits(counts[part, c, y], y, cells, prior)
            passing[0] += sign * bits

    def move(row: int, part: int, c: int, sign: int) -> None:
        for y in range(kinds):
            counts[part, c, y] += sign * labels[row, y]
            sizes[part, c] += sign * labels[row, y]
        for e in range(entry_start[row], entry_start[row + 1]):
            v = entry_value[e]
            before = held[part, c, v]
            held[part, c, v] = before + sign * entry_count[e]
            if before == 0:
                different[part, c, attribute_of[v]] += 1
            elif held[part, c, v] == 0:
                different[part, c, attribute_of[v]] -= 1

    for row in range(len(owner)):
        move(row, 1, owner[row], 1)
    for c in range(classes):
        weigh(1, c, 1)
    bits = np.full(places, -np.inf)
    failing = np.zeros(places, dtype=np.int64)
    passes = np.zeros(places, dtype=np.bool_)
    begin = 0
    for place in range(places):
        row = rows[place]
        c = owner[row]
        for part in range(2):
            weigh(part, c, -1)
        move(row, 0, c, 1)
        move(row, 1, c, -1)
        for part in range(2):
            weigh(part, c, 1)
        last = place + 1 == places or group[place + 1] != group[place]
        if last:
            # Everything of the group is on the left now: put it back for the next group.
            for other in range(begin, place + 1):
                c = owner[rows[other]]
                if sizes[0, c] > 0:
                    sizes[1, c], sizes[0, c] = sizes[0, c], 0
                    for y in range(kinds):
                        counts[1, c, y], counts[0, c, y] = counts[0, c, y], 0
                    for v in range(values):
                        held[1, c, v], held[0, c, v] = held[0, c, v], 0
                    for a in range(attributes):
                        different[1, c, a], different[0, c, a] = different[0, c, a], 0
            begin = place + 1
        elif rank[place + 1] != rank[place]:
            total = passing[0]
            in_pool = ZERO
            for y in range(kinds):
                total += cell_bits(pool[y], y, cells, prior)
                in_pool += pool[y]
            bits[place] = total + row_bits(in_pool, row_table)
            failing[place] = in_pool
            fine = in_pool >= least
            for a in range(attributes):
                seen = 0
                for v in range(ends[a], ends[a + 1]):
                    if pool_held[v] > 0:
                        seen += 1
                fine = fine and seen >= wanted[a]
            passes[place] = fine
    return bits, failing, passes
