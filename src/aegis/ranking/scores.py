"""What every mask leaves of every attribute: one value of the measure per masked joint, with its sampling error.

The error comes from Poisson resamples of the counts, with the noise of a protected summary drawn once more. Where the
unmasked joint is known all masks of an attribute are applied to the same resamples, so that the difference between two
masks is known better than either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import IDENTITY, AttributeSummary, MaskedJoint, Summary, mask_id
from aegis.masking.partition import Partition
from aegis.masking.transition import Transition
from aegis.measures.measure import AttributeMeasure

RESAMPLES = 32
_LARGEST_BATCH = 4_000_000  # cells; beyond it fewer resamples keep memory flat

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeScores:
    """The masks of one attribute: ``values[i]`` is the measure under mask i, ``resampled[i]`` the same resampled."""

    name: str
    index: Mapping[tuple[str, str | None], int]
    values: Floats
    resampled: Floats

    @property
    def standard_errors(self) -> Floats:
        return self.resampled.std(axis=1, ddof=1)


def score_attribute(
    attribute: AttributeSummary, summary: Summary, measure: AttributeMeasure, rng: np.random.Generator
) -> AttributeScores:
    """Value and resamples of the measure for every masked joint of an attribute."""
    joint = attribute.joint
    scale = 0.0 if summary.protection is None else summary.protection.scale
    batch = None if joint is None else _resampled(joint.counts, rng, scale=scale)
    index: dict[tuple[str, str | None], int] = {}
    values: list[float] = []
    resampled: list[Floats] = []
    for key, masked in attribute.masked.items():
        index[key] = len(values)
        if batch is None or masked.change is None:
            counts = _resampled(masked.joint.counts, rng, scale=scale, merged=_merged(masked))
        else:
            counts = _pushed(batch, masked, summary)
        measured = measure(np.moveaxis(counts, 1, 0))
        values.append(float(measured[0]))
        resampled.append(measured[1:])
    # Small tables may be resampled more often than large ones: cut to the smallest number.
    common = min(len(r) for r in resampled)
    return AttributeScores(
        name=attribute.name,
        index=index,
        values=np.array(values),
        resampled=np.array([r[:common] for r in resampled]),
    )


def _resampled(counts: Counts, rng: np.random.Generator, *, scale: float = 0.0, merged: Floats | float = 1.0) -> Floats:
    """Values × (1 + resamples) × labels: the counts themselves first.

    ``scale`` is that of the noise each cell got, ``merged`` how many such cells each value is a sum of.
    """
    times = int(np.clip(_LARGEST_BATCH // max(counts.size, 1), 8, RESAMPLES))
    batch = np.empty((counts.shape[0], 1 + times, counts.shape[1]))
    batch[:, 0] = counts
    batch[:, 1:] = rng.poisson(counts[:, None, :], size=(counts.shape[0], times, counts.shape[1]))
    if scale:
        spread = scale * np.sqrt(2 * np.broadcast_to(merged, (counts.shape[0],)))
        batch[:, 1:] += rng.normal(size=batch[:, 1:].shape) * spread[:, None, None]
        np.maximum(batch, 0.0, out=batch)
    return batch


def _merged(masked: MaskedJoint) -> Floats | float:
    """How many values of the attribute each masked value stands for, where that is known."""
    if not isinstance(masked.change, Partition):
        return 1.0
    return np.bincount(masked.change.codes, minlength=masked.change.target.size).astype(np.float64)


def _pushed(batch: Floats, masked: MaskedJoint, summary: Summary) -> Floats:
    assert masked.change is not None
    pushed = masked.change.push(batch, axis=0)
    on_label: Transition | None = summary.label_masks[masked.label_mask][1] if masked.label_mask is not None else None
    return pushed if on_label is None else on_label.push(pushed, axis=2)


def masked_attributes(summary: Summary) -> NDArray[np.bool_]:
    """Configurations × attributes: which attributes each configuration masks."""
    untouched = mask_id(IDENTITY)
    return np.array(
        [
            [configuration.masks[name] != untouched for name in summary.attributes]
            for configuration in summary.configurations
        ]
    )
