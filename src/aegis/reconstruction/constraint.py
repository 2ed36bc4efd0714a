"""What is known about a joint: sums over groups of values, alone or with the label; and which cells it leaves room in.

The paper's types of constraint are one thing here. A 1D histogram (type 1) has a group per value and a total per group;
counts of a masked attribute (type 2) or of ranges have fewer groups; a masked joint (type 3) has a total per group and
label. Groups of different constraints may cross.

Two crossing groups may leave no room for a cell although no target is zero: with 5 records in {a} and 5 in {a, b},
there is none in b. Proportional fitting approaches such a zero ever more slowly; one linear program finds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from aegis.arrays import Flags, Floats, Ints
from aegis.counts.joint import Counts, checked_counts
from aegis.errors import SummaryError
from aegis.masking.transition import Partition

CELLS_FOR_A_LINEAR_PROGRAM = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Constraint:
    """Value a belongs to group ``codes[a]``; group g has ``targets[g]`` records, or ``targets[g, y]`` with label y.

    ``name`` says where it comes from ("histogram", "mask 3"): errors use it, and never a value.
    """

    name: str
    codes: Ints
    targets: Floats

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

    def difference(self, counts: Floats) -> Floats:
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


def _totals(constraint: Constraint) -> Floats:
    return constraint.targets.sum(axis=1) if constraint.by_label else constraint.targets


def _summed(targets: Floats, block: NDArray[np.int32], blocks: int) -> Floats:
    summed = np.zeros((blocks, *targets.shape[1:]))
    np.add.at(summed, block, targets)
    return summed


def _where(first: Constraint, second: Constraint, gap: Floats, allowed: float) -> str:
    if abs(first.total - second.total) > allowed:
        return f" ({first.total:g} records in all against {second.total:g})"
    wrong = int((np.abs(gap) > allowed).sum())
    return f" in one of {wrong} places" if wrong > 1 else " in one place"


def equations(constraints: Sequence[Constraint], labels: int) -> tuple[csr_array, Floats]:
    """All constraints as one system over the cells, values major and labels minor."""
    blocks, targets = [], []
    for constraint in constraints:
        values = len(constraint.codes)
        if constraint.by_label:
            rows = constraint.codes[:, None] * labels + np.arange(labels)
        else:
            rows = np.repeat(constraint.codes[:, None], labels, axis=1)
        height = constraint.targets.size
        ones = np.ones(values * labels)
        blocks.append(csr_array((ones, (rows.ravel(), np.arange(values * labels))), shape=(height, values * labels)))
        targets.append(constraint.targets.ravel())
    return csr_array(vstack(blocks)), np.concatenate(targets)


def possible_cells(constraints: Sequence[Constraint], allowed: Flags) -> Flags | None:
    """Where a joint that satisfies every constraint, zero outside ``allowed``, can have records.

    None where the table is too large to ask. Raises where no joint satisfies them all, with the smallest number of
    records that would have to be ignored.
    """
    from scipy.optimize import linprog  # takes long to import, and few fits need it

    if allowed.size > CELLS_FOR_A_LINEAR_PROGRAM:
        return None
    A, b = equations(constraints, allowed.shape[1])
    cells = allowed.size
    # Scale the joint up until each cell that can be positive reaches 1: the cells that stay below are forced to zero.
    scaled = hstack([A, csr_array(A.shape), csr_array(-b[:, None])])
    eye = eye_array(cells)
    reached = block_array([[-eye, eye, csr_array((cells, 1))]])
    open_cells = allowed.ravel().astype(np.float64)
    upper = np.concatenate([np.where(open_cells > 0, np.inf, 0.0), open_cells, [np.inf]])
    lower = np.concatenate([np.zeros(2 * cells), [1.0]])
    solved = linprog(
        np.concatenate([np.zeros(cells), -np.ones(cells), [0.0]]),
        A_ub=reached,
        b_ub=np.zeros(cells),
        A_eq=scaled,
        b_eq=np.zeros(len(b)),
        bounds=np.column_stack([lower, upper]),
        method="highs",
    )
    if solved.status == 2:
        raise SummaryError(_infeasible(constraints, A, b, open_cells))
    if solved.status != 0:
        return None
    return np.asarray(solved.x[cells : 2 * cells] > 0.5).reshape(allowed.shape)


def _infeasible(constraints: Sequence[Constraint], A: csr_array, b: Floats, open_cells: Floats) -> str:
    """Say how many records have to be ignored at least, and in which constraint most of them lie."""
    from scipy.optimize import linprog  # as above

    eye = eye_array(len(b))
    cost = np.concatenate([np.zeros(A.shape[1]), np.ones(2 * len(b))])
    upper = np.concatenate([np.where(open_cells > 0, np.inf, 0.0), np.full(2 * len(b), np.inf)])
    solved = linprog(
        cost, A_eq=hstack([A, eye, -eye]), b_eq=b, bounds=np.column_stack([np.zeros(len(cost)), upper]), method="highs"
    )
    slack = solved.x[A.shape[1] :].reshape(2, -1).sum(axis=0)
    ends = np.cumsum([constraint.targets.size for constraint in constraints])
    by_constraint = [part.sum() for part in np.split(slack, ends[:-1])]
    worst = constraints[int(np.argmax(by_constraint))].name
    return (
        f"no joint satisfies all constraints: at least {slack.sum():.3g} records would have to be ignored, "
        f"most of them in {worst}; the counts cannot come from the same table"
    )
