"""Summaries of parts of a table add up to the summary of the whole, exactly: counts of disjoint rows are sums.

At level ``2d`` the joints are added and every mask is applied anew to the sum, so the result is what counting all rows
together would have told, masks that read edges off the counts included. Below that level only what was published can be
added: masked joints, and only under masks that do the same to every part. What cannot be added exactly is refused.

So `count_part` counts a new part as the parts before it were counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from aegis.counts.answer import NO_LIMIT
from aegis.counts.binned import Binned, binned
from aegis.counts.collect import counted_joint, histogram_of
from aegis.counts.consistency import check_margins
from aegis.counts.joint import Counts, Histogram, Joint, TableCounts
from aegis.counts.summary import (
    AttributeSummary,
    Level,
    RangedHistogram,
    Summary,
    configuration_of,
    masked_counts,
)
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError, SummaryError
from aegis.masking.mask import Mask
from aegis.masking.transition import Transition, transition
from aegis.progress import Progress

_EXACT = 2**53  # whole numbers up to here are exact as decimals
_MANY_VALUES = 1_000_000  # of one column that was counted by value before


def add_summaries(parts: Sequence[Summary], *, name: str | None = None) -> Summary:
    """The summary of all rows that ``parts`` counted, none of them counted twice.

    Scores of pairs of attributes cannot be added and are left out: the sum is ranked by single attributes.
    """
    _check_alike(parts)
    first = parts[0]
    label = _united([part.label_histogram.domain for part in parts], first.label)
    histogram = Histogram(
        domain=label,
        counts=_sum(_placed(part.label_histogram.counts, part.label_histogram.domain, label) for part in parts),
    )
    skipped = {column: why for part in parts for column, why in part.skipped.items()}
    names = [attribute for attribute in first.attributes if attribute not in skipped]
    if not names:
        raise SummaryError("no attribute was counted in all of the parts; summarise them again with the same columns")
    if first.level is Level.TWO_D:
        whole = masked_counts(
            name=name or first.name,
            label=first.label,
            label_histogram=histogram,
            joints={attribute: _joints(parts, attribute, label) for attribute in names},
            configurations=[configuration_of(first, configuration.name) for configuration in first.configurations],
            skipped=skipped,
        )
    else:
        whole = replace(
            first,
            name=name or first.name,
            rows=histogram.rows,
            label_histogram=histogram,
            label_masks={
                ident: (mask, _same(mask, label, first.label)) for ident, (mask, _) in first.label_masks.items()
            },
            skipped=skipped,
            scores={},
            race=None,
        )
        whole = replace(whole, attributes={attribute: _attributes(parts, attribute, whole) for attribute in names})
    whole = replace(
        whole,
        configurations=tuple(
            replace(
                configuration, masks={column: mask for column, mask in configuration.masks.items() if column in names}
            )
            for configuration in first.configurations
        ),
        parts=tuple(part_name for part in parts for part_name in part.parts or (part.name,)),
        named_from=sum(part.named_from for part in parts),  # one person may have the most rows in several parts
    )
    check_margins(whole)
    return whole


def check_addable(part: Summary, which: str) -> None:
    """Raise if the counts of a summary cannot be added to others; ``which`` is what to call it."""
    if part.protection is not None:
        raise SummaryError(
            f"{which} was protected by merging or noise, and such counts do not add up to those of the whole; "
            "add the unprotected ones, and protect the sum"
        )
    if part.opaque:
        raise SummaryError(
            f"{which} names its masks by numbers only, so nobody knows which cells belong together; add the "
            "summaries before they are made opaque"
        )
    if part.rejected:
        raise SummaryError(
            f"{which} was made under a policy, and no part can say whether the whole satisfies one; summarise "
            "without it, and check the configuration that is chosen"
        )


def _check_alike(parts: Sequence[Summary]) -> None:
    if len(parts) < 2:
        raise SummaryError("there is nothing to add; give two summaries or more")
    first = parts[0]
    for number, part in enumerate(parts, start=1):
        which = f"summary {number} ({part.name})"
        check_addable(part, which)
        if part.level is not first.level:
            raise SummaryError(
                f"{which} has level {part.level.value} and the first {first.level.value}; give them the same level"
            )
        if part.label != first.label:
            raise SummaryError(f"{which} is about the label {part.label!r} and the first about {first.label!r}")
        first_settings, other_settings = (
            {configuration.name: dict(configuration.masks) for configuration in s.configurations} for s in (first, part)
        )
        shared = set(first.attributes) & set(part.attributes)
        if (
            list(first_settings) != list(other_settings)
            or any(
                first_settings[configuration].get(column) != other_settings[configuration].get(column)
                for configuration in first_settings
                for column in shared
            )
            or [configuration.label_mask for configuration in first.configurations]
            != [configuration.label_mask for configuration in part.configurations]
        ):
            raise SummaryError(f"{which} has other configurations than the first; summarise it under the same ones")
        for summary, other in ((first, part), (part, first)):
            missing = [column for column in summary.attributes if column not in other.attributes]
            absent = [column for column in missing if column not in other.skipped]
            if absent:
                raise SummaryError(f"{which} and the first do not have the same columns: {', '.join(absent)}")


def _united(domains: Sequence[Domain], column: str) -> Domain:
    """All values of some domains; ranges must be the same ones, for they cannot be cut anew."""
    kinds = {domain.kind for domain in domains}
    kind = Kind.REAL if kinds == {Kind.INTEGER, Kind.REAL} else domains[0].kind
    if len(kinds) > 1 and kind is not Kind.REAL:
        named = " and ".join(sorted(kind.value for kind in kinds))
        raise SummaryError(f"the column {column!r} holds {named} in different parts; give it one type everywhere")
    if len({domain.discretised for domain in domains}) > 1 or (
        domains[0].discretised
        and kind.is_number
        and any(not np.array_equal(domain.values, domains[0].values) for domain in domains)
    ):
        raise SummaryError(
            f"the column {column!r} was counted in other ranges in different parts; count new parts with "
            "aegis summarize --append, which uses the ranges of the first"
        )
    if len(kinds) > 1 and any(
        domain.kind is Kind.INTEGER and len(domain.values) and np.abs(domain.values).max() > _EXACT
        for domain in domains
    ):
        raise SummaryError(f"the column {column!r} holds numbers too large to be decimals too; give it one type")
    return Domain.of(
        kind,
        np.concatenate([domain.values.astype(kind.dtype) for domain in domains]),
        missing=any(domain.missing for domain in domains),
        discretised=domains[0].discretised,
    )


def _sum(counts: Iterable[Counts]) -> Counts:
    return reduce(np.add, counts)


def _placed(counts: Counts, old: Domain, new: Domain, *, axis: int = 0) -> Counts:
    """Counts by the codes of ``old`` as counts by those of ``new``, which holds all its values."""
    codes = new.codes(old.values.astype(new.kind.dtype))
    if old.missing:
        codes = np.append(codes, len(new.values))
    shape = list(counts.shape)
    shape[axis] = new.size
    placed = np.zeros(shape, dtype=counts.dtype)
    placed[(slice(None),) * axis + (codes,)] = counts
    return placed


def _joints(parts: Sequence[Summary], name: str, label: Domain) -> Joint:
    joints = [part.attributes[name].joint for part in parts]
    assert all(joint is not None for joint in joints), "a 2d summary tells every joint"
    present = [joint for joint in joints if joint is not None]
    domain = _united([joint.attribute for joint in present], name)
    return Joint(attribute=domain, label=label, counts=_sum(_of_joint(joint, domain, label) for joint in present))


def _of_joint(joint: Joint, attribute: Domain, label: Domain) -> Counts:
    return _placed(_placed(joint.counts, joint.attribute, attribute), joint.label, label, axis=1)


def _attributes(parts: Sequence[Summary], name: str, whole: Summary) -> AttributeSummary:
    """An attribute of which less than the joint is told."""
    attributes = [part.attributes[name] for part in parts]
    domains = [attribute.domain for attribute in attributes if attribute.domain is not None]
    domain = _united(domains, name)
    histogram = None
    if attributes[0].histogram is not None:
        histogram = RangedHistogram.of_values(
            Histogram(domain=domain, counts=_sum(_of_values(attribute, name, domain) for attribute in attributes))
        )
    masked = {}
    for key, first in attributes[0].masked.items():
        change = _same(first.mask, domain, name)
        on_label = None if first.label_mask is None else whole.label_masks[first.label_mask][1]
        label = whole.label_histogram.domain if on_label is None else on_label.target
        counts = _sum(_of_joint(attribute.masked[key].joint, change.target, label) for attribute in attributes)
        joint = Joint(attribute=change.target, label=label, counts=counts)
        masked[key] = replace(first, change=change, joint=joint)
    return AttributeSummary(name=name, domain=domain, histogram=histogram, joint=None, masked=masked)


def _of_values(attribute: AttributeSummary, name: str, domain: Domain) -> Counts:
    assert attribute.histogram is not None
    assert attribute.domain is not None
    if not np.array_equal(attribute.histogram.codes, np.arange(attribute.domain.size)):
        raise SummaryError(f"the histogram of {name!r} is told in ranges, which cannot be cut anew; tell it by value")
    return _placed(attribute.histogram.counts, attribute.domain, domain)


def _same(mask: Mask | None, domain: Domain, column: str) -> Transition:
    """What a mask does to a domain, if it does the same to every part of it."""
    assert mask is not None
    mask.check_domain(domain, column=column)
    if mask.resolve(domain, np.ones(domain.size)) != mask:
        raise SummaryError(
            f"a mask of {column!r} ({mask.describe()}) reads its edges or values off the rows of each part; fit it "
            "first, or add summaries of level 2d"
        )
    return transition(mask, domain, np.ones(domain.size))


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
    for number, name in enumerate(like.attributes):
        if progress is not None:
            progress(number, len(like.attributes), name)
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
    kind = dataset.schema.kind(name)
    if not domain.discretised:
        return Binned(source=name, kind=kind)
    if domain.kind.is_number:
        # Decimals do not round: where one part has them the ranges of all are decimal.
        kind = Kind.REAL if Kind.REAL in (kind, domain.kind) else kind
        column = dataset.table[name].cast("int64" if kind is Kind.INTEGER else "float64")
        return Binned(source=column, kind=kind, starts=domain.values.astype(kind.dtype), discretised=True)
    return binned(dataset, name, kind, 2)  # dates and times, by month as ever


def _all_ranges(part: Domain, whole: Domain) -> tuple[Domain, NDArray[np.int64]]:
    """The domain with all ranges that are known, and the place of each value that was found in it."""
    if not whole.discretised or not whole.kind.is_number:
        return part, np.arange(part.size)
    domain = replace(whole, kind=part.kind, values=whole.values.astype(part.kind.dtype), missing=part.missing)
    codes = domain.codes(part.values)
    return domain, np.append(codes, [len(domain.values)] * part.missing).astype(np.int64)
