"""The measure of each attribute under every mask, with its sampling error, and before masking: known or reconstructed.

The error comes from Poisson resamples of the counts, with the noise of a protected summary drawn once more. Where the
unmasked joint is known all masks of an attribute are applied to the same resamples, so that the difference between two
masks is known better than either. What the masked values are compared with is the reference:

==================  ==================================================================================
reference           where the unmasked joint comes from
==================  ==================================================================================
exact               it was counted (level ``2d``)
pooled              one fit to everything the summary tells of the attribute, over all its masks
per-configuration   the paper's: from each mask's own joint and the 1D histogram, then rounded at random
sampling            the paper's baseline: values drawn among those a masked value stands for
nearest-…           the paper's program: from the same as per-configuration, the joint nearest to equal cells
                    in l1, l2 or l∞ (linf), over real counts or whole ones (…-integer); for small columns
unavailable         masks known by opaque ids only: configurations are ranked, losses have no size
==================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import IDENTITY, AttributeSummary, MaskedJoint, Summary, mask_id
from aegis.errors import MeasureError
from aegis.masking.transition import Partition, Transition
from aegis.measures.measure import AttributeMeasure

RESAMPLES = 32
_LARGEST_BATCH = 4_000_000  # cells; beyond it fewer resamples keep memory flat

Floats = NDArray[np.float64]
Rebuild = Callable[[Partition, Counts, Counts | None], Floats]
"""What a mask merges, its joint with the label and the histogram, where told, to a joint of values and labels."""


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


class Reference(StrEnum):
    """Where the unmasked joint comes from."""

    AUTO = "auto"
    EXACT = "exact"
    POOLED = "pooled"
    PER_CONFIGURATION = "per-configuration"
    SAMPLING = "sampling"
    NEAREST_L1 = "nearest-l1"
    NEAREST_L2 = "nearest-l2"
    NEAREST_LINF = "nearest-linf"
    NEAREST_L1_INTEGER = "nearest-l1-integer"
    NEAREST_L2_INTEGER = "nearest-l2-integer"
    NEAREST_LINF_INTEGER = "nearest-linf-integer"
    UNAVAILABLE = "unavailable"

    @property
    def per_configuration(self) -> bool:
        """Whether each mask is compared with a joint of its own."""
        return self not in (Reference.AUTO, Reference.EXACT, Reference.POOLED, Reference.UNAVAILABLE)


class Rounding(StrEnum):
    """How a per-configuration reconstruction becomes whole counts."""

    RANDOMISED = "randomised"  # the paper's: each cell on its own
    SYSTEMATIC = "systematic"  # keeps the total
    NONE = "none"  # stays fractional: most deviations are then exactly 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceValues:
    """``values[a][i]`` is the measure of attribute a before masking, as seen by mask i; None where unavailable."""

    reference: Reference
    values: tuple[Floats, ...] | None
    notes: tuple[str, ...] = ()


def parse_reference(name: str | Reference) -> Reference:
    """The reference called ``name``, or an error that lists them."""
    if name not in set(Reference) - {Reference.UNAVAILABLE}:
        names = ", ".join(reference.value for reference in Reference if reference is not Reference.UNAVAILABLE)
        raise MeasureError(f"there is no reference called {str(name)!r}; use one of {names}")
    return Reference(name)


def reference_values(
    summary: Summary,
    measure: AttributeMeasure,
    reference: Reference,
    rng: np.random.Generator,
    *,
    rounding: Rounding,
    start: str,
) -> ReferenceValues:
    """The measure of every attribute before masking, by the reference asked for or the best there is.

    ``rounding`` and ``start`` are those of a per-configuration reconstruction.
    """
    attributes = list(summary.attributes.values())
    if reference is Reference.AUTO:
        reference = _best_available(summary)
        if reference is Reference.UNAVAILABLE:
            note = "masks are known by opaque ids only: configurations are ranked, but reconstruction is not available"
            return ReferenceValues(reference=reference, values=None, notes=(note,))
    elif summary.opaque:
        raise MeasureError("the summary names its masks by opaque ids only: no reconstruction is available, use auto")
    if reference is Reference.EXACT:
        return ReferenceValues(reference=reference, values=tuple(_exact(a, measure) for a in attributes))
    from aegis.ranking.reconstructed import (  # fits need scipy, slow to import; few rankings do
        by_all_masks,
        by_each_mask,
    )

    if reference is Reference.POOLED:
        values = tuple(by_all_masks(a, summary, measure) for a in attributes)
    else:
        rebuild = _rebuilding(reference, rng, rounding=rounding, start=start)
        values = tuple(by_each_mask(a, summary, measure, rebuild) for a in attributes)
    return ReferenceValues(reference=reference, values=values, notes=_left_out(attributes))


def _rebuilding(reference: Reference, rng: np.random.Generator, *, rounding: Rounding, start: str) -> Rebuild:
    """How a mask's own joint becomes one of values and labels."""
    from aegis.ranking.reconstructed import drawn, fitted, nearest  # as above

    if reference is Reference.SAMPLING:
        return partial(drawn, rng=rng)
    if reference is Reference.PER_CONFIGURATION:
        return partial(fitted, rng=rng, rounding=rounding.value, start=start)
    _, norm, *whole = reference.value.split("-")
    return partial(nearest, norm=norm, whole=bool(whole))


def _best_available(summary: Summary) -> Reference:
    if summary.opaque:
        return Reference.UNAVAILABLE
    if all(attribute.joint is not None for attribute in summary.attributes.values()):
        return Reference.EXACT
    return Reference.POOLED


def _exact(attribute: AttributeSummary, measure: AttributeMeasure) -> Floats:
    if attribute.joint is None:
        raise MeasureError(
            f"the exact reference needs the joint of {attribute.name!r} with the label, which a summary of this level "
            "does not tell; use pooled"
        )
    return np.full(len(attribute.masked), float(measure(np.asarray(attribute.joint.counts, dtype=np.float64))))


def _left_out(attributes: list[AttributeSummary]) -> tuple[str, ...]:
    """Random masks and masks of the label constrain nothing in a fit; say whose they are."""
    names = [
        attribute.name
        for attribute in attributes
        if attribute.joint is None
        and any(not isinstance(m.change, Partition) or m.label_mask is not None for m in attribute.masked.values())
    ]
    if not names:
        return ()
    return (f"joints under random masks or a masked label are not used in the fit of {', '.join(names)}",)
