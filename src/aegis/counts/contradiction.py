"""Two groupings of one column's values, each with its counts: can they come from the same rows?

Groups of two partitions that share a value hang together; the sets that hang together, *blocks*, are what both can
count, and there they must agree. Where one partition refines the other the blocks are the coarser groups. Agreement
with a partition implies agreement with all it refines, so each one is compared with those only that nothing refines:
a handful, however many masks there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.errors import SummaryError
from aegis.masking.partition import Partition

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Told:
    """Value a is in group ``codes[a]``, which has ``counts[group]`` records, in all or with each label."""

    what: str
    codes: NDArray[np.int64]
    counts: Counts

    @property
    def groups(self) -> int:
        return len(self.counts)

    def by(self, label: Partition) -> Told:
        """The same by a coarser label."""
        return replace(self, counts=label.push(self.counts, axis=1))

    def in_all(self) -> Told:
        """The same without the label."""
        return replace(self, counts=self.counts.sum(axis=1))


def check_told(told: Sequence[Told], attribute: str) -> None:
    """Raise where two of these contradict each other, with their names and by how much, and without a value."""
    if len({len(one.codes) for one in told}) > 1:
        raise SummaryError(f"the masks of {attribute!r} are not of the same values; write the summary again")
    finest: list[Told] = []
    for one in sorted(told, key=lambda one: -one.groups):
        finer = next((other for other in finest if _refines(other, one)), None)
        if finer is not None:
            groups = np.zeros(finer.groups, dtype=np.int64)
            groups[finer.codes] = one.codes
            _compare(one, finer, np.arange(one.groups), groups, one.groups, attribute)
            continue
        for other in finest:
            blocks, ours, theirs = _blocks(one, other)
            _compare(one, other, ours, theirs, blocks, attribute)
        finest.append(one)


def _refines(fine: Told, coarse: Told) -> bool:
    group = np.zeros(fine.groups, dtype=np.int64)
    group[fine.codes] = coarse.codes
    return bool((group[fine.codes] == coarse.codes).all())


def _blocks(one: Told, other: Told) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """How many blocks there are, and the block of each group of either side."""
    from scipy.sparse import coo_array  # slow to import, and most summaries need no blocks
    from scipy.sparse.csgraph import connected_components

    size = one.groups + other.groups
    edges = coo_array((np.ones(len(one.codes)), (one.codes, one.groups + other.codes)), shape=(size, size))
    blocks, block = connected_components(edges.tocsr(), directed=False)
    return int(blocks), block[: one.groups], block[one.groups :]


def _compare(
    one: Told, other: Told, ours: NDArray[np.integer], theirs: NDArray[np.integer], blocks: int, attribute: str
) -> None:
    gap = np.abs(_summed(one.counts, ours, blocks) - _summed(other.counts, theirs, blocks))
    allowed = _TOLERANCE * max(1.0, float(one.counts.max(initial=0)))
    apart, places = float(gap.max(initial=0.0)), int((gap > allowed).sum())
    if places:
        records = f"{apart:g} record{'' if apart == 1 else 's'}"
        raise SummaryError(
            f"two counts of {attribute!r} contradict each other, {other.what} and {one.what}: by up to {records} in "
            f"{places} place{'' if places == 1 else 's'}; they are not of the same rows, write the summary again"
        )


def _summed(counts: Counts, block: NDArray[np.integer], blocks: int) -> NDArray[np.float64]:
    summed = np.zeros((blocks, *counts.shape[1:]))
    np.add.at(summed, block, counts)
    return summed
