"""How much the attribute tells about the label, in bits and as a share of what there is to tell.

Divergences are between the joint distribution of attribute and label and the product of the two alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, divisor
from aegis.measures.measure import attribute_measure


@attribute_measure(
    "mutual-information",
    unit="bits",
    invariant=True,
    monotone=True,
    reference="Shannon 1948; Aegis section 3.2",
)
def mutual_information(counts: Counts) -> NDArray[np.float64]:
    """Bits that knowing the attribute saves in describing the label.

    >>> float(mutual_information(np.array([[5, 0], [0, 5]])))
    1.0
    """
    return np.maximum(entropy(counts.sum(axis=-2)) - conditional_entropy(counts), 0.0)


@attribute_measure(
    "theils-u",
    unit="share of the label's entropy",
    upper=1.0,
    invariant=True,
    monotone=True,
    reference="Theil 1970, the uncertainty coefficient U(Y|A)",
)
def theils_u(counts: Counts) -> NDArray[np.float64]:
    """The share of the label's entropy that the attribute explains; 0 where the label is constant.

    >>> float(theils_u(np.array([[5, 0], [0, 5]])))
    1.0
    """
    return _share(mutual_information(counts), entropy(counts.sum(axis=-2)))


@attribute_measure(
    "theils-u-attribute",
    unit="share of the attribute's entropy",
    upper=1.0,
    invariant=False,
    monotone=False,
    reference="Theil 1970, the uncertainty coefficient U(A|Y)",
)
def theils_u_attribute(counts: Counts) -> NDArray[np.float64]:
    """The share of the attribute's entropy that the label explains; 0 where the attribute is constant.

    It rises when values that say the same are merged, so it is not a measure of what a mask has cost.

    >>> float(theils_u_attribute(np.array([[2, 0], [2, 0], [0, 4]]))) < 1
    True
    """
    return _share(mutual_information(counts), entropy(counts.sum(axis=-1)))


def entropy(counts: Counts) -> NDArray[np.float64]:
    """The entropy in bits of the last axis."""
    total = divisor(counts.sum(axis=-1))
    return np.maximum(np.log2(total) - x_log2_x(counts).sum(axis=-1) / total, 0.0)


def conditional_entropy(counts: Counts) -> NDArray[np.float64]:
    """H(label | attribute) in bits."""
    rows = counts.sum(axis=-1)
    difference = x_log2_x(rows).sum(axis=-1) - x_log2_x(counts).sum(axis=(-2, -1))
    return difference / divisor(rows.sum(axis=-1))


def x_log2_x(x: Counts) -> NDArray[np.float64]:
    """x log2 x with its limit 0 at 0."""
    x = np.asarray(x, dtype=np.float64)
    return x * np.log2(x, where=x > 0, out=np.zeros_like(x))


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    # Below 1e-12 bits the whole is rounding noise of a constant column, and so is the part.
    return np.minimum(np.where(whole > 1e-12, part / np.where(whole > 1e-12, whole, 1.0), 0.0), 1.0)


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
