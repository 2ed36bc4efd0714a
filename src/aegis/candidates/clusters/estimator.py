"""What every anonymizer has in common: fit, transform, and what is known after fitting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.centroids import Centers, Centroid, published_columns
from aegis.candidates.clusters.information_loss import Scale, divisors
from aegis.candidates.clusters.publication import Publication
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.result import Anonymized, Listener
from aegis.errors import AnonymizerError


class Anonymizer(ABC):
    """Fit it to records, then read ``labels_``, ``centers_`` and ``result_``, or ``transform`` the records."""

    centroid: Centroid
    scale: Scale
    _fitted: Publication
    _records: Records

    @abstractmethod
    def _publication(self, records: Records, listener: Listener | None) -> Publication: ...

    def fit(self, records: Records, *, progress: Listener | None = None) -> Anonymizer:
        """Form the classes and check them on the table that would be published."""
        self._fitted = self._publication(records, progress)
        self._records = records
        return self

    def fit_transform(self, records: Records, *, progress: Listener | None = None) -> dict[str, NDArray[Any]]:
        """Fit, and give the published quasi-identifier columns of the same records."""
        return self.fit(records, progress=progress).transform()

    def transform(self, records: Records | None = None) -> dict[str, NDArray[Any]]:
        """The published quasi-identifier columns, rows in order.

        Without an argument (or with the records it was fitted to) k and l hold. Other records are given the nearest
        published tuple: no new tuple appears, but k and l are promises about the fitted table only.
        """
        fitted = self._known()
        if records is None or records is self._records:
            labels = fitted.labels
        else:
            self._check_alike(records)
            labels = self._nearest(records, fitted.centers)
        rounded = self.centroid != "mean"
        return published_columns(self._records, fitted.centers.rows(labels), integers=rounded)

    @property
    def labels_(self) -> Ints:
        """The published class of each record."""
        return self._known().labels

    @property
    def centers_(self) -> Centers:
        """The published tuples."""
        return self._known().centers

    @property
    def result_(self) -> Anonymized:
        """The outcome in numbers."""
        return self._known().result

    def _known(self) -> Publication:
        if not hasattr(self, "_fitted"):
            raise AnonymizerError(f"this {type(self).__name__} has not been fitted: call fit(records) first")
        return self._fitted

    def _check_alike(self, records: Records) -> None:
        same_categories = all(
            len(a) == len(b) and bool((a == b).all())
            for a, b in zip(records.categories, self._records.categories, strict=False)
        )
        if records.quasi_identifiers != self._records.quasi_identifiers or not same_categories:
            raise AnonymizerError("these records have other quasi-identifiers or other categories than the fitted ones")

    def _nearest(self, records: Records, centers: Centers) -> Ints:
        divisor = divisors(self._records, scale=self.scale)
        labels = np.empty(len(records), dtype=np.int64)
        for start in range(0, len(records), 1000):  # in blocks: the distances of all pairs need not fit in memory
            part = slice(start, start + 1000)
            gaps = (records.numeric[part, None] - centers.numeric[None]) / divisor
            away = (gaps**2).sum(axis=2) + (records.categorical[part, None] != centers.categorical[None]).sum(axis=2)
            labels[part] = away.argmin(axis=1)
        return labels
