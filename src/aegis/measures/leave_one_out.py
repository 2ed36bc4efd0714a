"""What the attribute tells about a record that was not counted: measures that do not reward memorising.

Each record is described by the others with its value, `PRIOR_RECORDS` records of the overall label shares added. An
identifier then says nothing, where the plug-in measures call it perfect. Counts may be fractional (expected counts of
a random mask, a reconstruction): a record takes at most what its cell holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, divisor
from aegis.measures.measure import Scaling, attribute_measure

PRIOR_RECORDS = 2.0


def _share_of_the_mode(label: Counts) -> NDArray[np.float64]:
    total = np.asarray(label.sum(axis=-1), dtype=np.float64)
    return label.max(axis=-1) / divisor(total)


@attribute_measure(
    "leave-one-out-information",
    unit="bits",
    invariant=False,
    monotone=False,
    reference="log score of the leave-one-out predictive distribution, prior weight 2, clipped at 0",
    scaling=Scaling.SAMPLE,
)
def leave_one_out_information(counts: Counts) -> NDArray[np.float64]:
    """Bits that the other records with the same value save in describing a record's label, never below 0.

    It is at most the mutual information, and 0 for an identifier.

    >>> float(leave_one_out_information(np.eye(10)))
    0.0
    >>> round(float(leave_one_out_information(np.array([[50, 0], [0, 50]]))), 2)
    0.97
    """
    return np.maximum(leave_one_out_gain(counts), 0.0)


def leave_one_out_gain(counts: Counts) -> NDArray[np.float64]:
    """Leave-one-out information before clipping: negative where the attribute misleads."""
    counts = np.asarray(counts, dtype=np.float64)
    over_labels = np.ones(counts.shape[-1])  # a product with ones: numpy's sum over a short axis is slow
    rows = (counts @ over_labels)[..., None]
    total = divisor(rows.sum(axis=-2, keepdims=True))
    prior = PRIOR_RECORDS * counts.sum(axis=-2, keepdims=True) / total
    occurring = counts > 0
    # The prior divides out of log(predicted share / overall share): what is left needs no division by an empty label.
    ratio = (np.maximum(counts - 1.0, 0.0) + prior) / divisor(prior)
    ratio = ratio * (PRIOR_RECORDS / (np.maximum(rows - 1.0, 0.0) + PRIOR_RECORDS))
    bits = counts * np.log2(ratio, where=occurring, out=np.zeros_like(ratio))
    return (bits @ over_labels).sum(axis=-1) / total[..., 0, 0]


@attribute_measure(
    "leave-one-out-accuracy",
    unit="share of records",
    upper=1.0,
    invariant=False,
    monotone=False,
    reference="accuracy of the leave-one-out mode, prior weight 2, never below the share of the commonest label",
    blank=_share_of_the_mode,
    scaling=Scaling.SAMPLE,
)
def leave_one_out_accuracy(counts: Counts) -> NDArray[np.float64]:
    """The share of records whose label is the likeliest among the others with their value; a tie is a miss.

    >>> float(leave_one_out_accuracy(np.eye(10)))
    0.1
    >>> float(leave_one_out_accuracy(np.array([[9, 1], [0, 10]])))
    0.95
    """
    counts = np.asarray(counts, dtype=np.float64)
    label = counts.sum(axis=-2, keepdims=True)
    total = divisor(label.sum(axis=-1, keepdims=True))
    prior = PRIOR_RECORDS * label / total
    scores = counts + prior
    own = np.maximum(counts - 1.0, 0.0) + prior
    # Equal scores differ by rounding only: half a millionth of a record decides nothing.
    hits = np.where(own > best_other(scores) + 5e-7, counts, 0.0).sum(axis=(-2, -1)) / total[..., 0, 0]
    return np.maximum(hits, _share_of_the_mode(label[..., 0, :]))


def best_other(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each label of a row the largest score among the other labels."""
    if scores.shape[-1] < 2:
        return np.full_like(scores, -np.inf)
    if scores.shape[-1] == 2:
        return scores[..., ::-1]
    best = scores.argmax(axis=-1)[..., None]
    rest = scores.copy()
    np.put_along_axis(rest, best, -np.inf, axis=-1)
    others = np.broadcast_to(scores.max(axis=-1, keepdims=True), scores.shape).copy()
    np.put_along_axis(others, best, rest.max(axis=-1, keepdims=True), axis=-1)
    return others
