"""Which parts of a tree are published together as one box.

A tree cuts one column at a time, so that what a box of k records holds depends on where its last cuts happened to fall.
Parts of a few records follow the label more closely, and parts that tell the same of it are found in other branches
too: they are joined, the smallest first, with the part that makes the labels and the widths together least uncertain
and least wide, until every box has as many records as it needs, and further as long as two boxes tell so little apart
that models know them better together. What is published of a box is the interval or set
that holds all of its parts, so that boxes may overlap; their widths count here as they do for a cut (`gains`).
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import uncertainty
from aegis.candidates.boxes.parts import Parts, bits_set, width_of_both
from aegis.candidates.boxes.terms import Terms
from aegis.compiled import NONE_YET, compiled

RECORDS_OF_A_PART = 5
"""Parts are cut down to so many records, or to what a box needs where that is fewer."""
A_BOX = 0.5
"""So many nats about the labels, a parameter, are worth one box fewer. What few records say of their label is partly
chance, so boxes that tell less apart than this are known better together."""
COARSE = 0.12
"""But only where boxes that are cut alone take up more of a column's values than this, on average. Of finer ones models
learn by their neighbours, for which intervals and sets have to stay fine."""
MOST_PAIRS = 8_000_000
"""So many pairs of parts are looked at: in a large table parts are joined within branches, where they are most like."""
WORTH = 0.0015
"""By so much of the table's uncertainty and width joined boxes have to be better than those cut alone. With less models
gain nothing: intervals and sets that overlap are harder to learn from."""
WORTH_NATS = 6.0
"""And by so much of what is uncertain about the labels, a parameter: what learners expect of a small table is not known
any better."""

FOR_EVER = np.iinfo(np.int64).max
"""The turn in which a part that is joined is last refused."""


def most_in_branch(records: int, parts: int) -> int:
    """How many records a branch may have so that no more than `MOST_PAIRS` are looked at.

    >>> most_in_branch(20_000, 2_000), most_in_branch(400_000, 40_000)
    (20000, 2000)
    """
    return min(records, records * MOST_PAIRS // parts**2)


@compiled
def branches(nodes: Ints, leaf_of_node: Ints, sizes: Ints, most: int) -> Ints:
    """For each leaf the highest node above it that has at most so many records, itself where it has more."""
    records = np.zeros(len(nodes), dtype=np.int64)
    for node in range(len(nodes) - 1, -1, -1):  # what a cut leads to stands behind it
        if nodes[node, 0] >= 0:
            records[node] = records[nodes[node, 4]] + records[nodes[node, 5]]
        else:
            records[node] = sizes[leaf_of_node[node]]
    branch = np.full(len(nodes), -1, dtype=np.int64)
    of_leaf = np.empty(len(sizes), dtype=np.int64)
    for node in range(len(nodes)):
        if branch[node] < 0 and (records[node] <= most or nodes[node, 0] < 0):
            branch[node] = node
        if nodes[node, 0] >= 0:
            branch[nodes[node, 4]] = branch[nodes[node, 5]] = branch[node]
        else:
            of_leaf[leaf_of_node[node]] = branch[node]
    return of_leaf


@compiled
def is_told_apart(held: Parts, terms: Terms, alive: Ints, first: int, second: int) -> bool:
    """Whether two parts together would be published as no other box is, and not as stars alone, as if suppressed."""
    wide = 0
    for column in range(held.lows.shape[1]):
        begin, end = held.first_words[column], held.first_words[column + 1]
        if terms.ordered[column] == 1:
            low = min(held.lows[first, column], held.lows[second, column])
            high = max(held.highs[first, column], held.highs[second, column])
            wide += low == 0 and high == terms.domains[column] - (terms.missing[column] >= 0) - 1
        else:
            codes = 0
            for word in range(begin, end):
                codes += bits_set(held.sets[first, word] | held.sets[second, word])
            wide += codes == terms.domains[column]
    if wide == held.lows.shape[1]:
        return False
    for other in range(len(alive)):
        if alive[other] == 0 or other in (first, second):
            continue
        alike = True
        for column in range(held.lows.shape[1]):
            if terms.ordered[column] == 1:
                low = min(held.lows[first, column], held.lows[second, column])
                high = max(held.highs[first, column], held.highs[second, column])
                alike = low == held.lows[other, column] and high == held.highs[other, column]
                if alike and low == 0 and high == terms.domains[column] - (terms.missing[column] >= 0) - 1:
                    continue  # where every number is published, missing ones are too
            for word in range(held.first_words[column], held.first_words[column + 1]):
                alike = alike and held.sets[first, word] | held.sets[second, word] == held.sets[other, word]
            if not alike:
                break
        if alike:
            return False
    return True


@compiled
def cheapest(
    held: Parts,
    terms: Terms,
    own: Floats,
    widths: Floats,
    near: Ints,
    last_refused: Ints,
    turn: int,
    small: int,
    most: float,
) -> int:
    """The one of some parts that costs least to be joined with ``small``, and less than ``most``; −1 for none.

    ``own`` is how uncertain the labels of each part are, ``widths`` how wide it is. Those that were refused in this
    ``turn`` or a later one are passed by.
    """
    best, found = most, NONE_YET
    both = np.empty(held.labels.shape[1])
    size = held.sizes[small]
    for other in near:
        if other == small or last_refused[other] >= turn:
            continue
        for place in range(len(both)):
            both[place] = held.labels[small, place] + held.labels[other, place]
        cost = terms.weight * (uncertainty(both, terms.blocks, terms.scales) - own[small] - own[other])
        if cost >= best:  # no box is narrower than its parts
            continue
        wide = width_of_both(held, terms, small, other) * (size + held.sizes[other])
        wide -= widths[small] * size + widths[other] * held.sizes[other]
        cost += (1.0 - terms.weight) * wide / terms.records
        if cost < best:
            best, found = cost, other
    return found


@compiled
def joined_parts(held: Parts, terms: Terms, branch: Ints, least: int, a_box: float) -> Ints:
    """The box of each part, numbered from 0, so that every box has ``least`` records; ``held`` is used up.

    A part is joined within its branch; where nothing else is left there, with any other. Boxes that have enough are
    joined where that costs less than ``a_box``.
    """
    many = len(held.sizes)
    box = np.arange(many)
    alive = np.ones(many, dtype=np.int64)
    own = np.empty(many)
    widths = np.empty(many)
    waiting = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for part in range(many):
        own[part] = uncertainty(held.labels[part], terms.blocks, terms.scales)
        widths[part] = width_of_both(held, terms, part, part)
        heappush(waiting, (held.sizes[part], np.int64(part)))
    order = np.argsort(branch, kind="mergesort")
    places = np.empty(many, dtype=np.int64)
    starts, ends = np.empty(many, dtype=np.int64), np.empty(many, dtype=np.int64)
    begin = 0
    for at in range(many):
        places[order[at]] = at
        if branch[order[at]] != branch[order[begin]]:
            begin = at
        starts[order[at]] = begin
    stop = many
    for at in range(many - 1, -1, -1):
        ends[order[at]] = stop
        if starts[order[at]] == at:
            stop = at
    last_refused, turn = np.zeros(many, dtype=np.int64), 0
    while len(waiting) > 0:
        size, popped = heappop(waiting)
        small = int(popped)
        if alive[small] == 0 or held.sizes[small] != size:
            continue
        turn += 1
        most = np.inf if size < least else a_box
        other = NONE_YET
        for everywhere in range(2):
            first, last = (0, many) if everywhere == 1 else (starts[small], ends[small])
            other = cheapest(held, terms, own, widths, order[first:last], last_refused, turn, small, most)
            while other >= 0 and not is_told_apart(held, terms, alive, small, other):
                last_refused[other] = turn
                other = cheapest(held, terms, own, widths, order[first:last], last_refused, turn, small, most)
            if other >= 0 or size >= least:
                break
        if other < 0:
            continue
        held.sizes[other] += size
        held.labels[other] += held.labels[small]
        for column in range(held.lows.shape[1]):
            held.lows[other, column] = min(held.lows[other, column], held.lows[small, column])
            held.highs[other, column] = max(held.highs[other, column], held.highs[small, column])
        held.sets[other] |= held.sets[small]
        own[other] = uncertainty(held.labels[other], terms.blocks, terms.scales)
        widths[other] = width_of_both(held, terms, other, other)
        alive[small] = 0
        last_refused[small] = FOR_EVER
        box[small] = other
        heappush(waiting, (held.sizes[other], np.int64(other)))
    number = np.full(many, -1, dtype=np.int64)
    boxes = 0
    for part in range(many):
        while box[box[part]] != box[part]:
            box[part] = box[box[part]]
        if number[box[part]] < 0:
            number[box[part]] = boxes
            boxes += 1
    for part in range(many):
        box[part] = number[box[part]]
    return box
