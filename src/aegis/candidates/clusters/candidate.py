"""A clustered table in the race: the centres of the training rows' classes train, real rows test."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.records import Records
from aegis.counts.disclosure_rule import may_name
from aegis.errors import AnonymizerError
from aegis.learners.candidate import Part
from aegis.learners.features import CodedColumn, Split, SplitColumn, as_numbers
from aegis.learners.sample import Sample
from aegis.learners.target import Places

MOST_ROWS = 5_000
"""More training rows than these are not clustered: what they cost grows with their square."""


class ClustersCandidate:
    """Microaggregation by MDAV with classes of at least k records, k in proportion to the rows of a part."""

    name = "mdav"
    kind = "clusters"
    draws = 1

    def __init__(self, sample: Sample, *, k: int, columns: tuple[str, ...]) -> None:
        self._sample = sample
        self._k = k
        self._columns = columns

    def __repr__(self) -> str:
        return f"ClustersCandidate(k={self._k}, {', '.join(self._columns)})"

    def classes_of(self, rows: Places) -> MDAV:
        """The classes of some rows of the sample, with the k of the table."""
        mdav = MDAV(k=self._k, scale="standardised")
        mdav.fit(clustered_records(self._sample, self._columns, rows, k=self._k))
        return mdav

    def split(self, part: Part, *, draw: int) -> Split:
        sample = self._sample
        training = part.training[:MOST_ROWS]
        k = max(min(2, self._k), round(self._k * len(training) / sample.table_rows))
        fitted = MDAV(k=k, scale="standardised").fit(clustered_records(sample, self._columns, training, k=self._k))
        columns = []
        numeric = categorical = 0
        for name, codes in sample.codes.items():
            domain = sample.histograms[name].domain
            testing = codes[part.testing]
            if name not in self._columns:
                columns.append(SplitColumn(CodedColumn.of(domain), training=codes[training], testing=testing))
        for name in self._columns:
            domain = sample.histograms[name].domain
            testing = sample.codes[name][part.testing]
            numbers = as_numbers(domain) if domain.kind.is_ordered else None
            if numbers is None:
                centres = fitted.centers_.categorical[:, categorical][fitted.labels_].astype(np.int32)
                columns.append(SplitColumn(CodedColumn.of(domain, more=1), training=centres, testing=testing))
                categorical += 1
                continue
            both = np.concatenate([numbers, [np.nan] * domain.missing, fitted.centers_.numeric[:, numeric]])
            described = CodedColumn(size=len(both), numbers=both)
            places = (domain.size + fitted.labels_).astype(np.int32)
            columns.append(SplitColumn(described, training=places, testing=testing))
            numeric += 1
        target = part.training_target.at(np.arange(len(training)))
        return Split(columns=tuple(columns), target=target, test_rows=len(part.testing), real_test_rows=True)


def clustered_records(sample: Sample, columns: tuple[str, ...], rows: Places, *, k: int) -> Records:
    """Some rows of a sample as records: ordered columns as numbers, the others as categories by their codes.

    As in the table that `anonymize` writes, missing numbers stand at the median of the others, and categories that
    fewer than k records have, or fewer than may be named, are one more category after those of the domain.
    """
    numbers, categories = [], []
    numeric_names, categorical_names, values = [], [], []
    for name in columns:
        domain = sample.histograms[name].domain
        codes = sample.codes[name][rows].astype(np.int64)
        value_numbers = as_numbers(domain) if domain.kind.is_ordered else None
        if value_numbers is None:
            rare = ~may_name(sample.histograms[name].counts, at_least=k)
            rare[len(domain.values) :] = False  # a missing value names nobody
            categories.append(np.where(rare[codes], domain.size, codes))
            categorical_names.append(name)
            values.append(np.arange(domain.size + 1))
            continue
        absent = codes == len(value_numbers)
        if absent.all():
            raise AnonymizerError(f"numeric column {name!r} has no value in these rows, and so no mean")
        median = np.median(value_numbers[codes[~absent]])
        numbers.append(np.append(value_numbers, median)[codes])
        numeric_names.append(name)
    return Records(
        numeric=np.column_stack(numbers) if numbers else np.empty((len(rows), 0)),
        categorical=np.column_stack(categories) if categories else np.empty((len(rows), 0), dtype=np.int64),
        sensitive=np.empty((len(rows), 0), dtype=np.int64),
        numeric_names=tuple(numeric_names),
        categorical_names=tuple(categorical_names),
        sensitive_names=(),
        categories=tuple(values),
        quasi_identifiers=columns,
    )
