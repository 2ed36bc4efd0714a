"""What the masked values are compared with: the measure of each attribute before masking, known or reconstructed.

==================  ==================================================================================
reference           where the unmasked joint comes from
==================  ==================================================================================
exact               it was counted (level ``2d``)
pooled              one fit to everything the summary tells of the attribute, over all its masks
per-configuration   the paper's: from each mask's own joint and the 1D histogram, then rounded at random
sampling            the paper's baseline: values drawn among those a masked value stands for
unavailable         masks known by opaque ids only: configurations are ranked, losses have no size
==================  ==================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from aegis.counts.summary import AttributeSummary, Summary
from aegis.errors import MeasureError
from aegis.masking.partition import Partition
from aegis.measures.measure import AttributeMeasure

Floats = NDArray[np.float64]


class Reference(StrEnum):
    """Where the unmasked joint comes from."""

    AUTO = "auto"
    EXACT = "exact"
    POOLED = "pooled"
    PER_CONFIGURATION = "per-configuration"
    SAMPLING = "sampling"
    UNAVAILABLE = "unavailable"


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

    @property
    def per_configuration(self) -> bool:
        return self.reference in (Reference.PER_CONFIGURATION, Reference.SAMPLING)


def parse_reference(name: str | Reference) -> Reference:
    """The reference called ``name``, or an error that lists them."""
    if name not in set(Reference) - {Reference.UNAVAILABLE}:
        raise MeasureError(
            f"there is no reference called {str(name)!r}; use auto, exact, pooled, per-configuration or sampling"
        )
    return Reference(name)


def reference_values(
    summary: Summary,
    measure: AttributeMeasure,
    reference: Reference,
    rng: np.random.Generator,
    *,
    rounding: Rounding = Rounding.RANDOMISED,
) -> ReferenceValues:
    """The measure of every attribute before masking, by the reference asked for or the best there is."""
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
        sampled = reference is Reference.SAMPLING
        values = tuple(
            by_each_mask(a, summary, measure, rng, sampled=sampled, rounding=rounding.value) for a in attributes
        )
    return ReferenceValues(reference=reference, values=values, notes=_left_out(attributes))


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
