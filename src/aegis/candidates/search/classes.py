"""The classes of one node: their tuples, how often each label is in them, which sensitive values they hold.

The classes of a coarser node are made from those of any finer one, never from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Flags, Ints
from aegis.compiled import compiled
from aegis.counts.class_table import ClassTable
from aegis.errors import LabelError, MeasureError
from aegis.masking.transition import Partition

Words = NDArray[np.uint64]
Codes = NDArray[np.int32]

EMPTY = np.int32(-1)
_ROOM = 2**62


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
def mark_failing(labels: Ints, marks: Words, least: int, ends: Ints, wanted: Ints) -> tuple[Flags, Ints]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Classes:
    """One row per class: its tuple, its label counts, the sensitive values it holds as bits."""

    codes: Codes
    keys: Ints
    labels: Ints
    marks: Words

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Steps:
    """How codes of every column go from each level to each coarser one, and their places in the key of a row."""

    word: Ints
    stride: Ints
    maps: Ints
    starts: Ints  # [column, from level, to level]
    tops: tuple[int, ...]

    @classmethod
    def of(cls, chains: Sequence[Sequence[Partition]]) -> Steps:
        """From the nested partitions of each column, finest (the raw values) first."""
        sizes = [max(len(chain[0].codes), 1) for chain in chains]
        word, stride = np.zeros(len(chains), dtype=np.int64), np.ones(len(chains), dtype=np.int64)
        current, room = 0, 1
        for column, size in enumerate(sizes):
            if room > _ROOM // size:
                current, room = current + 1, 1
            word[column], stride[column] = current, room
            room *= size
        deepest = max(len(chain) for chain in chains)
        starts = np.zeros((len(chains), deepest, deepest), dtype=np.int64)
        pieces, length = [], 0
        for column, chain in enumerate(chains):
            for fine in range(len(chain)):
                for coarse in range(fine, len(chain)):
                    step = np.zeros(chain[fine].target.size, dtype=np.int64)
                    step[chain[fine].codes] = chain[coarse].codes
                    starts[column, fine, coarse] = length
                    pieces.append(step)
                    length += len(step)
        return cls(
            word=word,
            stride=stride,
            maps=np.concatenate(pieces),
            starts=starts,
            tops=tuple(len(chain) - 1 for chain in chains),
        )

    def climb(self, classes: Classes, levels: Sequence[int], goal: Sequence[int]) -> Classes:
        """The classes at the levels ``goal``, none of them finer than ``levels``, at which the classes stand."""
        changed = [c for c, (now, then) in enumerate(zip(levels, goal, strict=True)) if now != then]
        if not changed:
            return classes
        starts = np.array([self.starts[c, levels[c], goal[c]] for c in changed])
        return self.replaced(classes, np.array(changed), starts, self.maps)[0]

    def replaced(self, classes: Classes, changed: Ints, starts: Ints, maps: Ints) -> tuple[Classes, Codes]:
        """The classes with other codes in the columns changed, and the new class of each old one."""
        codes, keys, labels, marks, owner = roll(
            classes.codes, classes.keys, classes.labels, classes.marks, changed, starts, maps, self.word, self.stride
        )
        return Classes(codes=codes, keys=keys, labels=labels, marks=marks), owner

    def base(self, table: ClassTable, *, label: str, marked: Sequence[str]) -> Classes:
        """The raw classes of a table; ``marked`` are the attributes whose values are kept as bits."""
        keys = np.zeros((table.classes, int(self.word[-1]) + 1), dtype=np.int64)
        for column, (word, stride) in enumerate(zip(self.word, self.stride, strict=True)):
            keys[:, word] += table.codes[:, column] * stride
        return Classes(
            codes=np.ascontiguousarray(table.codes, dtype=np.int32),
            keys=keys,
            labels=label_counts(table, label),
            marks=_marks(table, marked),
        )


def label_counts(table: ClassTable, label: str) -> Ints:
    """How often each label is in each class."""
    if label not in table.contents:
        raise LabelError(f"the label {label!r} was not counted with the classes; count it with them")
    return table.contents[label].dense()


def released_labels(released: ClassTable, label: str, totals: Ints) -> Ints:
    """How often each label is in each class of a release; what is not published counts as one class more."""
    labels = label_counts(released, label)
    missing = totals - labels.sum(axis=0)
    return np.concatenate([labels, missing[None, :]]) if missing.any() else labels


def mark_ends(table: ClassTable, marked: Sequence[str]) -> Ints:
    """Where the words of each marked attribute end, a zero before them."""
    words = [-(-table.contents[name].domain.size // 64) for name in marked]
    return np.concatenate([[0], np.cumsum(words)]).astype(np.int64)


def _marks(table: ClassTable, marked: Sequence[str]) -> Words:
    for name in marked:
        if name not in table.contents:
            raise MeasureError(f"the attribute {name!r} was not counted with the classes; count it with them")
    ends = mark_ends(table, marked)
    marks = np.zeros((table.classes, int(ends[-1])), dtype=np.uint64)
    for name, start in zip(marked, ends, strict=False):
        content = table.contents[name]
        bits: NDArray[np.uint64] = np.uint64(1) << (content.values % 64).astype(np.uint64)
        np.bitwise_or.at(marks, (content.owners, start + content.values // 64), bits)
    return marks
