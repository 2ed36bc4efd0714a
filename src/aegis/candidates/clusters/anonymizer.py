"""What every anonymizer has in common: fit, transform, and what is known after fitting.

Parameters that no partition of the table can satisfy are refused with the nearest that one can. From labels come
centres, and every promise is checked on the table that would be published; a broken k or l raises instead.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.arrays import Ints
from aegis.candidates.clusters.class_limits import check_enough_people, joined_until_enough
from aegis.candidates.clusters.information_loss import (
    Centers,
    Centroid,
    Scale,
    centers_of,
    divisors,
    information_loss,
    published_columns,
    value_counts,
)
from aegis.candidates.clusters.outcome import Anonymized, Diagnosis, measure_risk, outcome_of
from aegis.candidates.clusters.records import (
    OUTPUTS,
    Records,
    Tuples,
    group_rows,
    in_kind_of,
    records_like,
    records_of,
)
from aegis.errors import AnonymizerError, GuaranteeError
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Publication:
    """The published tuples, the class of each record among them, and the numbers."""

    labels: Ints
    centers: Centers
    result: Anonymized


def _as_seen(records: Records, labels: Ints, centroid: Centroid) -> tuple[Ints, Centers, Ints]:
    """The classes as they were formed, the centre of every record, and the classes that an attacker sees.

    Classes with the same published tuple are one class.
    """
    formed = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    rows = centers_of(records, formed, centroid=centroid).rows(formed)
    return formed, rows, group_rows([*rows.numeric.T, *rows.categorical.T], rows=len(records))


def most_diverse_classes(codes: Ints, *, l: int) -> int:
    """The most classes that can each hold ``l`` values of one attribute.

    C classes need l·C cells, and a value that occurs c times fills at most min(c, C) of them.

    >>> most_diverse_classes(np.array([0, 0, 0, 0, 1, 1]), l=2)
    2
    """
    counts = np.bincount(codes)
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(counts, middle).sum() >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def check_feasible(records: Records, tuples: Tuples, *, k: int, l: int, classes: int | None) -> None:
    """Refuse parameters that no partition of this table can satisfy."""
    rows = len(records)
    check_enough_people(records, k=k)
    if k > rows:
        raise AnonymizerError(f"k = {k} needs at least {k} records and the table has {rows}: use k of at most {rows}")
    for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
        levels = len(np.unique(codes))
        if levels < l:
            raise AnonymizerError(
                f"l = {l} is above the {levels} value(s) of sensitive attribute {name!r}: "
                f"use l of at most {levels}, or leave it out"
            )
    if classes is None:
        return
    if classes > len(tuples):
        raise AnonymizerError(
            f"{classes} classes are more than the {len(tuples)} distinct quasi-identifier tuples: "
            f"use at most {len(tuples)}"
        )
    if k * classes > rows:
        raise AnonymizerError(
            f"{classes} classes of at least k = {k} need {k * classes} records and the table has {rows}: "
            f"use at most {rows // k} classes, or k of at most {rows // classes}"
        )
    for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
        most = most_diverse_classes(codes, l=l)
        if classes > most:
            raise AnonymizerError(
                f"{classes} classes cannot each hold l = {l} values of {name!r}, which allows {most}: "
                f"use at most {most} classes, or a smaller l"
            )


def check_parameters(*, k: int, l: int, classes: int | None = None) -> None:
    """Refuse parameters that make no sense for any table."""
    for name, value in (("k", k), ("l", l), ("classes", classes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise AnonymizerError(f"{name} must be a whole number of at least 1")


class Anonymizer(ABC):
    """Fit it to records, then read ``labels_`` and ``result_``, or ``transform`` the records.

    Parameters are read and set as scikit-learn does, so that ``sklearn.base.clone`` copies one and a pipeline holds it.
    In place of `Records` a data frame (a mapping, a matrix) may be given, whose columns are all quasi-identifiers;
    what is published of a frame is a frame of the same kind, of anything else a mapping.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters it was made with, by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **changed: Any) -> Anonymizer:
        """Change parameters, checked as at the making."""
        own = self.get_params()
        unknown = [name for name in changed if name not in own]
        if unknown:
            raise AnonymizerError(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(own)}")
        self.__dict__.update(vars(type(self)(**{**own, **changed})))
        return self

    def set_output(self, *, transform: str | None = None) -> Anonymizer:
        """What `transform` gives: ``"pandas"`` or ``"polars"``, or by ``"default"`` the kind of table it was given."""
        if transform is None:
            return self
        if transform not in OUTPUTS:
            raise AnonymizerError(f"there is no output {transform!r}; it is one of {', '.join(OUTPUTS)}")
        self._sklearn_output_config = {"transform": transform}  # the name by which scikit-learn clones it
        return self

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of the published columns: those it was fitted to, or ``input_features`` for an array's."""
        names = np.array(self._published_names(), dtype=object)
        if input_features is None:
            return names
        given = np.asarray(input_features, dtype=object)
        unnamed = [f"x{at}" for at in range(len(given))]  # what columns of an array are called
        if names.tolist() not in (given.tolist(), unnamed):
            raise AnonymizerError("these are not the columns it was fitted to, in that order; leave the names out")
        return given

    @abstractmethod
    def _published_names(self) -> tuple[str, ...]:
        """The names of what `transform` gives, in their order; an error where it was not fitted."""

    @property
    def _output(self) -> str:
        config: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return config.get("transform", "default")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of the last step of a pipeline: it transforms columns of any kind."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # an extra, which asks for this itself

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(string=True, categorical=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        try:
            return len(self.labels_) > 0
        except AnonymizerError:
            return False

    @abstractmethod
    def fit(
        self, records: Records | Any, y: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Anonymizer:
        """Form the classes and check them on the table that would be published."""

    @abstractmethod
    def transform(self, records: Records | Any = None) -> Any:
        """The published quasi-identifier columns, rows in order; k and l are promises about the fitted records."""

    def fit_transform(
        self, records: Records | Any, y: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Any:
        """Fit, and give the published quasi-identifier columns of the same records."""
        return self.fit(records, y, progress=progress).transform()

    @property
    @abstractmethod
    def labels_(self) -> Ints:
        """The published class of each record."""

    @property
    @abstractmethod
    def result_(self) -> Anonymized:
        """The outcome in numbers."""


class Microaggregation(Anonymizer):
    """An anonymizer that publishes the centre of each class; ``centers_`` holds them."""

    centroid: Centroid
    scale: Scale
    _fitted: Publication
    _records: Records
    _given: Any
    _label: NDArray[Any] | None

    @abstractmethod
    def _publication(self, records: Records, progress: Progress | None) -> Publication: ...

    def _published(
        self,
        records: Records,
        labels: Ints,
        *,
        method: str,
        k: int,
        l: int = 1,
        began: float,
        diagnosis: Diagnosis | None = None,
        admit: Callable[[Ints], Ints] | None = None,
        **figures: Any,
    ) -> Publication:
        """Replace each class by its centre and measure the outcome; a broken k or l raises instead.

        ``admit`` joins classes, as they are seen, until they satisfy what k and l do not say. Where the records say
        whose they are, classes of too few people are joined first, and k and l count people. Without a ``diagnosis``
        the classes were formed once and not bettered; ``figures`` are others of `outcome_of`.
        """
        if diagnosis is None:
            loss = information_loss(records, centers_of(records, labels).rows(labels), scale=self.scale)
            rounds = int(labels.max()) + 1
            diagnosis = Diagnosis(finished="done", rounds=rounds, start_loss=loss, best_loss=loss, stages=(method,))
        seconds = time.perf_counter() - began
        formed, rows, seen = _as_seen(records, labels, self.centroid)
        joining: list[Callable[[Ints], Ints]] = []
        if records.persons is not None:
            joining.append(partial(joined_until_enough, records, k=k, l=l, scale=self.scale))
        if admit is not None:
            joining.append(admit)
        for join in joining:
            while int((joined := join(seen)).max()) < int(seen.max()):
                formed, rows, seen = _as_seen(records, joined, self.centroid)
        first = np.unique(seen, return_index=True)[1]
        after = measure_risk(seen, records.sensitive, names=records.sensitive_names, persons=records.persons)
        if after.smallest_class < k:
            raise GuaranteeError(f"a published class has fewer than k = {k} records, so nothing is released")
        if l > 1:
            for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True):
                if (value_counts(seen, codes, classes=after.classes) > 0).sum(axis=1).min() < l:
                    raise GuaranteeError(
                        f"a published class has fewer than l = {l} values of {name!r}: nothing is released"
                    )
        result = outcome_of(
            records,
            seen,
            rows,
            after,
            method=method,
            k=k,
            l=l,
            classes=int(formed.max()) + 1,
            scale=self.scale,
            seconds=seconds,
            diagnosis=diagnosis,
            **figures,
        )
        centers = Centers(numeric=rows.numeric[first], categorical=rows.categorical[first])
        return Publication(labels=seen, centers=centers, result=result)

    def fit(
        self, records: Records | Any, y: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Microaggregation:
        """Form the classes and check them on the table that would be published.

        A label ``y`` has a say only where the method weighs one.
        """
        given = records
        if not isinstance(records, Records):
            records = records_of(records)
        self._label = None if y is None else np.asarray(y)
        self._fitted = self._publication(records, progress)
        self._records = records
        self._given = given
        return self

    def transform(self, records: Records | Any = None) -> Any:
        """The published quasi-identifier columns, rows in order.

        Without an argument (or with the records it was fitted to) k and l hold. Other records are given the nearest
        published tuple: no new tuple appears, but k and l are promises about the fitted table only.
        """
        fitted = self._known()
        given = self._given if records is None else records
        if given is self._given:
            labels = fitted.labels
        else:
            others = given if isinstance(given, Records) else records_like(given, self._records)
            self._check_alike(others)
            labels = self._nearest(others, fitted.centers)
        rounded = self.centroid != "mean"
        columns = published_columns(self._records, fitted.centers.rows(labels), integers=rounded)
        return in_kind_of(given, columns, output=self._output)

    def _published_names(self) -> tuple[str, ...]:
        self._known()
        return self._records.quasi_identifiers

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
