"""From values of a measure per attribute to one number per configuration.

A *loss* is oriented: positive is worse, whatever the measure's direction. For measures that are monotone under merging
a loss equals the absolute difference of the paper's equation 1; for the others a gain shows as a negative loss, where
the absolute value would punish it. ``absolute=True`` gives the equation to the letter.

The attributes are on the last axis everywhere; leading axes (bootstrap replicates, configurations) are carried along.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.errors import MeasureError
from aegis.measures.measure import AttributeMeasure, Measure

Numbers = NDArray[np.float64]


class Averaging(StrEnum):
    """How the losses of the attributes become one deviation."""

    MEAN = "mean"  # over all m attributes: equation 1
    SUM = "sum"  # the draft
    MASKED_MEAN = "masked-mean"  # over the attributes that the configuration masks: section 4.1


def losses(measure: Measure, original: Numbers, masked: Numbers, *, absolute: bool = False) -> Numbers:
    """What each attribute lost, in the measure's unit.

    >>> from aegis.measures.measure import MEASURES
    >>> losses(MEASURES["g3"], np.array([0.1, 0.2]), np.array([0.4, 0.2])).round(3).tolist()
    [0.3, 0.0]
    """
    difference = original - masked if measure.higher_is_better else masked - original
    return np.abs(difference) if absolute else difference


def deviation(
    losses: Numbers, *, averaging: Averaging | str = Averaging.MEAN, masked: NDArray[np.bool_] | None = None
) -> Numbers:
    """The predictive utility deviation of a configuration from the losses of its attributes.

    ``masked`` says which attributes the configuration masks; the masked mean needs it.

    >>> float(deviation(np.array([0.5, 0.0, 1.0])))
    0.5
    >>> float(deviation(np.array([0.5, 0.0, 1.0]), averaging="masked-mean", masked=np.array([True, False, True])))
    0.75
    """
    if averaging not in set(Averaging):
        raise MeasureError(f"there is no averaging called {averaging!r} (known: {', '.join(Averaging)})")
    if averaging == Averaging.SUM:
        return losses.sum(axis=-1)
    if averaging == Averaging.MEAN:
        return losses.mean(axis=-1) if losses.shape[-1] else np.zeros(losses.shape[:-1])
    if masked is None:
        raise MeasureError("the mean over masked attributes needs to know which are masked; pass masked=")
    return np.where(masked, losses, 0.0).sum(axis=-1) / np.maximum(masked.sum(axis=-1), 1)


def attribute_weights(averaging: Averaging | str, masked: NDArray[np.bool_]) -> Numbers:
    """How much each attribute counts in a deviation, by configuration: the deviation is their weighted sum.

    >>> attribute_weights("masked-mean", np.array([[True, False], [True, True]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return np.stack(
        [
            deviation(np.broadcast_to(unit, masked.shape), averaging=averaging, masked=masked)
            for unit in np.eye(masked.shape[-1])
        ],
        axis=-1,
    )


def retained_share(measure: AttributeMeasure, original: Numbers, masked: Numbers, *, label: Counts) -> Numbers:
    """What a configuration keeps of what the attributes say about the label, as a share.

    1 is everything, 0 is what constant columns would keep. Above 1 the surplus is borrowed (see `is_borrowed`).
    Where the original says nothing there is nothing to lose: the share is 1, or infinite where the masked table says
    something. ``label`` holds the label's counts, with the leading axes of the values.
    """
    blank = np.asarray(measure.blank(label))[..., None]
    sign = 1.0 if measure.higher_is_better else -1.0
    before = (sign * (original - blank)).sum(axis=-1)
    after = (sign * (masked - blank)).sum(axis=-1)
    positive = before > 1e-12
    gained = np.where(after > 1e-12, np.inf, 1.0)
    return np.where(positive, after / np.where(positive, before, 1.0), gained)


def is_borrowed(share: Numbers) -> NDArray[np.bool_]:
    """Whether a retained share exceeds everything there was.

    A masked value that depends on other columns (clustering, local recoding) may tell what the attribute itself did
    not, and a leave-one-out measure may gain from merging rare values: such a surplus is not something kept.
    """
    return np.asarray(share) > 1.0 + 1e-9
