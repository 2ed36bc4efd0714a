"""A column before and after a mask, ready to draw.

Numbers and dates stand as bins of neighbouring values on a straight axis, the groups of a mask beneath them; columns of
named values are in `named_values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aegis.counts.disclosure_rule import FEWEST, may_name
from aegis.counts.joint import divisor
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.report.charts.bars import Bar, Tick
from aegis.report.drawn_columns import (
    MOST_BARS,
    Columns,
    Distribution,
    Floats,
    columns,
    named_distribution,
    only_masked,
    other,
)
from aegis.report.svg import nice_step, tick_text, ticks

if TYPE_CHECKING:
    from aegis.counts.summary import AttributeSummary, MaskedJoint


def distribution(attribute: AttributeSummary, masked: MaskedJoint, *, named_from: int) -> Distribution:
    """Original and masked distribution of an attribute under one of its masks, as far as the summary tells.

    ``named_from`` is the summary's: how many rows make a value or a bar that may be shown, if more than the rule's own.
    """
    domain = attribute.domain
    if domain is None or attribute.histogram is None:
        shown, target = columns(attribute, masked, named_from=named_from), masked.joint.attribute
        if masked.mask is not None and target.kind.is_ordered and len(target.values) > 0:
            return ordered_masked(shown, target)
        return only_masked(shown)
    if domain.kind.is_ordered and len(domain.values) > 0:
        return ordered_distribution(attribute, masked, named_from=named_from)
    return named_distribution(attribute, masked, named_from=named_from)


_TAIL = 0.005  # share of the records that may lie beyond each end of the axis
_MICROSECONDS = 86_400e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """The bins of an axis; what lies beyond the first and last edge is counted in the first and last bin."""

    edges: Floats
    centred: bool

    @property
    def low(self) -> float:
        return float(self.edges[0])

    @property
    def high(self) -> float:
        return float(self.edges[-1])

    def count(self, at: Floats, counts: Floats) -> Floats:
        """How many records fall in each bin."""
        bins = np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, len(self.edges) - 2)
        return np.bincount(bins, weights=counts, minlength=len(self.edges) - 1).astype(np.float64)


def positions(domain: Domain) -> Floats:
    """Where the values stand on a straight axis: numbers as they are, dates and times in days."""
    if domain.kind is Kind.TIMESTAMP:
        return domain.values.astype(np.int64).astype(np.float64) / _MICROSECONDS
    if domain.kind is Kind.DATE:
        return domain.values.astype(np.int64).astype(np.float64)
    return domain.values.astype(np.float64)


def ordered_distribution(attribute: AttributeSummary, masked: MaskedJoint, *, named_from: int) -> Distribution:
    """Bins above; below them the mask's groups, or the masked numbers in the same bins."""
    domain, histogram = attribute.domain, attribute.histogram
    assert domain is not None
    assert histogram is not None
    shown = columns(attribute, masked, named_from=named_from)
    at = positions(domain)
    total = float(np.sum(histogram.counts)) or 1.0
    if shown.counts is not None:
        axis = _axis(at, shown.counts[: len(at)], whole=domain.kind is not Kind.REAL, named_from=named_from)
        counts = axis.count(at, shown.counts[: len(at)])
        absent = float(shown.counts[len(at) :].sum())
    else:
        axis, counts, absent = _range_axis(at, histogram.codes, np.asarray(histogram.counts, dtype=np.float64))
    upper = [Bar(left=a, right=b, share=n / total) for a, b, n in pooled(axis.edges, counts, named_from=named_from)]
    lower = _below(shown, masked, axis, at)
    slot = _missing_slot(axis)
    shown_ticks = _ticks(domain.kind, axis)
    masked_absent = _masked_missing(shown, masked)
    if shown.enough([absent, masked_absent]).any():
        shown_ticks.append(Tick(at=sum(slot) / 2, text="missing"))
        if shown.enough(absent):
            upper.append(Bar(left=slot[0], right=slot[1], share=absent / total, name="missing"))
        if shown.enough(masked_absent):
            share = masked_absent / (float(shown.masked_counts.sum()) or 1.0)
            lower.append(Bar(left=slot[0], right=slot[1], share=share, name="missing"))
    return Distribution(upper=tuple(upper), lower=tuple(lower), ticks=tuple(shown_ticks))


def ordered_masked(shown: Columns, target: Domain) -> Distribution:
    """The masked column alone, in bins of its own."""
    at, counts = positions(target), shown.masked_counts[: len(target.values)]
    axis = _axis(at, counts, whole=target.kind is not Kind.REAL, named_from=shown.named_from)
    total = float(shown.masked_counts.sum()) or 1.0
    bars = [
        Bar(left=a, right=b, share=n / total)
        for a, b, n in pooled(axis.edges, axis.count(at, counts), named_from=shown.named_from)
    ]
    shown_ticks = _ticks(target.kind, axis)
    absent = float(shown.masked_counts[len(at) :].sum())
    if shown.enough(absent):
        left, right = _missing_slot(axis)
        bars.append(Bar(left=left, right=right, share=absent / total, name="missing"))
        shown_ticks.append(Tick(at=(left + right) / 2, text="missing"))
    return Distribution(upper=(), lower=tuple(bars), ticks=tuple(shown_ticks))


def _missing_slot(axis: Axis) -> tuple[float, float]:
    """Where records without a value stand: a little beyond the end of the axis."""
    width = (axis.high - axis.low) * 0.09
    return axis.high + width / 3, axis.high + width * 4 / 3


def pooled(edges: Floats, counts: Floats, *, named_from: int = 0) -> list[tuple[float, float, float]]:
    """Bins as (left, right, count), each empty or with enough records to be shown: sparse ones join a neighbour.

    >>> pooled(np.arange(6.0), np.array([9.0, 1.0, 0.0, 7.0, 2.0]))
    [(0.0, 1.0, 9.0), (1.0, 5.0, 10.0)]
    """
    bins: list[tuple[float, float, float]] = []
    left, pooled_count = float(edges[0]), 0.0
    for right, count in zip(edges[1:].tolist(), counts.tolist(), strict=True):
        pooled_count += count
        if pooled_count == 0 or may_name(pooled_count, at_least=named_from):
            bins.append((left, right, pooled_count))
            left, pooled_count = right, 0.0
    if pooled_count > 0:
        while bins and bins[-1][2] == 0:
            left = bins.pop()[0]
        if bins:
            left, _, before = bins.pop()
            bins.append((left, float(edges[-1]), before + pooled_count))
    return bins


def _axis(at: Floats, counts: Floats, *, whole: bool, named_from: int) -> Axis:
    """Bins of a round width between the ends that only a few records pass."""
    beyond = max(float(FEWEST), float(named_from), _TAIL * float(counts.sum()))
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    low = float(at[min(int(np.searchsorted(below, beyond)), len(at) - 1)])
    high = float(at[max(int(np.flatnonzero(above >= beyond)[-1]) if (above >= beyond).any() else 0, 0)])
    low, high = min(low, high), max(low, high)
    common = at[may_name(counts, at_least=named_from) & (at >= low) & (at <= high)]
    smallest = 1.0 if whole else 0.0
    regular = 2 <= len(common) <= MOST_BARS
    if regular:
        smallest = max(float(f"{np.diff(common).min():.9g}"), smallest)
    steps = 0.0 if not smallest else (high - low) / smallest
    if regular and steps <= MOST_BARS - 1 and np.allclose(steps, round(steps)):
        # Few values at even distances: a bar around each.
        first = low - smallest / 2
        return Axis(edges=_even(first, smallest, round(steps) + 1), centred=True)
    step = nice_step(high - low, MOST_BARS - 2, smallest=1.0 if whole else 0.0, whole=whole)
    first = float(np.floor(low / step)) * step
    size = int(np.floor((high - first) / step + 1e-9)) + 1
    offset = -0.5 if whole and step == 1 else 0.0
    return Axis(edges=_even(first + offset, step, size), centred=offset != 0)


def _even(first: float, step: float, size: int) -> Floats:
    return (first + step * np.arange(size + 1)).astype(np.float64)


def _range_axis(at: Floats, codes: NDArray[np.int64], counts: Floats) -> tuple[Axis, Floats, float]:
    """Bins that are the ranges of a published histogram, the outermost cut to a moderate width."""
    inside = codes[: len(at)]
    starts = np.flatnonzero(np.diff(inside, prepend=-1) != 0)
    left = at[starts]
    typical = float(np.median(np.diff(left))) if len(left) > 1 else float(at[-1] - at[0]) or 1.0
    last = min(float(at[-1]) + typical / 10, float(left[-1]) + 2 * typical)
    first = max(float(at[0]), float(left[1]) - 2 * typical) if len(left) > 1 else float(at[0])
    edges = np.concatenate([[min(first, float(left[1])) if len(left) > 1 else first], left[1:], [last]])
    if edges[-1] <= edges[-2]:
        edges[-1] = edges[-2] + typical
    absent = float(counts[codes[len(at) :]].sum())
    return Axis(edges=edges, centred=False), counts[inside[starts]], absent


def _below(shown: Columns, masked: MaskedJoint, axis: Axis, at: Floats) -> list[Bar]:
    target = masked.joint.attribute
    total = float(shown.masked_counts.sum()) or 1.0
    counts = shown.masked_counts[: len(target.values)]
    if shown.codes is not None:
        inside = shown.codes[: len(at)]
        starts = np.flatnonzero(np.diff(inside, prepend=-1) != 0)
        if len(starts) == len(np.unique(inside)):  # no group is torn apart
            if len(starts) <= MOST_BARS:
                return _groups(shown, axis, at, starts, inside)
            # Too many groups to draw one by one: count them where they begin.
            drawn = inside[starts] < len(target.values)
            binned = axis.count(at[starts][drawn], shown.masked_counts[inside[starts]][drawn])
            return [
                Bar(left=a, right=b, share=n / total)
                for a, b, n in pooled(axis.edges, binned, named_from=shown.named_from)
            ]
    if target.kind.is_ordered and shown.codes is None:
        binned = axis.count(positions(target), counts)
        return [
            Bar(left=a, right=b, share=n / total) for a, b, n in pooled(axis.edges, binned, named_from=shown.named_from)
        ]
    # Groups that are no stretches of the axis: side by side under it.
    bars = only_masked(shown).lower
    factor = (axis.high - axis.low) / (bars[-1].right if bars else 1.0)
    return [
        Bar(left=axis.low + b.left * factor, right=axis.low + b.right * factor, share=b.share, name=b.name)
        for b in bars
        if b.name != "missing"
    ]


def _groups(shown: Columns, axis: Axis, at: Floats, starts: NDArray[np.int64], inside: NDArray[np.int64]) -> list[Bar]:
    """A bar for each stretch of values that a mask made one; stretches that are rare or off the axis are joined."""
    total = float(shown.masked_counts.sum()) or 1.0
    missing = len(shown.masked_names) - 1 if shown.masked_names and shown.masked_names[-1] == "missing" else -1
    if axis.centred:
        between = np.concatenate([[axis.low], (at[starts[1:] - 1] + at[starts[1:]]) / 2, [axis.high]])
    else:
        between = np.concatenate([[axis.low], at[starts[1:]], [axis.high]])
    between = np.clip(between, axis.low, axis.high)
    thin = (axis.high - axis.low) / 200
    on_axis = _on_axis(shown, axis, at, starts)
    bars: list[Bar] = []
    left, records, seen, names = axis.low, 0.0, 0.0, []
    for i, code in enumerate(inside[starts].tolist()):
        if code == missing:
            continue  # drawn in the slot for missing values
        right = float(between[i + 1])
        count = float(shown.masked_counts[code])
        records, seen = records + count, seen + count * float(on_axis[i])
        names.append(shown.masked_names[code])
        # A group that lies mostly beyond the axis would be a spike at its end.
        if shown.enough(records) and right - left > thin and seen > records / 2:
            bars.append(Bar(left=left, right=right, share=records / total, name=_joined(names), merged=len(names) > 1))
            left, records, seen, names = right, 0.0, 0.0, []
    if names and bars:
        last = bars.pop()
        share = last.share + records / total
        bars.append(Bar(left=last.left, right=axis.high, share=share, name=other(len(names) + 1), merged=True))
    return bars


def _on_axis(shown: Columns, axis: Axis, at: Floats, starts: NDArray[np.int64]) -> Floats:
    """The share of each group's records that lie between the ends of the axis."""
    if shown.counts is None:
        return np.ones(len(starts))
    counts = shown.counts[: len(at)]
    inside = np.where((at >= axis.low) & (at <= axis.high), counts, 0.0)
    whole = np.add.reduceat(counts, starts)
    return np.add.reduceat(inside, starts) / divisor(whole)


def _joined(names: list[str | None]) -> str:
    return (names[0] or "") if len(names) == 1 else other(len(names))


def _masked_missing(shown: Columns, masked: MaskedJoint) -> float:
    return float(shown.masked_counts[-1]) if masked.joint.attribute.missing else 0.0


def _ticks(kind: Kind, axis: Axis) -> list[Tick]:
    """Round numbers, or the first days of months, inside the axis."""
    if kind.is_number:
        return [Tick(at=value, text=tick_text(value)) for value in ticks(axis.low, axis.high, 7)]
    months = np.arange(
        np.datetime64(int(np.ceil(axis.low)), "D").astype("datetime64[M]"),
        np.datetime64(int(np.floor(axis.high)), "D").astype("datetime64[M]") + 1,
    )
    for every in (1, 3, 6, 12, 24, 60, 120, 300):
        number = months.astype(np.int64)
        chosen = months[number % every == 0]
        days = chosen.astype("datetime64[D]").astype(np.int64)
        chosen, days = chosen[days >= axis.low], days[days >= axis.low]
        if len(chosen) <= 6:
            break
    texts = [str(month)[:4] if every >= 12 else str(month) for month in chosen]
    return [Tick(at=float(day), text=text) for day, text in zip(days.tolist(), texts, strict=True)]
