"""The joint of an attribute with the label, rebuilt from masked joints: what a ranking compares with.

`pooled` fits one joint to everything that is known. All configurations together say more than each alone: two masks
that cut a column at different places bound what lies between the cuts, so the fit is the same for every configuration
and its measure does not flatter any of them.

`per_configuration` is the paper's reference, and `sample` its baseline: each configuration rebuilds the joint from its
own masked joint alone. Kept for fidelity. With one deterministic mask the fit has a closed form in which every value of
a group has the group's distribution of the label, so most measures are the same before and after, and the deviation is
zero for every configuration. The theory pages prove it; what the paper ranks by is its rounding.

Rounding adds information that is not there: a row that is a fraction of a record in each label becomes a record in one.
A reference that is compared with a masked joint should stay fractional; `randomised` and `systematic` are for tables
that people read, and for fidelity to the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.counts.joint import Counts, divisor
from aegis.errors import SummaryError
from aegis.masking.transition import Partition
from aegis.reconstruction.constraint import Constraint, check_consistent
from aegis.reconstruction.ipf import SOLVED_DIRECTLY, Fit, fit

Whole = Ints
_CLOSE = 1e-9  # to a whole number


def pooled(
    masked: Mapping[str, tuple[Partition, Counts]],
    *,
    histogram: Counts | None = None,
    further: Sequence[Constraint] = (),
) -> Fit:
    """The maximum-entropy joint that has every masked joint, and the histogram where there is one.

    ``masked`` holds for each mask, by name, which values it merges and its joint with the label; ``further`` anything
    else, such as a histogram of ranges that cross the masks' groups. Masks that say the same are used once.
    """
    constraints = [] if histogram is None else [Constraint.histogram(histogram)]
    seen: set[tuple[bytes, bytes]] = set()
    for name, (partition, counts) in masked.items():
        constraint = Constraint.masked(partition, counts, name=name)
        key = (constraint.codes.tobytes(), constraint.targets.tobytes())
        if key not in seen:
            seen.add(key)
            constraints.append(constraint)
    return fit([*constraints, *further])


class Start(StrEnum):
    """Where a reconstruction begins, and with that which paper it follows."""

    UNIFORM = "uniform"  # the paper: equal cells, fitted to the histogram and the masked joint
    MASKED = "masked"  # the draft, case 1: the masked joint's rows, fitted to the histogram and the label's counts
    EQUALISED = "equalised"  # the draft, case 3: cells as equal as rows and columns allow, which is independence


def per_configuration(
    partition: Partition, masked: Counts, *, histogram: Counts | None = None, start: Start | str = Start.UNIFORM
) -> Fit:
    """Reconstruct from one mask by proportional fitting, with the 1D histogram (case I) or without (case II).

    >>> from aegis.data.domain import Domain
    >>> from aegis.data.kind import Kind
    >>> halves = Partition(codes=np.array([0, 0, 1]), target=Domain.of(Kind.TEXT, ["old", "young"]))
    >>> per_configuration(halves, np.array([[6, 10], [4, 0]]), histogram=np.array([4, 12, 4])).counts.tolist()
    [[1.5, 2.5], [4.5, 7.5], [4.0, 0.0]]
    """
    if start not in set(Start):
        raise SummaryError(f"there is no start called {start!r} (known: {', '.join(Start)})")
    mask = Constraint.masked(partition, masked)
    values = len(partition.codes)
    if start == Start.UNIFORM:
        constraints = [mask] if histogram is None else [Constraint.histogram(histogram), mask]
        return fit(constraints, plain=True)
    rows = Constraint.histogram(_equal_rows(mask) if histogram is None else histogram)
    label = Constraint.label(mask.targets.sum(axis=0), values=values)
    begin = mask.targets[mask.codes] if start == Start.MASKED else np.ones((values, mask.targets.shape[1]))
    return fit([rows, label], start=begin, plain=True)


def closed_form(partition: Partition, masked: Counts, *, histogram: Counts | None = None) -> Fit:
    """The same as `per_configuration` from a uniform start, without iterating: f(a) · f(M(a), y) / f(M(a)).

    The histogram must agree with the masked joint; a fit says where it does not, this does so by fitting.
    """
    mask = Constraint.masked(partition, masked)
    groups = mask.targets.sum(axis=1)
    rows = _equal_rows(mask) if histogram is None else np.asarray(histogram, dtype=np.float64)
    if rows.shape != mask.codes.shape or not np.allclose(mask.membership @ rows, groups, rtol=1e-9, atol=1e-6):
        return per_configuration(partition, masked, histogram=histogram)
    shares = mask.targets / divisor(groups)[:, None]
    return Fit(counts=rows[:, None] * shares[mask.codes], diagnosis=SOLVED_DIRECTLY)


def _equal_rows(mask: Constraint) -> Floats:
    """Without a histogram the values of a group are taken to be equally frequent."""
    return (mask.targets.sum(axis=1) / np.maximum(np.bincount(mask.codes, minlength=len(mask.targets)), 1))[mask.codes]


def sample(
    partition: Partition,
    masked: Counts,
    *,
    rng: np.random.Generator,
    histogram: Counts | None = None,
    joint: Counts | None = None,
) -> Fit:
    """One draw of the joint behind a masked joint: a value for every record among those that its group stands for.

    With a ``histogram`` a record of a group gets a value by how often the group's values occur, and keeps its label;
    without, each value is equally likely. With the original ``joint`` value and label are drawn together, as in the
    paper, whose labels come from the sampled records: the masked joint's labels then hold on average only.
    """
    mask = Constraint.masked(partition, masked)
    if not np.allclose(mask.targets, np.rint(mask.targets)):
        raise SummaryError("sampling needs whole counts; round the masked joint first")
    values, labels = len(mask.codes), mask.targets.shape[1]
    source = joint if joint is not None else histogram
    if source is not None:
        check_consistent([Constraint.histogram(np.asarray(source).reshape(values, -1).sum(axis=1)), mask])
    drawn = np.zeros((values, labels))
    for group in range(len(mask.targets)):
        members = np.flatnonzero(mask.codes == group)
        records = np.rint(mask.targets[group]).astype(np.int64)
        if not len(members) or not records.sum():
            continue
        if joint is not None:
            weights = np.asarray(joint, dtype=np.float64)[members]
            drawn[members] = rng.multinomial(records.sum(), _shares(weights.ravel())).reshape(weights.shape)
        else:
            weights = np.ones(len(members)) if histogram is None else np.asarray(histogram, dtype=np.float64)[members]
            drawn[members] = rng.multinomial(records, _shares(weights)).T
    return Fit(counts=drawn, diagnosis=SOLVED_DIRECTLY)


def _shares(weights: Floats) -> Floats:
    return weights / weights.sum()


def randomised(counts: Floats, *, rng: np.random.Generator) -> Whole:
    """The paper's rounding: each cell goes up with the probability of its fraction, on its own. The total moves."""
    floor, fraction = _parts(counts)
    return floor + (rng.random(counts.shape) < fraction)


def systematic(counts: Floats, *, rng: np.random.Generator) -> Whole:
    """Unbiased rounding that keeps the total, and each row's sum within one record.

    One random number decides: the running total of the cells goes up by a record wherever it passes that offset. A
    total that is not whole goes up with the probability of its fraction.

    >>> systematic(np.full((2, 4), 0.5), rng=np.random.default_rng(0)).sum(axis=1).tolist()
    [2, 2]
    """
    floor, fraction = _parts(counts)
    ladder = np.cumsum(fraction.ravel())
    whole = np.rint(ladder)
    ladder = np.where(np.abs(ladder - whole) < 1e-7, whole, ladder)  # a sum of thirds is a whole number
    steps = np.floor(ladder + rng.random())
    return floor + np.diff(steps, prepend=0.0).astype(np.int64).reshape(counts.shape)


def _parts(counts: Floats) -> tuple[Whole, Floats]:
    """Whole part and fraction; what is whole up to rounding noise counts as whole."""
    near = np.rint(counts)
    counts = np.where(np.abs(counts - near) < _CLOSE, near, counts)
    floor = np.floor(counts)
    return floor.astype(np.int64), counts - floor
