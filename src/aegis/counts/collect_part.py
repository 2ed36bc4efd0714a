"""Count a new part of a table as the parts before it were counted, so that the counts can be added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.counts.answer import NO_LIMIT
from aegis.counts.binned import Binned, binned
from aegis.counts.collect import counted_joint, histogram_of
from aegis.counts.joint import Histogram, Joint, TableCounts
from aegis.counts.summary import Summary
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError, SummaryError
from aegis.progress import Progress

_MANY_VALUES = 1_000_000  # of one column that was counted by value before


def count_part(dataset: Dataset, like: Summary, *, progress: Progress | None = None) -> TableCounts:
    """Count the columns of ``like`` in ``dataset``: by value what it has by value, else in the very same ranges.

    Numbers below the first range are in the first, those above the last in the last.
    """
    domains = {like.label: like.label_histogram.domain}
    for name, attribute in like.attributes.items():
        if attribute.domain is None:
            raise SummaryError(f"the summary {like.name} does not tell the values of {name!r}; add to one that does")
        domains[name] = attribute.domain
    _check_columns(dataset, like, domains)
    columns = {name: _as_before(dataset, name, domain) for name, domain in domains.items()}
    label = histogram_of(dataset, columns[like.label], NO_LIMIT)
    assert label is not None
    if not len(label.counts):
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    domain, codes = _all_ranges(label.domain, domains[like.label])
    counts = np.zeros(domain.size, dtype=np.int64)
    counts[codes] = label.counts
    label = Histogram(domain=domain, counts=counts)
    joints: dict[str, Joint] = {}
    for done, name in enumerate(like.attributes):
        if progress is not None:
            progress(done, len(like.attributes), name)
        joint = counted_joint(dataset, columns[name], columns[like.label], label.domain, _MANY_VALUES)
        if joint is None:
            raise DataError(
                f"the column {name!r} has more than {_MANY_VALUES:,} distinct values here and was counted by value "
                "before; summarise all parts anew"
            )
        domain, codes = _all_ranges(joint.attribute, domains[name])
        counts = np.zeros((domain.size, label.domain.size), dtype=np.int64)
        counts[codes] = joint.counts
        joints[name] = Joint(attribute=domain, label=label.domain, counts=counts)
    if progress is not None:
        progress(len(joints), len(joints), "done")
    return TableCounts(
        rows=int(label.counts.sum()), label=like.label, label_histogram=label, joints=joints, skipped=like.skipped
    )


def _check_columns(dataset: Dataset, like: Summary, domains: Mapping[str, Domain]) -> None:
    absent = [name for name in domains if name not in dataset.schema]
    if absent:
        raise DataError(f"{dataset.name} lacks the column {absent[0]!r} that the summary counts; add it, or start anew")
    new = [name for name in dataset.schema.names if name not in domains and name not in like.skipped]
    if new:
        raise DataError(
            f"{dataset.name} has the column {new[0]!r}, which the summary does not count; leave it out, or start anew"
        )
    for name, domain in domains.items():
        kind = dataset.schema.kind(name)
        if kind is not domain.kind and not {kind, domain.kind} <= {Kind.INTEGER, Kind.REAL}:
            raise DataError(f"the column {name!r} holds {kind} here and held {domain.kind} before; give it one type")


def _as_before(dataset: Dataset, name: str, domain: Domain) -> Binned:
    column, kind = dataset.table[name], dataset.schema.kind(name)
    if not domain.discretised:
        return Binned(source=column, kind=kind)
    if domain.kind.is_number:
        # Decimals do not round: where one part has them the ranges of all are decimal.
        kind = Kind.REAL if Kind.REAL in (kind, domain.kind) else kind
        column = column.cast("int64" if kind is Kind.INTEGER else "float64")
        return Binned(source=column, kind=kind, starts=domain.values.astype(kind.dtype), discretised=True)
    return binned(dataset, column, kind, 2)  # dates and times, by month as ever


def _all_ranges(part: Domain, whole: Domain) -> tuple[Domain, NDArray[np.int64]]:
    """The domain with all ranges that are known, and the place of each value that was found in it."""
    if not whole.discretised or not whole.kind.is_number:
        return part, np.arange(part.size)
    domain = replace(whole, kind=part.kind, values=whole.values.astype(part.kind.dtype), missing=part.missing)
    codes = domain.codes(part.values)
    return domain, np.append(codes, [len(domain.values)] * part.missing).astype(np.int64)
