"""Boxes grown by k alone: the compiled loop of local recoding.

A box is a stretch ``order[start:end]`` of the distinct tuples. `gains` says what its cuts gain.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import chance_gain, cleared, gains_of_line, gathered, in_line, uncertainty
from aegis.candidates.boxes.terms import Held, Room, Terms, moved, room_for
from aegis.compiled import compiled

LEVELS_APART = 3
"""After so many levels of cuts tuples are put side by side again: those of one box lie all over the table by then."""
LEAST_NATS = 1.0
"""A box is looked ahead from where its cuts may yet tell so much about its labels, a parameter. With less no order of
cuts tells a model more than another, and a large table is mostly of such boxes."""
ALIKE = 1 + 1e-12
"""Gains are not told apart by their last digits."""


@compiled
def divided(column: Ints, order: Ints, start: int, end: int, goes_left: Ints) -> int:
    """Put the tuples whose code goes left first, both parts in the order they had; gives where the second begins."""
    kept = np.empty(end - start, dtype=np.int64)
    others = 0
    at_left = start
    for at in range(start, end):
        tuple_at = order[at]
        if goes_left[column[tuple_at]]:
            order[at_left] = tuple_at
            at_left += 1
        else:
            kept[others] = tuple_at
            others += 1
    order[at_left:end] = kept[:others]
    return at_left


@compiled
def divided_by(codes: Ints, column: Ints, order: Ints, start: int, end: int, goes_left: Ints) -> int:
    """As `divided`, where these codes go left."""
    for code in codes:
        goes_left[code] = 1
    middle = divided(column, order, start, end, goes_left)
    for code in codes:
        goes_left[code] = 0
    return middle


@compiled
def counted(held: Held, order: Ints, start: int, end: int) -> tuple[int, Floats, float]:
    """Of a box how many records it has, what their labels are together, and how uncertain each tuple's are."""
    here, settled = 0, 0.0
    whole = np.zeros(held.labels.shape[1])
    for at in range(start, end):
        here += held.sizes[order[at]]
        whole += held.labels[order[at]]
        settled += held.settled[order[at]]
    return here, whole, settled


@compiled
def is_looked_ahead(terms: Terms, whole: Floats, before: float, settled: float) -> bool:
    """Whether there is enough to tell about the labels of a box for the order of its cuts to matter."""
    return before - settled > chance_gain(whole, terms.blocks, terms.scales, LEAST_NATS)


@compiled
def best_in_column(
    held: Held, terms: Terms, room: Room, column: int, order: Ints, start: int, end: int, before: float
) -> tuple[float, int]:
    """The greatest gain of a cut of a box along one column, and how many codes go left: the first of ``room.left``."""
    best, best_at = 0.0, -1
    used = gathered(held, column, order, start, end, room)
    if used > 1:
        for way in range(in_line(terms, room, column, used)):
            gains_of_line(terms, room, column, used, way, before)
            better = False
            for at in range(used - 1):
                if room.gains[at] > best * ALIKE:
                    best, best_at, better = room.gains[at], at, True
            if better:
                room.left[: best_at + 1] = room.codes[: best_at + 1]
    cleared(room, used)
    return best, best_at + 1


@compiled
def best_gain(held: Held, terms: Terms, room: Room, order: Ints, start: int, end: int) -> float:
    """The greatest gain of a cut of a box along any column; 0 where it cannot be cut."""
    here, whole, _ = counted(held, order, start, end)
    if here < 2 * terms.least or end - start < 2:
        return 0.0
    before = uncertainty(whole, terms.blocks, terms.scales)
    best = 0.0
    for column in range(len(held.columns)):
        gain, _ = best_in_column(held, terms, room, column, order, start, end, before)
        best = max(best, gain)
    return best


@compiled
def gain_after(
    held: Held, terms: Terms, room: Room, codes: Ints, column: int, order: Ints, tried: Ints, start: int, end: int
) -> float:
    """What the best cuts of both parts gain where these codes of a column go left; ``tried`` is room for an order."""
    tried[start:end] = order[start:end]
    middle = divided_by(codes, held.columns[column], tried, start, end, room.goes_left)
    return best_gain(held, terms, room, tried, start, middle) + best_gain(held, terms, room, tried, middle, end)


@compiled
def grown(held: Held, terms: Terms, deepest: int, ahead: int, order: Ints, begin: int, stop: int) -> Ints:
    """Cut the box ``order[begin:stop]`` where the gain is greatest and both parts keep ``least``, and each part again.

    With ``ahead`` the best cuts of so many columns are compared by what they gain together with the best cut of each
    of their parts. Gives a line (column or −1, start, middle, end, left, right) per node, the root first; ``order``
    is the tuples in the order of the leaves.
    """
    room = room_for(terms, held)
    best_left = np.empty(len(room.left), dtype=np.int64)
    whole_order, names = order, order[begin:stop].copy()
    held = moved(held, names)
    order = np.arange(len(names))
    tried = order.copy() if ahead > 0 else order[:0].copy()
    column_gains = np.zeros(len(held.columns))
    nodes = np.empty((2 * len(names) + 1, 6), dtype=np.int64)
    depth = np.zeros(2 * len(names) + 1, dtype=np.int64)
    nodes[0] = -1, 0, 0, len(names), -1, -1
    made, node, next_move = 1, 0, LEVELS_APART
    while node < made:
        start, end = nodes[node, 1], nodes[node, 3]
        if depth[node] == next_move:  # level by level: nothing above is looked at again
            names = names[order]
            held = moved(held, order)
            order[:] = np.arange(len(names))
            next_move += LEVELS_APART
        here, whole, settled = counted(held, order, start, end)
        best, best_column, best_many = 0.0, -1, 0
        if here >= 2 * terms.least and end - start > 1 and (deepest < 0 or depth[node] < deepest):
            before = uncertainty(whole, terms.blocks, terms.scales)
            for column in range(len(held.columns)):
                column_gains[column], many = best_in_column(held, terms, room, column, order, start, end, before)
                if column_gains[column] > best * ALIKE:
                    best, best_column, best_many = column_gains[column], column, many
                    best_left[:many] = room.left[:many]
            looks = ahead > 1 and best_column >= 0 and (deepest < 0 or depth[node] + 1 < deepest)
            if looks and is_looked_ahead(terms, whole, before, settled):
                together = -1.0
                ranked = np.argsort(-column_gains, kind="mergesort")
                for column in ranked[:ahead]:
                    if column_gains[column] <= 0.0:
                        break
                    gain, many = best_in_column(held, terms, room, column, order, start, end, before)
                    chosen = room.left[:many].copy()
                    gain += gain_after(held, terms, room, chosen, column, order, tried, start, end)
                    if gain > together * ALIKE:
                        together, best_column, best_many = gain, column, many
                        best_left[:many] = chosen
        if best_column >= 0:
            codes = best_left[:best_many]
            middle = divided_by(codes, held.columns[best_column], order, start, end, room.goes_left)
            nodes[node, 0], nodes[node, 2] = best_column, middle
            nodes[node, 4], nodes[node, 5] = made, made + 1
            nodes[made] = -1, start, start, middle, -1, -1
            nodes[made + 1] = -1, middle, middle, end, -1, -1
            depth[made] = depth[made + 1] = depth[node] + 1
            made += 2
        node += 1
    whole_order[begin:stop] = names[order]
    nodes[:made, 1:4] += begin
    return nodes[:made]


@compiled
def ends_of_cuts(columns: Ints, order: Ints, nodes: Ints, missing: Ints) -> Ints:
    """The codes on either side of each cut that `grown` made: a line (lowest, highest, any missing) × 2 per node.

    Missing codes are apart from the lowest and highest, which are −1 where nothing else is left; so are those of
    leaves.
    """
    ends = np.full((len(nodes), 6), -1, dtype=np.int64)
    for node in range(len(nodes)):
        column = nodes[node, 0]
        if column < 0:
            continue
        for side in range(2):
            low, high, any_missing = -1, -1, 0
            for at in range(nodes[node, 1 + side], nodes[node, 2 + side]):
                code = columns[column, order[at]]
                if code == missing[column]:
                    any_missing = 1
                    continue
                high = max(high, code)
                if low < 0 or code < low:
                    low = code
            ends[node, 3 * side], ends[node, 3 * side + 1], ends[node, 3 * side + 2] = low, high, any_missing
    return ends
