"""From labels to a table that may be looked at: centres, then every promise checked on what would be published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.centroids import Centers, Centroid, centers_of, value_counts
from aegis.candidates.clusters.entropy import (
    class_entropies_bits,
    entropy_ceiling_bits,
    minimum_of_sums_bits,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.information_loss import Scale, information_loss
from aegis.candidates.clusters.records import Records, group_rows
from aegis.candidates.clusters.result import Anonymized, Diagnosis
from aegis.candidates.clusters.risk import measure_risk, risk_before
from aegis.errors import GuaranteeError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Publication:
    """The published tuples, the class of each record among them, and the numbers."""

    labels: Ints
    centers: Centers
    result: Anonymized


def publish(
    records: Records,
    labels: Ints,
    *,
    method: str,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
    centroid: Centroid,
    scale: Scale,
    lower_bound: float | None,
    seconds: float,
    diagnosis: Diagnosis,
) -> Publication:
    """Replace each class by its centre and measure the outcome; a broken k or l raises instead."""
    formed = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    rows = centers_of(records, formed, centroid=centroid).rows(formed)
    # what an attacker sees: classes with the same published tuple are one class
    seen = group_rows([*rows.numeric.T, *rows.categorical.T], rows=len(records))
    first = np.unique(seen, return_index=True)[1]
    after = measure_risk(seen, records.sensitive, names=records.sensitive_names)
    if after.smallest_class < k:
        raise GuaranteeError(f"a published class has fewer than k = {k} records, so nothing is released")
    if l > 1:
        for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
            if (value_counts(seen, codes, classes=after.classes) > 0).sum(axis=1).min() < l:
                raise GuaranteeError(
                    f"a published class has fewer than l = {l} values of {name!r}: nothing is released"
                )
    bits = class_entropies_bits(seen, records.sensitive)
    result = Anonymized(
        method=method,
        k=k,
        l=l,
        classes=int(formed.max()) + 1,
        distinct_tuples=after.classes,
        smallest_class=after.smallest_class,
        scale=scale,
        information_loss=information_loss(records, rows, scale=scale),
        lower_bound=lower_bound,
        entropy_bits=dict(zip(records.sensitive_names, bits.min(axis=0).tolist(), strict=True)),
        entropy_sum_of_minima_bits=sum_of_minima_bits(bits),
        entropy_minimum_of_sums_bits=minimum_of_sums_bits(bits),
        entropy_ceiling_bits=entropy_ceiling_bits(records.sensitive),
        before=risk_before(records),
        after=after,
        seconds=seconds,
        diagnosis=diagnosis,
    )
    return Publication(
        labels=seen,
        centers=Centers(numeric=rows.numeric[first], categorical=rows.categorical[first]),
        result=result,
    )
