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

from aegis.errors import AegisError, MeasureError, SummaryError
from aegis.masking.partition import Partition
from aegis.reconstruction.constraint import Constraint
from aegis.reconstruction.per_configuration import closed_form
from aegis.reconstruction.pooled import pooled
from aegis.reconstruction.rounding import randomised, systematic
from aegis.reconstruction.sampling import sample
from aegis.summaries.joint import Counts
from aegis.summaries.summary import AttributeSummary, MaskedJoint, Summary
from aegis.utility.measure import Measure

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
    measure: Measure,
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
            note = "masks are known by opaque ids only: configurations are ranked, but losses cannot be sized"
            return ReferenceValues(reference=reference, values=None, notes=(note,))
    elif summary.opaque:
        raise MeasureError("the summary names its masks by opaque ids only: no reconstruction is available, use auto")
    if reference is Reference.EXACT:
        return ReferenceValues(reference=reference, values=tuple(_exact(a, measure) for a in attributes))
    if reference is Reference.POOLED:
        return ReferenceValues(
            reference=reference,
            values=tuple(_pooled(a, summary, measure) for a in attributes),
            notes=_left_out(attributes),
        )
    values = tuple(_one_by_one(a, summary, measure, reference, rounding, rng) for a in attributes)
    return ReferenceValues(reference=reference, values=values, notes=_left_out(attributes))


def _best_available(summary: Summary) -> Reference:
    if summary.opaque:
        return Reference.UNAVAILABLE
    if all(attribute.joint is not None for attribute in summary.attributes.values()):
        return Reference.EXACT
    return Reference.POOLED


def _exact(attribute: AttributeSummary, measure: Measure) -> Floats:
    if attribute.joint is None:
        raise MeasureError(
            f"the exact reference needs the joint of {attribute.name!r} with the label, which a summary of this level "
            "does not tell; use pooled"
        )
    return np.full(len(attribute.masked), float(measure(np.asarray(attribute.joint.counts, dtype=np.float64))))


def pooled_joint(attribute: AttributeSummary, summary: Summary) -> Floats:
    """The joint fitted to everything that is told of an attribute."""
    if attribute.joint is not None:
        return np.asarray(attribute.joint.counts, dtype=np.float64)
    if attribute.domain is None:
        raise MeasureError(f"nothing is told of the values of {attribute.name!r}: no reconstruction is available")
    masked = {
        f"masked joint {number} of {attribute.name}": (each.change, each.joint.counts)
        for number, each in enumerate(attribute.masked.values(), start=1)
        if isinstance(each.change, Partition) and each.label_mask is None
    }
    label = Constraint.label(summary.label_histogram.counts, values=attribute.domain.size)
    further = [label]
    if attribute.histogram is not None:
        told = attribute.histogram
        further.append(Constraint(name=f"histogram of {attribute.name}", codes=told.codes, targets=told.counts))
    return pooled(masked, further=further).counts


def _pooled(attribute: AttributeSummary, summary: Summary, measure: Measure) -> Floats:
    return np.full(len(attribute.masked), float(measure(pooled_joint(attribute, summary))))


def _one_by_one(
    attribute: AttributeSummary,
    summary: Summary,
    measure: Measure,
    reference: Reference,
    rounding: Rounding,
    rng: np.random.Generator,
) -> Floats:
    """The paper's way: every mask reconstructs the attribute for itself."""
    histogram = _value_counts(attribute)
    values = []
    for each in attribute.masked.values():
        if not isinstance(each.change, Partition) or each.label_mask is not None:
            values.append(float(measure(pooled_joint(attribute, summary))))
            continue
        values.append(float(measure(_reconstructed(each, histogram, attribute, reference, rounding, rng))))
    return np.array(values)


def _reconstructed(
    each: MaskedJoint,
    histogram: Counts | None,
    attribute: AttributeSummary,
    reference: Reference,
    rounding: Rounding,
    rng: np.random.Generator,
) -> Floats:
    assert isinstance(each.change, Partition)
    try:
        if reference is Reference.SAMPLING:
            return sample(each.change, each.joint.counts, rng=rng, histogram=histogram).counts
        fitted = closed_form(each.change, each.joint.counts, histogram=histogram).counts
    except AegisError as error:
        raise SummaryError(f"{attribute.name}: {error}") from None
    if rounding is Rounding.NONE:
        return fitted
    return (randomised if rounding is Rounding.RANDOMISED else systematic)(fitted, rng=rng).astype(np.float64)


def _value_counts(attribute: AttributeSummary) -> Counts | None:
    """The 1D histogram by value, where it is told."""
    histogram = attribute.histogram
    if histogram is None or attribute.domain is None or len(histogram.counts) != attribute.domain.size:
        return None
    return histogram.counts[histogram.codes]


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
