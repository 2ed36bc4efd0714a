"""Which parts of a tree are published together as one box: what they hold, how wide they are, and which are joined.

A tree cuts one column at a time, so that what a box of k records holds depends on where its last cuts happened to fall.
Parts of a few records follow the label more closely, and parts that tell the same of it are found in other branches
too: they are joined, the smallest first, with the part that makes the labels and the widths together least uncertain
and least wide, until every box has as many records as it needs, and further as long as two boxes tell so little apart
that models know them better together. What is published of a box is the interval or set
that holds all of its parts, so that boxes may overlap; their widths count here as they do for a cut (`gains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import uncertainty
from aegis.candidates.boxes.recoding import Boxes, shown_values
from aegis.candidates.boxes.terms import Terms
from aegis.candidates.boxes.tree import BoxColumn, Region, as_number
from aegis.candidates.boxes.tuples import label_numbers
from aegis.compiled import NONE_YET, compiled
from aegis.data.domain import Domain

Words: TypeAlias = NDArray[np.uint64]

WORD = 64
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


class Parts(NamedTuple):
    """Of each part its records and labels, the lowest and highest code of each ordered column, and the codes of others.

    ``sets`` has a bit for each code, of an ordered column one for missing values; the bits of a column begin at
    ``first_words``. Where an ordered column has nothing but missing values, its lowest code is above its highest.
    """

    sizes: Ints
    labels: Floats
    lows: Ints
    highs: Ints
    sets: Words
    first_words: Ints


@compiled
def parts_of(columns: Ints, sizes: Ints, labels: Floats, terms: Terms, part_of: Ints, parts: int) -> Parts:
    """What parts hold, ``part_of`` being the part of each tuple."""
    first_words = np.zeros(len(columns) + 1, dtype=np.int64)
    for column in range(len(columns)):
        words = 1 if terms.ordered[column] == 1 else (terms.domains[column] + WORD - 1) // WORD
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
                    held.sets[part, first_words[column]] = np.uint64(1)
            else:
                held.sets[part, first_words[column] + code // WORD] |= np.uint64(1) << np.uint64(code % WORD)
    return held


def published_parts(held: Parts, boxes: Boxes, domains: Sequence[Domain]) -> Parts:
    """The same parts with the codes that lie in what is published of them, where ``boxes`` has a leaf for each."""
    lows, highs, sets = np.empty_like(held.lows), np.empty_like(held.highs), np.empty_like(held.sets)
    known: dict[int, tuple[int, int, Words]] = {}  # a region is one object in all boxes below the cut that made it
    for part, regions in enumerate(boxes.regions):
        for at, (region, column, domain) in enumerate(zip(regions, boxes.columns, domains, strict=True)):
            begin, end = held.first_words[at : at + 2]
            if id(region) not in known:
                known[id(region)] = codes_within(region, column, domain, int(end - begin))
            lows[part, at], highs[part, at], sets[part, begin:end] = known[id(region)]
    return held._replace(lows=lows, highs=highs, sets=sets)


def codes_within(region: Region, column: BoxColumn, domain: Domain, words: int) -> tuple[int, int, Words]:
    """The lowest and highest code of a region and its bits, as `Parts` has them.

    >>> from aegis.data.kind import Kind
    >>> age = Domain.of(Kind.INTEGER, [20, 30, 40])
    >>> codes_within(Region(high=35.0, missing=False), BoxColumn(name="age", kind=Kind.INTEGER), age, 1)[:2]
    (0, 1)
    """
    bits = np.zeros(words, dtype=np.uint64)
    if region.values is not None:
        held = set(region.values)
        for code in (code for code, value in enumerate(shown_values(domain)) if value in held):
            bits[code // WORD] |= np.uint64(1) << np.uint64(code % WORD)
        return 0, 0, bits
    bits[0] = np.uint64(region.missing)
    if not region.present:
        return np.iinfo(np.int64).max, -1, bits
    numbers = label_numbers(domain)
    low = 0 if region.low is None else int(np.searchsorted(numbers, as_number(region.low)))
    high = len(numbers) if region.high is None else int(np.searchsorted(numbers, as_number(region.high)))
    return low, high - 1, bits


@compiled
def bits_set(word: np.uint64) -> int:
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
                codes += bits_set(held.sets[first, word] | held.sets[second, word])
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


def mean_width(held: Parts, terms: Terms) -> float:
    """How much of a column's values boxes take up, on average over columns and records."""
    return cost_of_parts(held, terms._replace(weight=0.0))


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
