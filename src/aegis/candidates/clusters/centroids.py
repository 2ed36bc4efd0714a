"""What is published for a class: its mean and mode, the rounded mean and mode, or its most central record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.records import Records

Centroid = Literal["mean", "rounded", "medoid"]
CENTROIDS: tuple[Centroid, ...] = ("mean", "rounded", "medoid")


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
