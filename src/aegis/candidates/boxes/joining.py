"""Which parts of a tree are published together as one box.

A tree cuts one column at a time, so that what a box of k records holds depends on where its last cuts happened to fall.
Parts of fewer records follow the label more closely, and parts that tell the same of it are found in other branches
too: they are joined, the smallest first, with the part that makes the labels and the widths together least uncertain
and least wide, until every box has as many records as it needs. What is published of a box is the interval or set
that holds all of its parts, so that boxes may overlap; their widths count here as they do for a cut (`gains`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import uncertainty
from aegis.candidates.boxes.terms import Terms
from aegis.compiled import compiled

PARTS = 2
"""Parts have one over so many of the records that a box needs."""
NEAR = 64
"""Parts are joined within a branch of so many times the records of a box: others are as like, and would take longer."""
WORTH = 0.0015
"""By so much of the table's uncertainty and width joined boxes have to be better than those cut alone. With less models
gain nothing: intervals and sets that overlap are harder to learn from."""
WORTH_NATS = 6.0
"""And by so much of what is uncertain about the labels, a parameter: what learners expect of a small table is not known
any better."""

WORD = 64


class Parts(NamedTuple):
    """Of each part its records and labels, the lowest and highest code of each ordered column, and the codes of others.

    ``sets`` has a bit for each code; the bits of a column begin at ``first_words``. Where an ordered column has nothing
    but missing values, its lowest code is above its highest.
    """

    sizes: Ints
    labels: Floats
    lows: Ints
    highs: Ints
    sets: NDArray[np.uint64]
    first_words: Ints


@compiled
def parts_of(columns: Ints, sizes: Ints, labels: Floats, terms: Terms, part_of: Ints, parts: int) -> Parts:
    """What parts hold, ``part_of`` being the part of each tuple."""
    first_words = np.zeros(len(columns) + 1, dtype=np.int64)
    for column in range(len(columns)):
        words = 0 if terms.ordered[column] == 1 else (terms.domains[column] + WORD - 1) // WORD
        first_words[column + 1] = first_words[column] + words
    held = Parts(
        np.zeros(parts, dtype=np.int64),
        np.zeros((parts, labels.shape[1])),
        np.full((parts, len(columns)), np.iinfo(np.int64).max, dtype=np.int64),
        np.full((parts, len(columns)), -1, dtype=np.int64),
        np.zeros((parts, first_words[-1]), dtype=np.uint64),
        first_words,
    )
    for at in range(len(part_of)):
        part = part_of[at]
        held.sizes[part] += sizes[at]
        held.labels[part] += labels[at]
        for column in range(len(columns)):
            code = columns[column, at]
            if terms.ordered[column] == 1:
                if code != terms.missing[column]:
                    held.lows[part, column] = min(held.lows[part, column], code)
                    held.highs[part, column] = max(held.highs[part, column], code)
            else:
                held.sets[part, first_words[column] + code // WORD] |= np.uint64(1) << np.uint64(code % WORD)
    return held


@compiled
def _bits(word: np.uint64) -> int:
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def width_of_both(held: Parts, terms: Terms, first: int, second: int) -> float:
    """The widths of all columns of a box that holds two parts; of one where they are the same."""
    total = 0.0
    for column in range(held.lows.shape[1]):
        span = max(terms.domains[column] - 1, 1)
        if terms.ordered[column] == 1:
            low = min(held.lows[first, column], held.lows[second, column])
            high = max(held.highs[first, column], held.highs[second, column])
            total += max(high - low, 0) / span if high >= 0 else 0.0
        else:
            codes = 0
            for word in range(held.first_words[column], held.first_words[column + 1]):
                codes += _bits(held.sets[first, word] | held.sets[second, word])
            total += max(codes - 1, 0) / span
    return total


@compiled
def cost_of_parts(held: Parts, terms: Terms) -> float:
    """How uncertain the labels of boxes are and how wide they are: what a cut gains is what this falls by."""
    total = 0.0
    for part in range(len(held.sizes)):
        unknown = uncertainty(held.labels[part], terms.blocks, terms.scales)
        wide = width_of_both(held, terms, part, part) * held.sizes[part]
        total += terms.weight * unknown + (1.0 - terms.weight) * wide / terms.records
    return total


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
def joined_parts(held: Parts, terms: Terms, branch: Ints, least: int) -> Ints:
    """The box of each part, numbered from 0, so that every box has ``least`` records; ``held`` is used up.

    A part is joined within its branch; where nothing else is left there, with any other.
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
        if held.sizes[part] < least:
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
    both = np.empty(held.labels.shape[1])
    while len(waiting) > 0:
        size, popped = heappop(waiting)
        small = int(popped)
        if alive[small] == 0 or held.sizes[small] != size:
            continue
        best, other = np.inf, -1
        for everywhere in range(2):
            first, last = (0, many) if everywhere == 1 else (starts[small], ends[small])
            for at in range(first, last):
                near = order[at]
                if alive[near] == 0 or near == small:
                    continue
                for place in range(len(both)):
                    both[place] = held.labels[small, place] + held.labels[near, place]
                unknown = uncertainty(both, terms.blocks, terms.scales) - own[small] - own[near]
                wide = width_of_both(held, terms, small, near) * (size + held.sizes[near])
                wide -= widths[small] * size + widths[near] * held.sizes[near]
                cost = terms.weight * unknown + (1.0 - terms.weight) * wide / terms.records
                if cost < best:
                    best, other = cost, near
            if other >= 0:
                break
        if other < 0:
            break
        held.sizes[other] += size
        held.labels[other] += held.labels[small]
        for column in range(held.lows.shape[1]):
            held.lows[other, column] = min(held.lows[other, column], held.lows[small, column])
            held.highs[other, column] = max(held.highs[other, column], held.highs[small, column])
        held.sets[other] |= held.sets[small]
        own[other] = uncertainty(held.labels[other], terms.blocks, terms.scales)
        widths[other] = width_of_both(held, terms, other, other)
        alive[small] = 0
        box[small] = other
        if held.sizes[other] < least:
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
