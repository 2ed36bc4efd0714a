"""Differentially private counts: OpenDP draws the noise, before anything is made of the counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aegis.counts.joint import Counted, Counts, Histogram, Joint
from aegis.counts.protection import Protection
from aegis.errors import MissingExtraError, SummaryError


def add_noise(counted: Counted, epsilon: float) -> tuple[Counted, Protection]:
    """Counts in which no single record shows: each attribute's joint with the label gets its share of the budget.

    Two tables that differ in one record differ by one in one cell of each joint, so the joints together cost
    ``epsilon``. Whatever is made of the counts afterwards, masks that read edges off them included, costs nothing more.
    The label's own counts are the mean of what the joints say, and every joint is moved to the nearest one that agrees
    with them and has no negative counts: setting negative cells to zero alone would make records of nothing. The lists
    of values are taken as public.
    """
    protection = Protection(epsilon=epsilon, attributes=len(counted.joints))
    noisy = {name: _noisy(np.asarray(j.counts), protection.epsilon_each) for name, j in counted.joints.items()}
    # A sum over fewer cells carries less noise, and counts for more.
    margins = np.average(
        [counts.sum(axis=0) for counts in noisy.values()], axis=0, weights=[1 / len(c) for c in noisy.values()]
    )
    label = np.asarray(np.maximum(np.round(margins), 0), dtype=np.int64)
    joints = {
        name: Joint(attribute=j.attribute, label=j.label, counts=nearest_counts(noisy[name], label))
        for name, j in counted.joints.items()
    }
    if np.count_nonzero(label) < 2:
        raise SummaryError("the noise left nothing of the label; use a larger epsilon, or fewer columns")
    protected = replace(
        counted,
        rows=int(label.sum()),
        label_histogram=Histogram(domain=counted.label_histogram.domain, counts=label),
        joints=joints,
    )
    return protected, protection


def nearest_counts(noisy: Counts, totals: Counts) -> Counts:
    """The whole counts nearest to noisy ones (in squares) that are not negative, with each column summing to its total.

    >>> nearest_counts(np.array([[7, -3], [2, 0], [0, 9]]), np.array([6, 8])).tolist()
    [[6, 0], [0, 0], [0, 8]]
    """
    found = np.empty(noisy.shape, dtype=np.int64)
    for column, total in enumerate(totals):
        values = noisy[:, column].astype(np.float64)
        ordered = np.sort(values)[::-1]
        excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
        above = np.flatnonzero(ordered > excess)
        moved = np.maximum(values - excess[above[-1] if len(above) else 0], 0.0)
        whole = np.floor(moved + 1e-9).astype(np.int64)
        rest = int(total) - int(whole.sum())  # the largest fractions are rounded up
        whole[np.argsort(whole - moved, kind="stable")[:rest]] += 1
        found[:, column] = whole
    return found


def _noisy(counts: Counts, epsilon: float) -> Counts:
    """Counts with two-sided geometric noise of scale 1 / epsilon, drawn by OpenDP from the system's randomness."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError(feature="differential privacy", extra="dp") from None
    dp.enable_features("contrib")
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism: Any = dp.m.make_laplace(domain, metric, scale=1.0 / epsilon)
    spent = mechanism.map(d_in=1)
    if spent > epsilon * (1 + 1e-9):
        raise SummaryError("the noise mechanism does not keep its budget; use another version of opendp")
    flat = [int(count) for count in counts.ravel()]
    return np.asarray(mechanism(flat), dtype=np.int64).reshape(counts.shape)
