"""Differentially private counts: OpenDP draws the noise, before anything is made of the counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aegis.errors import MissingExtraError, SummaryError
from aegis.summaries.collect import Counted
from aegis.summaries.joint import Counts, Histogram, Joint
from aegis.summaries.protection import Protection


def add_noise(counted: Counted, epsilon: float) -> tuple[Counted, Protection]:
    """Counts in which no single record shows: each attribute's joint with the label gets its share of the budget.

    Two tables that differ in one record differ by one in one cell of each joint, so the joints together cost
    ``epsilon``. Whatever is made of the counts afterwards, masks that read edges off them included, costs nothing more.
    The label's own counts are the mean of what the joints say. The lists of values are taken as public.
    """
    protection = Protection(epsilon=epsilon, attributes=len(counted.joints))
    joints = {
        name: Joint(
            attribute=joint.attribute,
            label=joint.label,
            counts=np.maximum(_noisy(np.asarray(joint.counts), protection.epsilon_each), 0),
        )
        for name, joint in counted.joints.items()
    }
    margins = np.mean([joint.counts.sum(axis=0) for joint in joints.values()], axis=0)
    label = np.asarray(np.round(margins), dtype=np.int64)
    if np.count_nonzero(label) < 2:
        raise SummaryError("the noise left nothing of the label; use a larger epsilon, or fewer columns")
    noisy = replace(
        counted,
        rows=int(label.sum()),
        label_histogram=Histogram(domain=counted.label_histogram.domain, counts=label),
        joints=joints,
    )
    return noisy, protection


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
