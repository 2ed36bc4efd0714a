"""What is published for a class, and the information it loses.

A class is published as its mean and mode, the rounded mean and mode, or its most central record. Information loss is
the deviation that this adds, over the deviation the table has around its own centre: squared difference for numbers,
0 or 1 for categories. On the *raw* scale a number counts in its own unit, so one with a wide range outweighs everything
else; on the *standardised* scale it is divided by its standard deviation first. The two are different numbers and
never compared with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.records import Records, Tuples
from aegis.errors import AnonymizerError

Centroid = Literal["mean", "rounded", "medoid"]
CENTROIDS: tuple[Centroid, ...] = ("mean", "rounded", "medoid")
Scale = Literal["raw", "standardised"]
SCALES: tuple[Scale, ...] = ("raw", "standardised")
ROUNDING = 1e-12
"""A share of the table's deviation up to this is what rounding leaves of a sum, and no loss."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Centers:
    """One published tuple per class: numbers, and codes of categories."""

    numeric: Floats
    categorical: Ints

    def __len__(self) -> int:
        return len(self.numeric)

    def rows(self, labels: Ints) -> Centers:
        """The centre of each record's class, in the order of the records."""
        return Centers(numeric=self.numeric[labels], categorical=self.categorical[labels])


def centers_of(records: Records, labels: Ints, *, centroid: Centroid = "mean") -> Centers:
    """The centre of each class 0 … max(labels).

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 6.0], categorical=["a", "b", "b"])
    >>> centers_of(records, np.array([0, 0, 0])).numeric.tolist()
    [[3.0]]
    >>> centers_of(records, np.array([0, 0, 0]), centroid="medoid").numeric.tolist()
    [[2.0]]
    """
    classes = int(labels.max()) + 1
    size = np.bincount(labels, minlength=classes).astype(np.float64)
    mean = np.column_stack(
        [np.bincount(labels, weights=column, minlength=classes) / size for column in records.numeric.T]
        or [np.empty((classes, 0))]
    )
    tables = [value_counts(labels, column, classes=classes) for column in records.categorical.T]
    if centroid == "medoid":
        away = size[labels] * ((records.numeric - mean[labels]) ** 2).sum(axis=1)
        for table, column in zip(tables, records.categorical.T, strict=True):
            away += size[labels] - table[labels, column]
        order = np.lexsort((np.arange(len(labels)), away, labels))
        chosen = order[np.searchsorted(labels[order], np.arange(classes))]
        return Centers(numeric=records.numeric[chosen], categorical=records.categorical[chosen])
    for place, name in enumerate(records.numeric_names):
        if name in records.steps:
            mean[:, place] = np.rint(mean[:, place] / records.steps[name]) * records.steps[name]
    mode = np.column_stack([table.argmax(axis=1) for table in tables] or [np.empty((classes, 0), dtype=np.int64)])
    return Centers(numeric=np.rint(mean) if centroid == "rounded" else mean, categorical=mode.astype(np.int64))


def value_counts(labels: Ints, codes: Ints, *, classes: int) -> Ints:
    """How often each value occurs in each class: (classes, values)."""
    levels = int(codes.max()) + 1
    return np.bincount(labels * levels + codes, minlength=classes * levels).reshape(classes, levels)


def published_columns(records: Records, rows: Centers, *, integers: bool = False) -> dict[str, NDArray[Any]]:
    """The quasi-identifier columns as they are published, in the order they were named."""
    columns: dict[str, NDArray[Any]] = {}
    for name in records.quasi_identifiers:
        if name in records.numeric_names:
            column = rows.numeric[:, records.numeric_names.index(name)]
            columns[name] = column.astype(np.int64) if integers and (column == np.rint(column)).all() else column
        else:
            j = records.categorical_names.index(name)
            columns[name] = records.categories[j][rows.categorical[:, j]]
    return columns


def divisors(records: Records, *, scale: Scale) -> Floats:
    """What each numeric quasi-identifier is divided by before differences are squared."""
    if scale not in SCALES:
        raise AnonymizerError(f"there is no scale {scale!r}: use 'raw' or 'standardised'")
    if scale == "raw":
        return np.ones(records.numeric.shape[1])
    spread = records.numeric.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def deviation(records: Records, rows: Centers, *, scale: Scale = "raw") -> float:
    """The summed difference between the records and what stands in their place."""
    gaps = (records.numeric - rows.numeric) / divisors(records, scale=scale)
    return float((gaps**2).sum() + (records.categorical != rows.categorical).sum())


def total_deviation(records: Records, *, scale: Scale = "raw") -> float:
    """The denominator: the deviation of all records from the mean and mode of the whole table."""
    everyone: Ints = np.zeros(len(records), dtype=np.int64)
    return deviation(records, centers_of(records, everyone).rows(everyone), scale=scale)


def information_loss(records: Records, rows: Centers, *, scale: Scale = "raw") -> float:
    """The share of the table's deviation that publishing ``rows`` costs; 0 where there is nothing to lose.

    >>> records = Records.from_arrays(numeric=[1.0, 3.0, 7.0, 9.0])
    >>> labels = np.array([0, 0, 1, 1])
    >>> information_loss(records, centers_of(records, labels).rows(labels))
    0.1
    """
    total = total_deviation(records, scale=scale)
    return deviation(records, rows, scale=scale) / total if total > 0 else 0.0


def embed(tuples: Tuples, divisor: Floats) -> Floats:
    """Points whose squared distance is the sum of squared differences and of 0/1 for categories."""
    parts = [tuples.numeric / divisor]
    parts += [np.eye(int(codes.max()) + 1)[codes] / np.sqrt(2.0) for codes in tuples.categorical.T]
    return np.ascontiguousarray(np.hstack(parts))
