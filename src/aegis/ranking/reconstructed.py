"""The measure of an attribute before masking where its joint with the label must be reconstructed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import AttributeSummary, MaskedJoint, Summary
from aegis.errors import AegisError, MeasureError, SummaryError
from aegis.masking.partition import Partition
from aegis.measures.measure import AttributeMeasure
from aegis.reconstruction.constraint import Constraint
from aegis.reconstruction.per_configuration import closed_form
from aegis.reconstruction.pooled import pooled
from aegis.reconstruction.rounding import randomised, systematic
from aegis.reconstruction.sampling import sample

Floats = NDArray[np.float64]


def pooled_joint(attribute: AttributeSummary, summary: Summary) -> Floats:
    """The joint fitted to everything that is told of an attribute."""
    if attribute.joint is not None:
        return np.asarray(attribute.joint.counts, dtype=np.float64)
    if attribute.domain is None:
        raise MeasureError(f"nothing is told of the values of {attribute.name!r}: no reconstruction is available")
    masked = {
        f"masked joint {number} of {attribute.name}": (masked.change, masked.joint.counts)
        for number, masked in enumerate(attribute.masked.values(), start=1)
        if isinstance(masked.change, Partition) and masked.label_mask is None
    }
    label = Constraint.label(summary.label_histogram.counts, values=attribute.domain.size)
    further = [label]
    if attribute.histogram is not None:
        histogram = attribute.histogram
        further.append(
            Constraint(name=f"histogram of {attribute.name}", codes=histogram.codes, targets=histogram.counts)
        )
    return pooled(masked, further=further).counts


def by_all_masks(attribute: AttributeSummary, summary: Summary, measure: AttributeMeasure) -> Floats:
    """One fit to everything the summary tells of the attribute, over all its masks."""
    return np.full(len(attribute.masked), float(measure(pooled_joint(attribute, summary))))


def by_each_mask(
    attribute: AttributeSummary,
    summary: Summary,
    measure: AttributeMeasure,
    rng: np.random.Generator,
    *,
    sampled: bool,
    rounding: str,
) -> Floats:
    """The paper's way: every mask reconstructs the attribute for itself."""
    histogram = _value_counts(attribute)
    values = []
    for masked in attribute.masked.values():
        if not isinstance(masked.change, Partition) or masked.label_mask is not None:
            values.append(float(measure(pooled_joint(attribute, summary))))
            continue
        values.append(
            float(measure(_reconstructed(masked, histogram, attribute, rng, sampled=sampled, rounding=rounding)))
        )
    return np.array(values)


def _reconstructed(
    masked: MaskedJoint,
    histogram: Counts | None,
    attribute: AttributeSummary,
    rng: np.random.Generator,
    *,
    sampled: bool,
    rounding: str,
) -> Floats:
    assert isinstance(masked.change, Partition)
    try:
        if sampled:
            return sample(masked.change, masked.joint.counts, rng=rng, histogram=histogram).counts
        fitted = closed_form(masked.change, masked.joint.counts, histogram=histogram).counts
    except AegisError as error:
        raise SummaryError(f"{attribute.name}: {error}") from None
    if rounding == "none":
        return fitted
    return (randomised if rounding == "randomised" else systematic)(fitted, rng=rng).astype(np.float64)


def _value_counts(attribute: AttributeSummary) -> Counts | None:
    """The 1D histogram by value, where it is told."""
    histogram = attribute.histogram
    if histogram is None or attribute.domain is None or len(histogram.counts) != attribute.domain.size:
        return None
    return histogram.counts[histogram.codes]
