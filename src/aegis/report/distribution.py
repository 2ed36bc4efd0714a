"""A column before and after a mask, ready to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis.report.disclosure import Distribution, columns
from aegis.report.named_values import named_distribution, only_masked
from aegis.report.ordered_values import ordered_distribution, ordered_masked

if TYPE_CHECKING:
    from aegis.counts.summary import AttributeSummary, MaskedJoint


def distribution(attribute: AttributeSummary, masked: MaskedJoint) -> Distribution:
    """Original and masked distribution of an attribute under one of its masks, as far as the summary tells."""
    domain = attribute.domain
    if domain is None or attribute.histogram is None:
        known, target = columns(attribute, masked), masked.joint.attribute
        if masked.mask is not None and target.kind.is_ordered and len(target.values) > 0:
            return ordered_masked(known, target)
        return only_masked(known)
    if domain.kind.is_ordered and len(domain.values) > 0:
        return ordered_distribution(attribute, masked)
    return named_distribution(attribute, masked)
