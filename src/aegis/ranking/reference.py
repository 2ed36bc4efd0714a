"""What the masked values are compared with: the measure of each attribute before masking, known or reconstructed.

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

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import AttributeSummary, Summary
from aegis.errors import MeasureError
from aegis.masking.partition import Partition
from aegis.measures.measure import AttributeMeasure

Floats = NDArray[np.float64]
Rebuild = Callable[[Partition, Counts, Counts | None], Floats]
"""What a mask merges, its joint with the label and the histogram, where told, to a joint of values and labels."""


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
    rounding: Rounding = Rounding.RANDOMISED,
    start: str = "uniform",
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
