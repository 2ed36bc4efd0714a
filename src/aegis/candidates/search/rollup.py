"""Merging classes: the classes of a coarser node are made from those of any finer one, never from the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.compiled import compiled

Words = NDArray[np.uint64]
Codes = NDArray[np.int32]

EMPTY = np.int32(-1)


@compiled
def roll(
    codes: Codes,
    keys: Ints,
    labels: Ints,
    marks: Words,
    changed: Ints,
    starts: Ints,
    maps: Ints,
    word: Ints,
    stride: Ints,
) -> tuple[Codes, Ints, Ints, Words, Codes]:
    """Replace the codes of some columns and merge the rows that became equal.

    The new code of ``old`` in column ``changed[c]`` is ``maps[starts[c] + old]``. A row's key holds its codes as digits
    of mixed radix, in one word or several: column c counts ``stride[c]`` in ``word[c]``. Label counts are added, marks
    (sets of sensitive values, as bits) united. Classes are in the order of their
    first row; the last answer is the class of each row.
    """
    rows, columns = codes.shape
    words = keys.shape[1]
    kinds = labels.shape[1]
    sets = marks.shape[1]
    room = 16
    while room < 2 * rows:
        room *= 2
    slots = np.full(room, EMPTY, dtype=np.int32)
    new_keys = np.empty((rows, words), dtype=np.int64)
    first = np.empty(rows, dtype=np.int32)
    owner = np.empty(rows, dtype=np.int32)
    new_labels = np.empty((rows, kinds), dtype=np.int64)
    new_marks = np.empty((rows, sets), dtype=np.uint64)
    key = np.empty(words, dtype=np.int64)
    filled = 0
    for row in range(rows):
        for w in range(words):
            key[w] = keys[row, w]
        for c in range(len(changed)):
            column = changed[c]
            old = codes[row, column]
            key[word[column]] += (maps[starts[c] + old] - old) * stride[column]
        mixed = np.uint64(0)
        for w in range(words):
            mixed = (mixed ^ np.uint64(key[w])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        place = np.int64(mixed & np.uint64(room - 1))
        while True:
            occupant = slots[place]
            if occupant == EMPTY:
                slots[place] = filled
                first[filled] = row
                owner[row] = filled
                for w in range(words):
                    new_keys[filled, w] = key[w]
                for y in range(kinds):
                    new_labels[filled, y] = labels[row, y]
                for s in range(sets):
                    new_marks[filled, s] = marks[row, s]
                filled += 1
                break
            same = True
            for w in range(words):
                if new_keys[occupant, w] != key[w]:
                    same = False
                    break
            if same:
                owner[row] = occupant
                for y in range(kinds):
                    new_labels[occupant, y] += labels[row, y]
                for s in range(sets):
                    new_marks[occupant, s] |= marks[row, s]
                break
            place = (place + 1) & (room - 1)
    new_codes = np.empty((filled, columns), dtype=np.int32)
    for i in range(filled):
        for c in range(columns):
            new_codes[i, c] = codes[first[i], c]
        for c in range(len(changed)):
            new_codes[i, changed[c]] = maps[starts[c] + new_codes[i, changed[c]]]
    return new_codes, new_keys[:filled].copy(), new_labels[:filled].copy(), new_marks[:filled].copy(), owner


@compiled
def bits_set(mark: np.uint64) -> int:
    """How many bits of a word are set."""
    count = 0
    while mark != np.uint64(0):
        mark &= mark - np.uint64(1)
        count += 1
    return count


@compiled
def mark_failing(labels: Ints, marks: Words, least: int, ends: Ints, wanted: Ints) -> tuple[NDArray[np.bool_], Ints]:
    """Which classes have fewer than ``least`` records, or too few different values of some attribute.

    Attribute a is marked in the words from ``ends[a]`` to ``ends[a + 1]`` and needs ``wanted[a]`` different values.
    Also the size of each class.
    """
    classes, kinds = labels.shape
    failing = np.zeros(classes, dtype=np.bool_)
    sizes = np.zeros(classes, dtype=np.int64)
    for i in range(classes):
        size = 0
        for y in range(kinds):
            size += labels[i, y]
        sizes[i] = size
        if size < least:
            failing[i] = True
            continue
        for a in range(len(wanted)):
            different = 0
            for w in range(ends[a], ends[a + 1]):
                different += bits_set(marks[i, w])
            if different < wanted[a]:
                failing[i] = True
                break
    return failing, sizes
