"""Two attributes together and the label: what single attributes cannot show, from sparse pair counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.errors import SummaryError
from aegis.utility.leave_one_out import leave_one_out_information
from aegis.utility.measure import Counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairCounts:
    """How often each pair of values that occurs does so with each label.

    Row i says: values ``first[i]`` and ``second[i]`` (codes of their domains) occurred ``counts[i, y]`` times with
    label y. Pairs that never occur have no row.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: Counts

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or not (len(self.first) == len(self.second) == len(self.counts)):
            raise SummaryError("pair counts need one row of label counts for each pair of codes; write them again")
        if len(self.counts) and (min(self.first.min(), self.second.min()) < 0 or self.counts.min() < 0):
            raise SummaryError("pair counts hold negative codes or counts; write them again")

    def __repr__(self) -> str:
        return f"PairCounts({len(self.first)} pairs, {self.counts.shape[1]} labels)"

    @property
    def sizes(self) -> Counts:
        """How often each pair occurs, whatever the label."""
        return self.counts.sum(axis=1)

    def merged(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> PairCounts:
        """The pairs after masking: value a of the first attribute becomes ``first[a]``, b of the second ``second[b]``.

        >>> pair = PairCounts(first=np.array([0, 1]), second=np.array([0, 0]), counts=np.array([[1, 0], [2, 3]]))
        >>> pair.merged(np.array([0, 0]), np.array([0])).counts.tolist()
        [[3, 3]]
        """
        if not len(self.first):
            return self
        if self.first.max() >= len(first) or self.second.max() >= len(second):
            raise SummaryError("pair counts hold codes that the masks do not know; count the pairs and masks together")
        left, right = first[self.first], second[self.second]
        width = int(right.max()) + 1
        keys, groups = np.unique(left * width + right, return_inverse=True)
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(len(keys)))
        return PairCounts(
            first=keys // width, second=keys % width, counts=np.add.reduceat(self.counts[order], starts, axis=0)
        )


def pair_information(pair: PairCounts) -> float:
    """Leave-one-out bits that two values together tell about the label; below each alone when pairs are too rare.

    An exclusive or is invisible to each attribute and plain to the pair:

    >>> xor = np.array([[20, 0], [0, 20], [0, 20], [20, 0]])
    >>> pair = PairCounts(first=np.array([0, 0, 1, 1]), second=np.array([0, 1, 0, 1]), counts=xor)
    >>> round(pair_information(pair), 2)
    0.93
    """
    return float(leave_one_out_information(pair.counts))


def mean_pair_information(pairs: Iterable[PairCounts]) -> float:
    """The mean of `pair_information`: one score for a configuration from its masked pairs; 0 without pairs."""
    values = [pair_information(pair) for pair in pairs]
    return float(np.mean(values)) if values else 0.0
