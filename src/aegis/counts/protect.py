"""Summaries that protect: small cells merged, or noise of differential privacy added.

*Merged*, every cell is empty or holds at least so many records. The values of each attribute are put into groups such
that every group, with every label, has enough records. All that is told of the attribute is then counted by group,
masked joints too: a mask acts on a group as it acts on the group's commonest value. So whatever is published is a
coarsening of the groups, and publishing much of it together shows nothing finer.

*Noisy*, the counts are differentially private: OpenDP draws the noise before anything is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, Histogram, Joint, TableCounts
from aegis.counts.protection import Protection
from aegis.counts.summary import AttributeSummary, RangedHistogram, Summary
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MissingExtraError, SummaryError
from aegis.masking.transition import Channel, Partition, Transition

OTHER = "(other)"
"""What a group of rare texts is called."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """A partition of a domain, with the code of the value that speaks for each group: its commonest."""

    partition: Partition
    speakers: NDArray[np.int64]


def merge_small(summary: Summary, min_count: int) -> Summary:
    """A full (``2d``) summary with the cells of fewer than ``min_count`` records merged into others.

    Scores of pairs are left out: they were measured on counts in which nothing is merged.
    """
    Protection(min_count=min_count)  # says what is wrong before anything is merged
    if summary.rows < 2 * min_count:
        raise SummaryError(f"the table has too few rows for cells of {min_count}; lower the minimum count")
    label_counts = summary.label_histogram.counts
    on_label = grouped(summary.label_histogram.domain, label_counts[:, None], min_count)
    if on_label.partition.target.size < 2:
        raise SummaryError(
            f"only one value of the label {summary.label!r} has {min_count} records or more; lower the minimum count"
        )
    label = on_label.partition.target
    label_masks = {
        ident: (mask, None if change is None else on_groups(change, on_label))
        for ident, (mask, change) in summary.label_masks.items()
    }
    attributes = {
        name: _merged(attribute, on_label, {ident: change for ident, (_, change) in label_masks.items()}, min_count)
        for name, attribute in summary.attributes.items()
    }
    sizes = {name: attribute.joint.attribute.size for name, attribute in summary.attributes.items() if attribute.joint}
    merged = [
        name for name, attribute in attributes.items() if attribute.domain and attribute.domain.size < sizes[name]
    ]
    if label.size < summary.label_histogram.domain.size:
        merged.append(summary.label)
    return replace(
        summary,
        label_histogram=Histogram(domain=label, counts=on_label.partition.push(label_counts)),
        label_masks=label_masks,
        attributes=attributes,
        scores={},
        race=None,
        protection=Protection(min_count=min_count, merged=tuple(merged)),
    )


def _merged(
    attribute: AttributeSummary, on_label: Groups, label_changes: dict[str, Transition | None], min_count: int
) -> AttributeSummary:
    if attribute.joint is None:
        raise SummaryError("small cells are merged in a full summary; merge before telling less")
    by_label = on_label.partition.push(attribute.joint.counts, axis=1)
    groups = grouped(attribute.joint.attribute, by_label, min_count)
    joint = Joint(
        attribute=groups.partition.target,
        label=on_label.partition.target,
        counts=groups.partition.push(by_label, axis=0),
    )
    masked = {}
    for key, published in attribute.masked.items():
        assert published.change is not None
        change = on_groups(published.change, groups)
        label_change = None if published.label_mask is None else label_changes[published.label_mask]
        masked[key] = replace(published, change=change, joint=joint.masked(change, label_change))
    return AttributeSummary(
        name=attribute.name,
        domain=joint.attribute,
        histogram=RangedHistogram.of_values(joint.histogram()),
        joint=joint,
        masked=masked,
    )


def on_groups(change: Transition, groups: Groups) -> Transition:
    """What a mask of the values does to the groups: what it does to their speakers."""
    if isinstance(change, Channel):
        return Channel(matrix=change.matrix[groups.speakers], target=change.target)
    used, codes = np.unique(change.codes[groups.speakers], return_inverse=True)
    old = change.target
    missing = bool(old.missing and used[-1] == len(old.values))
    values = old.values[used[:-1] if missing else used]
    target = Domain(kind=old.kind, values=values, missing=missing, discretised=old.discretised)
    return Partition(codes=codes.astype(np.int64), target=target)


def grouped(domain: Domain, counts: Counts, min_count: int) -> Groups:
    """Groups of values in each of which every column of ``counts`` is zero or at least ``min_count``."""
    enough = _enough(counts, min_count)
    if enough.all():
        return Groups(partition=Partition.identity(domain), speakers=np.arange(domain.size))
    values = len(domain.values)
    codes = _neighbours(counts[:values], min_count) if domain.kind.is_ordered else _rare_together(counts, min_count)
    if domain.kind.is_ordered and domain.missing:
        codes = _with_missing(codes, counts, min_count)
    return _named(domain, codes, counts)


def _enough(counts: Counts, min_count: int) -> NDArray[np.bool_]:
    cells = np.asarray(counts)
    return np.asarray(((cells == 0) | (cells >= min_count)).all(axis=-1) & (cells.sum(axis=-1) >= min_count))


def _neighbours(counts: Counts, min_count: int) -> NDArray[np.int64]:
    """Values in order: a group ends as soon as it has enough; what is left at the end joins the group before."""
    codes = np.zeros(len(counts), dtype=np.int64)
    ends: list[NDArray[np.float64]] = []
    running = np.zeros(counts.shape[1])
    for position, row in enumerate(counts):
        codes[position] = len(ends)
        running = running + row
        if _enough(running, min_count):
            ends.append(running)
            running = np.zeros(counts.shape[1])
    if running.any() and ends:
        # The last group takes the rest; it may have to go on taking, since a cell that was empty may now be small.
        total = ends.pop() + running
        while ends and not _enough(total, min_count):
            total = total + ends.pop()
        codes = np.minimum(codes, len(ends))
    return codes


def _rare_together(counts: Counts, min_count: int) -> NDArray[np.int64]:
    """Values that have enough stay; the others become one group, with the smallest of those that stay if need be."""
    enough = _enough(counts, min_count)
    together = np.asarray(counts[~enough].sum(axis=0))
    by_size = iter(np.flatnonzero(enough)[np.argsort(counts[enough].sum(axis=1), kind="stable")])
    while not _enough(together, min_count) and (smallest := next(by_size, None)) is not None:
        enough[smallest] = False
        together = together + counts[smallest]
    codes = np.zeros(len(counts), dtype=np.int64)
    codes[enough] = 1 + np.arange(int(enough.sum()))
    return codes


def _with_missing(codes: NDArray[np.int64], counts: Counts, min_count: int) -> NDArray[np.int64]:
    """The code of missing: a group of its own if it has enough, else with neighbours from the end on."""
    groups = int(codes.max(initial=-1)) + 1
    sums = [counts[: len(codes)][codes == group].sum(axis=0) for group in range(groups)]
    total = counts[len(codes)]
    last = groups
    while last and not (_enough(total, min_count) and _enough(sums[last - 1], min_count)):
        last -= 1
        total = total + sums[last]
    return np.append(np.minimum(codes, last), last)


def _named(domain: Domain, codes: NDArray[np.int64], counts: Counts) -> Groups:
    """The groups with a domain of their own: each called by its commonest value, several rare texts by `OTHER`."""
    sizes = np.asarray(counts.sum(axis=1))
    groups = int(codes.max(initial=-1)) + 1
    speakers = np.zeros(groups, dtype=np.int64)
    for group in range(groups):
        inside = np.flatnonzero(codes == group)
        inside_values = inside[inside < len(domain.values)]
        # A missing value names nothing: it speaks only for itself.
        speakers[group] = inside_values[np.argmax(sizes[inside_values])] if len(inside_values) else inside[0]
    alone = np.bincount(codes, minlength=groups) == 1
    missing = bool(speakers.max(initial=-1) == len(domain.values)) and domain.missing
    names = [domain.values[s] for s in speakers if s < len(domain.values)]
    if domain.kind is Kind.TEXT:
        names = [
            name if is_alone else OTHER
            for name, is_alone in zip(names, alone[speakers < len(domain.values)], strict=True)
        ]
    # Codes follow the order of the names; missing stays last.
    order = np.argsort(np.asarray(names, dtype=domain.kind.dtype), kind="stable")
    place = np.empty(groups, dtype=np.int64)
    named = np.flatnonzero(speakers < len(domain.values))
    place[named[order]] = np.arange(len(named))
    place[speakers >= len(domain.values)] = len(named)
    values = np.empty(len(names), dtype=domain.kind.dtype)
    values[:] = [names[i] for i in order]
    target = Domain(kind=domain.kind, values=values, missing=missing, discretised=domain.kind.is_ordered)
    return Groups(partition=Partition(codes=place[codes], target=target), speakers=speakers[np.argsort(place)])


def add_noise(counted: TableCounts, epsilon: float) -> tuple[TableCounts, Protection]:
    """Counts in which no single record shows: each attribute's joint with the label gets its share of the budget.

    Two tables that differ in one record differ by one in one cell of each joint, so the joints together cost
    ``epsilon``. Whatever is made of the counts afterwards, masks that read edges off them included, costs nothing more.
    The label's own counts are the mean of what the joints say, and every joint is moved to the nearest one that agrees
    with them and has no negative counts: setting negative cells to zero alone would make records of nothing. The lists
    of values are taken as public.
    """
    protection = Protection(epsilon=epsilon, attributes=len(counted.joints))
    noisy = {name: _noisy(np.asarray(j.counts), protection.epsilon_each) for name, j in counted.joints.items()}
    # A sum over fewer cells carries less noise, and counts for more.
    margins = np.average(
        [counts.sum(axis=0) for counts in noisy.values()], axis=0, weights=[1 / len(c) for c in noisy.values()]
    )
    label = np.asarray(np.maximum(np.round(margins), 0), dtype=np.int64)
    joints = {
        name: Joint(attribute=j.attribute, label=j.label, counts=nearest_counts(noisy[name], label))
        for name, j in counted.joints.items()
    }
    if np.count_nonzero(label) < 2:
        raise SummaryError("the noise left nothing of the label; use a larger epsilon, or fewer columns")
    protected = replace(
        counted,
        rows=int(label.sum()),
        label_histogram=Histogram(domain=counted.label_histogram.domain, counts=label),
        joints=joints,
    )
    return protected, protection


def nearest_counts(noisy: Counts, totals: Counts) -> Counts:
    """The whole counts nearest to noisy ones (in squares) that are not negative, with each column summing to its total.

    >>> nearest_counts(np.array([[7, -3], [2, 0], [0, 9]]), np.array([6, 8])).tolist()
    [[6, 0], [0, 0], [0, 8]]
    """
    counts = np.empty(noisy.shape, dtype=np.int64)
    for column, total in enumerate(totals):
        values = noisy[:, column].astype(np.float64)
        ordered = np.sort(values)[::-1]
        excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
        above = np.flatnonzero(ordered > excess)
        moved = np.maximum(values - excess[above[-1] if len(above) else 0], 0.0)
        whole = np.floor(moved + 1e-9).astype(np.int64)
        rest = int(total) - int(whole.sum())  # the largest fractions are rounded up
        whole[np.argsort(whole - moved, kind="stable")[:rest]] += 1
        counts[:, column] = whole
    return counts


def _noisy(counts: Counts, epsilon: float) -> Counts:
    """Counts with two-sided geometric noise of scale 1 / epsilon, drawn by OpenDP from the system's randomness."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError(feature="differential privacy", extra="dp") from None
    dp.enable_features("contrib")
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism: Any = dp.m.make_laplace(domain, metric, scale=1.0 / epsilon)
    spent = mechanism.map(d_in=1)
    if spent > epsilon * (1 + 1e-9):
        raise SummaryError("the noise mechanism does not keep its budget; use another version of opendp")
    flat = [int(count) for count in counts.ravel()]
    return np.asarray(mechanism(flat), dtype=np.int64).reshape(counts.shape)
