"""The classes of one node: their tuples, how often each label is in them, which sensitive values they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.candidates.search.rollup import Codes, Words, roll
from aegis.counts.class_table import ClassTable
from aegis.errors import LabelError, MeasureError
from aegis.masking.transition import Partition

_ROOM = 2**62


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
