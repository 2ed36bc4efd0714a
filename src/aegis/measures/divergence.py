"""Divergences between the joint distribution of attribute and label and the product of the two alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, divisor
from aegis.measures.information import entropy, mutual_information, x_log2_x
from aegis.measures.measure import attribute_measure


@attribute_measure(
    "kl-divergence",
    unit="nats",
    invariant=True,
    monotone=True,
    reference="Kullback and Leibler 1951; between the joint and independence",
)
def kl_divergence(counts: Counts) -> NDArray[np.float64]:
    """Relative entropy from independence to the joint: mutual information in nats.

    >>> round(float(kl_divergence(np.array([[5, 0], [0, 5]]))), 4)
    0.6931
    """
    return mutual_information(counts) * math.log(2.0)


@attribute_measure(
    "jensen-shannon",
    unit="bits",
    upper=1.0,
    invariant=True,
    monotone=True,
    reference="Lin 1991; between the joint and independence, the divergence and not its root",
)
def jensen_shannon(counts: Counts) -> NDArray[np.float64]:
    """How many bits one draw says about whether it came from the joint or from independence.

    >>> round(float(jensen_shannon(np.array([[5, 0], [0, 5]]))), 4)
    0.3113
    """
    joint, product = _distributions(counts)
    between = -x_log2_x((joint + product) / 2.0).sum(axis=(-2, -1))
    of_joint = -x_log2_x(joint).sum(axis=(-2, -1))
    of_product = entropy(counts.sum(axis=-1)) + entropy(counts.sum(axis=-2))
    return np.clip(between - (of_joint + of_product) / 2.0, 0.0, 1.0)


@attribute_measure(
    "total-variation",
    unit="probability",
    upper=1.0,
    invariant=True,
    monotone=True,
    reference="between the joint and independence",
)
def total_variation(counts: Counts) -> NDArray[np.float64]:
    """The largest difference in probability that the joint and independence give to the same event.

    >>> float(total_variation(np.array([[5, 0], [0, 5]])))
    0.5
    """
    joint, product = _distributions(counts)
    return np.minimum(np.abs(joint - product).sum(axis=(-2, -1)) / 2.0, 1.0)


def _distributions(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total = np.asarray(counts.sum(axis=(-2, -1)), dtype=np.float64)
    joint = counts / divisor(total)[..., None, None]
    return joint, joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
