"""What is known about a joint: sums over groups of values, alone or with the label.

The paper's types of constraint are one thing here. A 1D histogram (type 1) has a group per value and a total per group;
counts of a masked attribute (type 2) or of ranges have fewer groups; a masked joint (type 3) has a total per group and
label. Groups of different constraints may cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from aegis.counts.joint import Counts, checked_counts
from aegis.errors import SummaryError
from aegis.masking.transition import Partition

Real = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Constraint:
    """Value a belongs to group ``codes[a]``; group g has ``targets[g]`` records, or ``targets[g, y]`` with label y.

    ``name`` says where it comes from ("histogram", "mask 3"): errors use it, and never a value.
    """

    name: str
    codes: NDArray[np.int64]
    targets: Real

    def __post_init__(self) -> None:
        codes = np.asarray(self.codes)
        if codes.ndim != 1 or codes.dtype.kind not in "iu" or not codes.size:
            raise SummaryError(f"{self.name} needs one whole group number for each value; write the summary again")
        targets = np.asarray(self.targets)
        if targets.ndim not in (1, 2):
            raise SummaryError(f"{self.name} needs one total per group, or one per group and label")
        targets = checked_counts(targets, targets.shape, what=self.name).astype(np.float64)
        if codes.min() < 0 or codes.max() >= len(targets):
            raise SummaryError(f"{self.name} puts values into groups that it gives no total for")
        empty = np.bincount(codes, minlength=len(targets)) == 0
        if targets[empty].any():
            lost = targets[empty].sum()
            raise SummaryError(f"{self.name} counts {lost:g} records in groups that no value belongs to")
        object.__setattr__(self, "codes", codes.astype(np.int64))
        object.__setattr__(self, "targets", targets)

    def __repr__(self) -> str:
        by = " by label" if self.by_label else ""
        return f"Constraint({self.name}: {len(self.codes)} values in {len(self.targets)} groups{by})"

    @classmethod
    def histogram(cls, counts: Counts) -> Constraint:
        """How often each value occurs."""
        return cls(name="histogram", codes=np.arange(len(counts)), targets=counts)

    @classmethod
    def joint(cls, counts: Counts) -> Constraint:
        """How often each value occurs with each label: everything there is to know."""
        return cls(name="joint", codes=np.arange(len(counts)), targets=counts)

    @classmethod
    def label(cls, counts: Counts, *, values: int) -> Constraint:
        """How often each label occurs."""
        return cls(name="label", codes=np.zeros(values, dtype=np.int64), targets=np.asarray(counts)[None, :])

    @classmethod
    def masked(cls, partition: Partition, counts: Counts, *, name: str = "mask") -> Constraint:
        """The counts of the masked attribute, alone (a vector) or with the label (a matrix)."""
        return cls(name=name, codes=partition.codes, targets=counts)

    @property
    def by_label(self) -> bool:
        return self.targets.ndim == 2

    @property
    def total(self) -> float:
        return float(self.targets.sum())

    @property
    def membership(self) -> csr_array:
        """Groups × values: multiplied from the left it sums counts over each group."""
        values = len(self.codes)
        ones = np.ones(values)
        return csr_array((ones, (self.codes, np.arange(values))), shape=(len(self.targets), values))

    def difference(self, counts: Real) -> Real:
        """How many records each group of ``counts`` (values × labels) has too many."""
        sums = self.membership @ counts
        return (sums if self.by_label else sums.sum(axis=1)) - self.targets


def shape_of(constraints: Sequence[Constraint], *, labels: int | None = None) -> tuple[int, int]:
    """Values and labels of the joint that all constraints are about."""
    if not constraints:
        raise SummaryError("a reconstruction needs at least one histogram or masked joint")
    values = len(constraints[0].codes)
    for constraint in constraints:
        if len(constraint.codes) != values:
            raise SummaryError(
                f"{constraint.name} is about {len(constraint.codes)} values and {constraints[0].name} about {values}; "
                "they must describe the same column"
            )
        if constraint.by_label:
            labels = labels or constraint.targets.shape[1]
            if constraint.targets.shape[1] != labels:
                raise SummaryError(
                    f"{constraint.name} has {constraint.targets.shape[1]} labels where others have {labels}; "
                    "they must describe the same label"
                )
    if labels is None:
        raise SummaryError("nothing given says how the label is distributed; give a masked joint or the label's counts")
    return values, labels


def check_consistent(constraints: Sequence[Constraint], *, tolerance_records: float = 1e-6) -> None:
    """Raise where two constraints contradict each other, with the size of the contradiction and their names.

    Two partitions agree on every set that both can express: the connected blocks of their overlapping groups. Where
    one refines the other these are the coarser groups; where nothing else, the whole table.
    """
    for constraint, other in combinations(constraints, 2):
        edges = csr_array(
            (np.ones(len(constraint.codes)), (constraint.codes, len(constraint.targets) + other.codes)),
            shape=(len(constraint.targets) + len(other.targets),) * 2,
        )
        blocks, block = connected_components(edges, directed=False)
        first, second = constraint.targets, other.targets
        if not (constraint.by_label and other.by_label):
            first, second = _totals(constraint), _totals(other)
        gap = _summed(first, block[: len(first)], blocks) - _summed(second, block[len(constraint.targets) :], blocks)
        allowed = tolerance_records + 1e-9 * max(constraint.total, other.total)
        largest = float(np.abs(gap).max())
        if largest > allowed:
            where = _where(constraint, other, gap, allowed)
            raise SummaryError(
                f"{constraint.name} and {other.name} contradict each other by {largest:g} records{where}; "
                "they cannot come from the same table: count them again together"
            )


def _totals(constraint: Constraint) -> Real:
    return constraint.targets.sum(axis=1) if constraint.by_label else constraint.targets


def _summed(targets: Real, block: NDArray[np.int32], blocks: int) -> Real:
    summed = np.zeros((blocks, *targets.shape[1:]))
    np.add.at(summed, block, targets)
    return summed


def _where(first: Constraint, second: Constraint, gap: Real, allowed: float) -> str:
    if abs(first.total - second.total) > allowed:
        return f" ({first.total:g} records in all against {second.total:g})"
    wrong = int((np.abs(gap) > allowed).sum())
    return f" in one of {wrong} places" if wrong > 1 else " in one place"
