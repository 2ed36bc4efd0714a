"""Rows to counts: the only place that asks an engine to GROUP BY.

Each attribute is counted with the label once. Every configuration after that is a merge of those counts, so this is
where the cost of the advisor lies, and it does not depend on how many configurations there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.counts.answer import NO_LIMIT, distinct_in_first, grouped, plain
from aegis.counts.binned import Binned, binned, binned_counts, count_bins
from aegis.counts.joint import Histogram, Joint, TableCounts, check_classes, check_filled
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import DataError, LabelError
from aegis.progress import Progress

_FEW_ROWS = 500_000  # up to here even a value of its own in every row is no burden
_MOST_TOGETHER = 4_096
"""Two attributes are counted in one pass over the rows where they and the label need at most so many places, powers of
two for each: DuckDB counts so few in a plain array, and more in a table that costs more than a second pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Up to how many distinct values a domain is exact; numbers and times beyond are discretised by the engine."""

    numbers: int = 5_000
    texts: int = 20_000
    bins: int = 512
    label_classes: int = 50
    peek_rows: int = 25_000


def count_table(
    dataset: Dataset,
    *,
    label: str | None,
    label_bins: int | None = None,
    continuous_bins: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> TableCounts:
    """Count every attribute with the label; raises where the label or a column holds nothing to rank by."""
    if label is None:
        raise LabelError(
            f"no label is given for {dataset.name}; name the column to be predicted with --label or in its roles file"
        )
    counted = count_joints(
        dataset, label=label, label_bins=label_bins, continuous_bins=continuous_bins, limits=limits, progress=progress
    )
    check_classes(label, counted.label_histogram.counts)
    check_filled({name: joint.attribute for name, joint in counted.joints.items()})
    return counted


def count_joints(
    dataset: Dataset,
    *,
    label: str,
    label_bins: int | None = None,
    continuous_bins: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> TableCounts:
    """Count every attribute of ``dataset`` with ``label``; identifying columns are not attributes.

    ``label_bins`` cuts a label of numbers into so many classes; ``continuous_bins`` does so only where it has too many
    values to be counted one by one.
    """
    limits = limits or Limits()
    label_column, label_histogram = _label(dataset, label, label_bins, limits, continuous_bins)
    attributes = [c for c in dataset.schema if c.name != label and dataset.roles.get(c.name) is not Role.IDENTIFYING]
    if not attributes:
        raise DataError(f"{dataset.name} has no attribute beside the label; add a column or take a role away")
    skipped = {
        column.name: "identifying: never counted"
        for column in dataset.schema
        if dataset.roles.get(column.name) is Role.IDENTIFYING and column.name != label
    }
    rows = int(label_histogram.counts.sum())
    distinct = distinct_in_first(dataset.rows, [c.name for c in attributes], first=limits.peek_rows)
    large = _large(dataset, distinct, limits)
    few = {name: values for name, values in distinct.items() if name not in large}
    partners = _partners(few, label_histogram.domain.size)
    together: dict[str, Joint] = {}
    joints: dict[str, Joint] = {}
    for number, column in enumerate(attributes):
        if progress is not None:
            progress(number, len(attributes), column.name)
        partner = partners.get(column.name)
        if partner is not None and partner not in joints:
            together |= _two_joints(dataset, (column.name, partner), label_column, label_histogram.domain, limits)
        joint = together.get(column.name)
        if joint is None:
            joint = _joint(dataset, column.name, column.kind, label_column, label_histogram.domain, limits, large, rows)
        if joint is None:
            skipped[column.name] = f"more than {limits.texts:,} distinct texts: not counted"
        else:
            joints[column.name] = joint
    if progress is not None:
        progress(len(attributes), len(attributes), "done")
    if not joints:
        raise DataError(f"no column of {dataset.name} can be counted: all have too many distinct texts")
    return TableCounts(
        rows=rows,
        label=label,
        label_histogram=label_histogram,
        joints=joints,
        skipped=skipped,
    )


def count_histograms(dataset: Dataset, columns: Sequence[str], *, limits: Limits | None = None) -> dict[str, Histogram]:
    """Count some columns alone, for masks that read edges, ranges or categories off the data."""
    limits = limits or Limits()
    distinct = distinct_in_first(dataset.rows, columns, first=limits.peek_rows) if columns else {}
    large = _large(dataset, distinct, limits)
    histograms = {}
    for name in columns:
        kind = dataset.schema.kind(name)
        histogram = None
        if name not in large or not kind.is_number:
            limit = limits.numbers if kind.is_number else NO_LIMIT
            histogram = histogram_of(dataset, Binned(source=name, kind=kind), limit)
        if histogram is None:
            histogram = histogram_of(dataset, binned(dataset, name, kind, limits.bins), NO_LIMIT)
        assert histogram is not None
        histograms[name] = histogram
    return histograms


def _label(
    dataset: Dataset, label: str, bins: int | None, limits: Limits, continuous_bins: int | None
) -> tuple[Binned, Histogram]:
    """The label as it is counted, with its histogram, or the reason why it cannot be a label."""
    if label not in dataset.schema:
        raise LabelError(f"there is no column {label!r}; the columns are {', '.join(dataset.schema.names)}")
    kind = dataset.schema.kind(label)
    if bins is not None:
        if not kind.is_number:
            raise LabelError(f"the label {label!r} holds {kind}, not numbers: leave out its bins")
        if bins < 2:
            raise LabelError("a label needs at least 2 bins")
        counted = binned(dataset, label, kind, bins)
    else:
        counted = Binned(source=label, kind=kind)
        histogram = histogram_of(dataset, counted, limits.texts)
        if continuous_bins is None or not kind.is_ordered or not _is_continuous(histogram, limits):
            return counted, _checked_label(label, kind, dataset, histogram, limits)
        counted = _binned_label(dataset, label, kind, histogram, continuous_bins)
    return counted, _checked_label(label, kind, dataset, histogram_of(dataset, counted, limits.texts), limits)


def _binned_label(dataset: Dataset, label: str, kind: Kind, histogram: Histogram | None, bins: int) -> Binned:
    """A label of numbers or dates in a few neighbourhoods; months may be too many to be classes."""
    by_engine = binned(dataset, label, kind, bins)
    if kind.is_number:
        return by_engine
    dates = histogram or histogram_of(dataset, by_engine, NO_LIMIT)
    assert dates is not None
    values = len(dates.domain.values)
    starts, _ = binned_counts(dates.domain.values, dates.counts[:values].reshape(-1, 1), bins)
    return Binned(source=dataset.table[label], kind=kind, starts=starts, discretised=True)


def _is_continuous(histogram: Histogram | None, limits: Limits) -> bool:
    return histogram is None or len(histogram.domain.values) > limits.label_classes


def _checked_label(label: str, kind: Kind, dataset: Dataset, histogram: Histogram | None, limits: Limits) -> Histogram:
    if histogram is None:
        raise LabelError(f"the label {label!r} has more than {limits.texts:,} distinct values: it names no classes")
    if not len(histogram.counts):
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    if not len(histogram.domain.values):
        raise LabelError(f"the label {label!r} is missing in every row; choose another column")
    if histogram.domain.size == 1:
        raise LabelError(f"the label {label!r} has the same value in every row; choose a column that varies")
    if kind.is_ordered and len(histogram.domain.values) > limits.label_classes:
        noun, advice = (
            ("numbers", "cut it into classes, for example with --label-bins 4")
            if kind.is_number
            else (f"{kind}s", "choose a column of classes, for example its year")
        )
        raise LabelError(
            f"the label {label!r} looks continuous ({len(histogram.domain.values):,} distinct {noun}); {advice}"
        )
    return histogram


def histogram_of(dataset: Dataset, counted: Binned, limit: int) -> Histogram | None:
    """A column alone, or None where it has more than ``limit`` values."""
    answer = grouped(dataset.rows, {"a": counted.column}, limit=limit + 2)
    if len(answer) > limit + 1:
        return None
    domain, codes = counted.encoded(answer["a"])
    counts = np.zeros(domain.size, dtype=np.int64)
    np.add.at(counts, codes, plain(answer["n"]))
    return Histogram(domain=domain, counts=counts)


def _large(dataset: Dataset, distinct: Mapping[str, int], limits: Limits) -> set[str]:
    """Columns whose first rows already hold more distinct values than their limit: never group these by value."""
    return {name for name, values in distinct.items() if values > _limit(dataset.schema.kind(name), limits)}


def _partners(distinct: Mapping[str, int], labels: int) -> dict[str, str]:
    """Which attributes are counted two at a time, each with its partner: that with most values that both can afford.

    >>> _partners({"sex": 2, "age": 70, "zip": 900, "job": 12}, 2)
    {'age': 'sex', 'sex': 'age'}
    """
    places = {name: 1 << (values + 1).bit_length() for name, values in distinct.items()}
    left = sorted(distinct, key=lambda name: -distinct[name])
    partners: dict[str, str] = {}
    while left:
        first = left.pop(0)
        room = _MOST_TOGETHER // ((1 << (labels + 1).bit_length()) * places[first])
        other = next((name for name in left if places[name] <= room), None)
        if other is not None:
            left.remove(other)
            partners |= {first: other, other: first}
    return partners


def _two_joints(
    dataset: Dataset, names: tuple[str, str], label: Binned, label_domain: Domain, limits: Limits
) -> dict[str, Joint]:
    """Two columns, each with the label, in one pass; without those that have more values than the first rows show."""
    columns = {name: Binned(source=name, kind=dataset.schema.kind(name)) for name in names}
    expressions = {key: column.column for key, column in zip("ab", columns.values(), strict=True)}
    answer = grouped(dataset.rows, {**expressions, "y": label.column}, limit=_MOST_TOGETHER + 1)
    if len(answer) > _MOST_TOGETHER:
        return {}
    labels = label.codes_in(answer["y"], label_domain)
    joints = {}
    for key, (name, column) in zip("ab", columns.items(), strict=True):
        domain, codes = column.encoded(answer[key])
        if domain.size > _limit(column.kind, limits) + 1:
            continue
        counts = np.zeros((domain.size, label_domain.size), dtype=np.int64)
        np.add.at(counts, (codes, labels), plain(answer["n"]))
        joints[name] = Joint(attribute=domain, label=label_domain, counts=counts)
    return joints


def _limit(kind: Kind, limits: Limits) -> int:
    return limits.numbers if kind.is_number else limits.texts


def _joint(
    dataset: Dataset,
    name: str,
    kind: Kind,
    label: Binned,
    label_domain: Domain,
    limits: Limits,
    large: set[str],
    rows: int,
) -> Joint | None:
    limit = _limit(kind, limits)
    if name not in large:
        joint = counted_joint(dataset, Binned(source=name, kind=kind), label, label_domain, limit)
        if joint is not None:
            return joint
    if not kind.is_ordered:
        return None
    if kind.is_number and rows <= _FEW_ROWS:
        # So few groups can come that the bins are made of exact counts, here.
        exact = counted_joint(dataset, Binned(source=name, kind=kind), label, label_domain, rows)
        assert exact is not None
        values = len(exact.attribute.values)
        starts, counts = binned_counts(exact.attribute.values, exact.counts[:values], limits.bins)
        domain = Domain(kind=kind, values=starts, missing=exact.attribute.missing, discretised=True)
        return Joint(attribute=domain, label=label_domain, counts=np.concatenate([counts, exact.counts[values:]]))
    return counted_joint(dataset, binned(dataset, name, kind, limits.bins), label, label_domain, limit)


def counted_joint(dataset: Dataset, counted: Binned, label: Binned, label_domain: Domain, limit: int) -> Joint | None:
    """A column with the label, or None where it has more than ``limit`` values."""
    most = (limit + 1) * label_domain.size
    if counted.starts is not None:
        answer = count_bins(dataset.table, counted, label)
    else:
        answer = grouped(dataset.rows, {"a": counted.column, "y": label.column}, limit=most + 1)
    domain, rows = counted.encoded(answer["a"])
    if domain.size > limit + 1 or len(answer) > most:
        return None
    columns = label.codes_in(answer["y"], label_domain)
    counts = np.zeros((domain.size, label_domain.size), dtype=np.int64)
    counts[rows, columns] = plain(answer["n"])
    return Joint(attribute=domain, label=label_domain, counts=counts)
