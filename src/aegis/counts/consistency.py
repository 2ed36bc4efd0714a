"""Do the counts of a summary agree with each other? A contradiction is an error that says where and by how much.

Can two groupings of one column's values come from the same rows? Groups of two partitions that share a value hang
together; the sets that hang together, *blocks*, are what both can count, and there they must agree. Where one partition
refines the other the blocks are the coarser groups. Agreement with a partition implies agreement with all it refines,
so each one is compared with those only that nothing refines: a handful, however many masks there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.counts.summary import AttributeSummary, MaskedJoint, Summary
from aegis.errors import SummaryError
from aegis.masking.transition import Partition

_TOLERANCE = 1e-6


def check_margins(summary: Summary) -> None:
    """Raise unless every count is whole, and every margin that is told twice is told the same."""
    label = summary.label_histogram.counts
    _whole(label, "the label's histogram")
    _agree(label.sum(), summary.rows, "the label's histogram and the number of rows")
    for attribute in summary.attributes.values():
        _check_attribute(attribute, summary, label)
        _check_masks(attribute, summary)
    _check_configurations(summary)


def _check_configurations(summary: Summary) -> None:
    """Raise unless every configuration names a masked joint of every attribute."""
    for configuration in summary.configurations:
        for name, ident in configuration.masks.items():
            if name not in summary.attributes:
                raise SummaryError(
                    f"configuration {configuration.name!r} names the attribute {name!r}, which the summary lacks"
                )
            if (ident, configuration.label_mask) not in summary.attributes[name].masked:
                raise SummaryError(
                    f"configuration {configuration.name!r} has no masked joint of {name!r}; write the summary again"
                )
        absent = set(summary.attributes) - set(configuration.masks)
        if absent:
            raise SummaryError(f"configuration {configuration.name!r} says nothing of {', '.join(sorted(absent))}")
    for name, scores in summary.scores.items():
        if len(scores.utilities) != len(summary.configurations):
            raise SummaryError(f"there are not as many scores of {name} as configurations; write the summary again")
    if not summary.configurations:
        raise SummaryError("the summary holds no configuration; write it again with some")


def _check_attribute(attribute: AttributeSummary, summary: Summary, label: Counts) -> None:
    name = attribute.name
    value_counts: Counts | None = None  # the counts of single values, where the summary tells them
    if attribute.joint is not None:
        _whole(attribute.joint.counts, f"the joint of {name!r}")
        _agree(attribute.joint.counts.sum(axis=0), label, f"the joint of {name!r} and the label's histogram")
        value_counts = attribute.joint.counts.sum(axis=1)
    if attribute.histogram is not None:
        histogram = attribute.histogram
        _whole(histogram.counts, f"the histogram of {name!r}")
        _agree(histogram.counts.sum(), summary.rows, f"the histogram of {name!r} and the number of rows")
        if attribute.domain is None or not _fits(histogram.codes, attribute.domain.size, len(histogram.counts)):
            raise SummaryError(f"the histogram of {name!r} does not cover its domain; write the summary again")
        if value_counts is not None:
            by_group = np.bincount(histogram.codes, weights=value_counts, minlength=len(histogram.counts))
            _agree(by_group, histogram.counts, f"the joint and the histogram of {name!r}")
        elif len(histogram.counts) == attribute.domain.size:
            value_counts = np.bincount(np.arange(attribute.domain.size), weights=histogram.counts[histogram.codes])
    for number, masked in enumerate(attribute.masked.values(), start=1):
        counts, where = masked.joint.counts, f"masked joint {number} of {name!r}"
        on_label = summary.label_masks[masked.label_mask][1] if masked.label_mask is not None else None
        _agree(counts.sum(), summary.rows, f"{where} and the number of rows")
        if masked.label_mask is None:
            _agree(counts.sum(axis=0), label, f"{where} and the label's histogram")
        elif on_label is not None:
            _agree(counts.sum(axis=0), on_label.push(label), f"{where} and the masked label's histogram")
        if masked.change is None:
            continue
        size = attribute.domain.size if attribute.domain is not None else _source_size(masked.change)
        if (
            masked.change.target.size != masked.joint.attribute.size
            or _source_size(masked.change) != size
            or (isinstance(masked.change, Partition) and not _fits(masked.change.codes, size, len(counts)))
        ):
            raise SummaryError(f"the mask of {where} does not fit its domain; write the summary again")
        if isinstance(masked.change, Partition) and (on_label is None or isinstance(on_label, Partition)):
            _whole(counts, where)
        if value_counts is not None:
            _agree(
                counts.sum(axis=1), masked.change.push(value_counts), f"{where} and what is told of {name!r} unmasked"
            )


def _check_masks(attribute: AttributeSummary, summary: Summary) -> None:
    """Raise where two things told of an attribute cannot come from the same rows, whatever its unmasked joint is.

    What a random mask publishes is an expectation over all values of the attribute: it is compared with the joint
    where that is told, and says nothing exact about another mask.
    """
    if attribute.joint is not None:
        for masked in attribute.masked.values():
            on_label = None if masked.label_mask is None else summary.label_masks[masked.label_mask][1]
            if masked.change is not None and (masked.label_mask is None or on_label is not None):
                expected = attribute.joint.masked(masked.change, on_label).counts
                _agree(masked.joint.counts, expected, f"{_named(masked)} and the joint of {attribute.name!r}")
        return
    groupings: dict[str | None, list[Grouping]] = {}
    for masked in attribute.masked.values():
        if isinstance(masked.change, Partition):
            by_label = groupings.setdefault(masked.label_mask, [])
            by_label.append(Grouping(title=_named(masked), codes=masked.change.codes, counts=masked.joint.counts))
    for label_mask, by_label in groupings.items():
        on_label = None if label_mask is None else summary.label_masks[label_mask][1]
        # A label that a mask merged is told by what it was merged from too.
        merged = (
            [grouping.by(on_label) for grouping in groupings.get(None, ())] if isinstance(on_label, Partition) else []
        )
        check_groupings([*by_label, *merged], attribute.name)
    alone = [grouping.in_all() for by_label in groupings.values() for grouping in by_label]
    if attribute.histogram is not None:
        ranges = attribute.histogram
        alone.append(Grouping(title="the histogram", codes=ranges.codes, counts=ranges.counts))
    if attribute.histogram is not None or len(groupings) > 1:
        check_groupings(alone, attribute.name)


def _named(masked: MaskedJoint) -> str:
    """The mask of a masked joint: its parameters are published, the values it acts on stay unsaid."""
    return f"mask {masked.id}" + ("" if masked.mask is None else f" ({masked.mask.describe()})")


def _source_size(change: object) -> int:
    return len(change.codes) if isinstance(change, Partition) else int(change.matrix.shape[0])  # type: ignore[attr-defined]


def _fits(codes: Counts, values: int, groups: int) -> bool:
    """Whether each of so many values is in one of the groups, and each group has one."""
    inside = len(codes) == values and int(codes.min(initial=0)) >= 0 and int(codes.max(initial=-1)) < groups
    return inside and len(np.unique(codes)) == groups


def _whole(counts: Counts, where: str) -> None:
    if not np.allclose(counts, np.round(counts), rtol=0, atol=1e-9):
        raise SummaryError(f"{where} holds fractional counts; counts of records are whole numbers")


def _agree(counted: Counts, other: Counts | float, where: str) -> None:
    counted, other = np.asarray(counted, dtype=float), np.asarray(other, dtype=float)
    if counted.shape != other.shape:
        raise SummaryError(f"{where} do not have the same number of values")
    apart = float(np.abs(counted - other).max(initial=0.0))
    if apart > _TOLERANCE * max(1.0, float(np.abs(other).max(initial=0.0))):
        raise SummaryError(
            f"{where} contradict each other by up to {apart:g} record{'' if apart == 1 else 's'}; "
            f"write the summary again"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grouping:
    """Value a is in group ``codes[a]``, which has ``counts[group]`` records, in all or with each label."""

    title: str
    codes: NDArray[np.int64]
    counts: Counts

    @property
    def groups(self) -> int:
        return len(self.counts)

    def by(self, label: Partition) -> Grouping:
        """The same by a coarser label."""
        return replace(self, counts=label.push(self.counts, axis=1))

    def in_all(self) -> Grouping:
        """The same without the label."""
        return replace(self, counts=self.counts.sum(axis=1))


def check_groupings(groupings: Sequence[Grouping], attribute: str) -> None:
    """Raise where two of these contradict each other, with their names and by how much, and without a value."""
    if len({len(grouping.codes) for grouping in groupings}) > 1:
        raise SummaryError(f"the masks of {attribute!r} are not of the same values; write the summary again")
    finest: list[Grouping] = []
    for grouping in sorted(groupings, key=lambda grouping: -grouping.groups):
        finer = next((other for other in finest if _refines(other, grouping)), None)
        if finer is not None:
            groups = np.zeros(finer.groups, dtype=np.int64)
            groups[finer.codes] = grouping.codes
            _compare(grouping, finer, np.arange(grouping.groups), groups, grouping.groups, attribute)
            continue
        for other in finest:
            blocks, ours, theirs = _blocks(grouping, other)
            _compare(grouping, other, ours, theirs, blocks, attribute)
        finest.append(grouping)


def _refines(fine: Grouping, coarse: Grouping) -> bool:
    group = np.zeros(fine.groups, dtype=np.int64)
    group[fine.codes] = coarse.codes
    return bool((group[fine.codes] == coarse.codes).all())


def _blocks(grouping: Grouping, other: Grouping) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """How many blocks there are, and the block of each group of either side."""
    from scipy.sparse import coo_array  # slow to import, and most summaries need no blocks
    from scipy.sparse.csgraph import connected_components

    size = grouping.groups + other.groups
    edges = coo_array(
        (np.ones(len(grouping.codes)), (grouping.codes, grouping.groups + other.codes)), shape=(size, size)
    )
    blocks, block = connected_components(edges.tocsr(), directed=False)
    return int(blocks), block[: grouping.groups], block[grouping.groups :]


def _compare(
    grouping: Grouping,
    other: Grouping,
    ours: NDArray[np.integer],
    theirs: NDArray[np.integer],
    blocks: int,
    attribute: str,
) -> None:
    gap = np.abs(_summed(grouping.counts, ours, blocks) - _summed(other.counts, theirs, blocks))
    allowed = _TOLERANCE * max(1.0, float(grouping.counts.max(initial=0)))
    apart, places = float(gap.max(initial=0.0)), int((gap > allowed).sum())
    if places:
        records = f"{apart:g} record{'' if apart == 1 else 's'}"
        raise SummaryError(
            f"two counts of {attribute!r} contradict each other, {other.title} and {grouping.title}: by up to "
            f"{records} in {places} place{'' if places == 1 else 's'}; they are not of the same rows, write the "
            "summary again"
        )


def _summed(counts: Counts, block: NDArray[np.integer], blocks: int) -> NDArray[np.float64]:
    summed = np.zeros((blocks, *counts.shape[1:]))
    np.add.at(summed, block, counts)
    return summed
