"""What the parts that a tree is cut into hold, and how wide they are: what joining them is weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import uncertainty
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.regions import Region, as_number
from aegis.candidates.boxes.terms import Terms
from aegis.candidates.boxes.tree import BoxColumn
from aegis.candidates.boxes.tuples import label_numbers
from aegis.candidates.boxes.walking import shown_values
from aegis.compiled import compiled
from aegis.data.domain import Domain

Words: TypeAlias = NDArray[np.uint64]

WORD = 64


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
