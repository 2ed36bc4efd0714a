"""Records of which an adversary is nearly sure without a release: the program is told not to make them certain.

A cap on posteriors over cells is a cap on averages: a cell holds records that an adversary tells apart, and some of
them lie closer to certainty than their cell. What a gate refuses afterwards, more records determined than a share of
them, is therefore asked of the program too, record by record. The surest records, up to a part of that share, are let
go; of the others the surest for each value, and for each value that comes second, stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints

_MOST = 40  # records that stand for all, of one adversary and one column


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NearlySure:
    """What an adversary believes of some record before the release, and which values are not to become certain of it.

    ``values`` marks one value, or those that share a column's value; ``shares`` is the adversary's prior.
    """

    values: Floats
    shares: Floats


def nearly_sure(
    priors: Sequence[Floats], codes: Ints, partitions: Sequence[Ints], *, undecided: float, share: float, of_set: float
) -> tuple[NearlySure, ...]:
    """The records that must not become certain, for all adversaries.

    ``priors`` is what each adversary believes of each record, one row each, and ``codes`` their values. A partition
    gives every value the number of its set: itself, or the value of one column of a tuple. Records believed with
    ``undecided`` or more are certain already. The surest of the others are let go, at most ``share`` of all records and
    ``of_set`` of those in one set.
    """
    rows = []
    for prior in priors:
        for partition in partitions:
            sets = np.eye(int(partition.max()) + 1)[partition].T  # one row of zeros and ones for each set
            by_set = prior @ sets.T
            own_set = partition[codes]
            belief = by_set[np.arange(len(codes)), own_set]
            open_ones = np.flatnonzero(belief < undecided)
            order = open_ones[np.argsort(-belief[open_ones], kind="stable")]
            order = order[~_let_go(own_set[order], own_set, share=share, of_set=of_set)]
            second = by_set.copy()
            second[np.arange(len(codes)), own_set] = -1.0
            pairs = np.column_stack([own_set[order], second[order].argmax(axis=1)])
            first = np.unique(pairs, axis=0, return_index=True)[1]
            for place in np.sort(first)[:_MOST]:
                record = order[place]
                rows.append(NearlySure(values=sets[own_set[record]], shares=prior[record]))
    return tuple(rows)


def _let_go(ordered: Ints, all_sets: Ints, *, share: float, of_set: float) -> NDArray[np.bool_]:
    """Which of the records, surest first, may become certain; ``ordered`` and ``all_sets`` are their sets' numbers."""
    left = int(share * len(all_sets))
    left_of_set = (of_set * np.bincount(all_sets)).astype(np.int64)
    gone = np.zeros(len(ordered), dtype=bool)
    for place, number in enumerate(ordered):
        if left == 0:
            break
        if left_of_set[number] > 0:
            gone[place] = True
            left, left_of_set[number] = left - 1, left_of_set[number] - 1
    return gone
