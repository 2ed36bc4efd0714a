"""The measure of an attribute before masking where its joint with the label must be reconstructed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import AttributeSummary, Summary
from aegis.errors import AegisError, MeasureError, SummaryError
from aegis.masking.transition import Partition
from aegis.measures.measure import AttributeMeasure
from aegis.ranking.attribute_values import Rebuild
from aegis.reconstruction.constraint import Constraint
from aegis.reconstruction.nearest_to_uniform import nearest_to_uniform
from aegis.reconstruction.rebuilt_joints import (
    Start,
    closed_form,
    per_configuration,
    pooled,
    randomised,
    sample,
    systematic,
)

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


def by_each_mask(attribute: AttributeSummary, summary: Summary, measure: AttributeMeasure, rebuild: Rebuild) -> Floats:
    """The paper's way: every mask reconstructs the attribute for itself."""
    histogram = _value_counts(attribute)
    values = []
    for masked in attribute.masked.values():
        if isinstance(masked.change, Partition) and masked.label_mask is None:
            try:
                joint = rebuild(masked.change, masked.joint.counts, histogram)
            except AegisError as error:
                raise SummaryError(f"{attribute.name}: {error}") from None
        else:
            joint = pooled_joint(attribute, summary)
        values.append(float(measure(joint)))
    return np.array(values)


def drawn(partition: Partition, masked: Counts, histogram: Counts | None, *, rng: np.random.Generator) -> Floats:
    """The paper's baseline: values drawn among those a masked value stands for."""
    return sample(partition, masked, rng=rng, histogram=histogram).counts


def fitted(
    partition: Partition,
    masked: Counts,
    histogram: Counts | None,
    *,
    rng: np.random.Generator,
    rounding: str,
    start: str,
) -> Floats:
    """By proportional fitting, rounded as asked for."""
    if start == Start.UNIFORM:
        counts = closed_form(partition, masked, histogram=histogram).counts
    else:
        counts = per_configuration(partition, masked, histogram=histogram, start=start).counts
    if rounding == "none":
        return counts
    return (randomised if rounding == "randomised" else systematic)(counts, rng=rng).astype(np.float64)


def nearest(partition: Partition, masked: Counts, histogram: Counts | None, *, norm: str, whole: bool) -> Floats:
    """By the program of the paper's section 4.2: the joint nearest to equal cells."""
    mask = Constraint.masked(partition, masked)
    constraints = [mask] if histogram is None else [Constraint.histogram(histogram), mask]
    return nearest_to_uniform(constraints, norm=norm, whole=whole).counts


def _value_counts(attribute: AttributeSummary) -> Counts | None:
    """The 1D histogram by value, where it is told."""
    histogram = attribute.histogram
    if histogram is None or attribute.domain is None or len(histogram.counts) != attribute.domain.size:
        return None
    return histogram.counts[histogram.codes]
