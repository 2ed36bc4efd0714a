"""Add a measure, the Gini gain of the label. A package would do so by an entry point of the group aegis.measures."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import aegis
from aegis.library.clinic import CONFIGURATIONS, columns
from aegis.measures.measure import attribute_measure


@attribute_measure(
    "gini-gain", unit="impurity", upper=1.0, invariant=True, monotone=True, reference="Breiman et al. 1984"
)
def gini_gain(counts: np.ndarray) -> np.ndarray:
    """How much the attribute lowers the Gini impurity of the label."""
    counts = np.asarray(counts, dtype=float)
    rows = counts.sum(axis=-1)
    total = rows.sum(axis=-1)
    label = counts.sum(axis=-2) / total[..., None]
    within = (counts**2).sum(axis=-1) / np.where(rows > 0, rows, 1)
    return within.sum(axis=-1) / total - (label**2).sum(axis=-1)


plain = {name: masks for name, masks in CONFIGURATIONS.items() if "generalize" not in str(masks)}
table: dict[str, list[object]] = {
    name: list(values) for name, values in columns(1_500).items() if name not in ("patient", "weight", "admitted")
}
table["age"] = [int(str(age)) for age in table["age"]]
known = [
    aegis.Configuration.of(name, {column: mask for column, mask in masks.items() if column in table})
    for name, masks in plain.items()
]

advice = aegis.advise(pa.table(table), label="health", configs=known, measure="gini-gain")
print(advice.measure, "prefers", advice.best.configuration)
