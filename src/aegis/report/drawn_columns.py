"""A column as a page may draw it: where values become labels, by the rule for what may be shown.

Rare values of an unordered column are drawn together as "other", and values that a mask merges side by side; an ordered
column is drawn in bins of neighbouring values on an axis whose ticks are round numbers, cut where only a few records
lie beyond. Values of a masked column are named if their group is large enough *and* they are not rare values of the
original (a mask that draws at random makes rare values common).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.counts.disclosure_rule import may_name, named
from aegis.report.charts.bars import Bar, Tick

if TYPE_CHECKING:
    from aegis.counts.summary import AttributeSummary, MaskedJoint


MOST_BARS = 40

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A column before (``upper``) and after (``lower``) a mask, ready to draw. Either may be empty."""

    upper: tuple[Bar, ...]
    lower: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The counts of a column before and after a mask, as far as they are known, with names that may be printed.

    ``names`` and ``masked_names`` hold None where a value must not be named; ``codes`` say where each value of the
    domain goes, and are None where the mask draws or is not known. ``named_from`` is how many rows make a value or
    a bar that may be shown, where that is more than the rule's own (`aegis.counts.named_from`).
    """

    counts: Floats | None
    names: list[str | None]
    masked_counts: Floats
    masked_names: list[str | None]
    codes: NDArray[np.int64] | None
    named_from: int

    def enough(self, counts: ArrayLike) -> NDArray[np.bool_]:
        """Which counts are of enough rows to be shown."""
        return may_name(counts, at_least=self.named_from)


def columns(attribute: AttributeSummary, masked: MaskedJoint, *, named_from: int) -> Columns:
    """Apply the rule to one attribute and one of its masks."""
    after = np.asarray(masked.joint.counts.sum(axis=1), dtype=np.float64)
    before = value_counts(attribute)
    labels = [] if attribute.domain is None else attribute.domain.labels()
    if before is None:
        names: list[str | None] = [None] * len(labels)
        # Without counts of the original a rare value cannot be told from a common one that was drawn at random.
        rare = set() if masked.change is not None and masked.change.deterministic else set(labels)
    else:
        names = named(labels, before, at_least=named_from)
        rare = {label for label, name in zip(labels, names, strict=True) if name is None}
    if masked.mask is None:
        masked_names: list[str | None] = [None] * len(after)
    else:
        common = named(masked.joint.attribute.labels(), after, at_least=named_from)
        masked_names = [name if name not in rare or name == "missing" else None for name in common]
    return Columns(
        counts=before,
        names=names,
        masked_counts=after,
        masked_names=masked_names,
        codes=partition_codes(masked, len(labels)),
        named_from=named_from,
    )


def value_counts(attribute: AttributeSummary) -> Floats | None:
    """How often each value occurs, where the summary says so."""
    histogram, domain = attribute.histogram, attribute.domain
    if histogram is None or domain is None or len(histogram.labels) != domain.size:
        return None
    return np.asarray(histogram.counts, dtype=np.float64)[histogram.codes]


def partition_codes(masked: MaskedJoint, size: int) -> NDArray[np.int64] | None:
    """Where each of ``size`` values goes, if the mask is known and draws nothing."""
    codes: Any = getattr(masked.change, "codes", None)
    return None if codes is None or len(codes) != size else np.asarray(codes, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Values that share a bar: one that may be named, or several that are drawn together."""

    codes: tuple[int, ...]
    group: int
    width: float = 1.0


def named_distribution(attribute: AttributeSummary, masked: MaskedJoint, *, named_from: int) -> Distribution:
    """A slot per value that may be named, side by side with those of its group; the others drawn together."""
    table = columns(attribute, masked, named_from=named_from)
    if table.counts is None:
        return _ranges(attribute, table)
    slots = _slots(table)
    total = float(table.counts.sum()) or 1.0
    upper: list[Bar] = []
    ticks: list[Tick] = []
    spans: dict[int, tuple[float, float]] = {}
    left = 0.0
    for slot in slots:
        right = left + slot.width
        single = table.names[slot.codes[0]] if len(slot.codes) == 1 else None
        name = single or other(len(slot.codes))
        share = float(table.counts[list(slot.codes)].sum()) / total
        upper.append(Bar(left=left, right=right, share=share, name=name, merged=single is None))
        ticks.append(Tick(at=(left + right) / 2, text=name, room=slot.width if single else None))
        if slot.group >= 0:
            spans[slot.group] = (spans[slot.group][0] if slot.group in spans else left, right)
        left = right
    end = left - slots[-1].width if slots and slots[-1].group < 0 else left
    lower = _below(table, spans, end=end, width=left - end)
    return Distribution(upper=tuple(upper), lower=tuple(lower), ticks=tuple(ticks))


def only_masked(shown: Columns) -> Distribution:
    """Bars of the masked column alone, where nothing is known of the original: named if they may be."""
    named = [code for code, name in enumerate(shown.masked_names) if name is not None]
    total = float(shown.masked_counts.sum()) or 1.0
    if not named:
        # Nameless groups say only how large they are: the largest first.
        sizes = np.sort(shown.masked_counts[shown.enough(shown.masked_counts)])[::-1][:MOST_BARS]
        bars = [Bar(left=i, right=i + 1, share=float(size) / total) for i, size in enumerate(sizes)]
        return Distribution(upper=(), lower=tuple(_with_rest(bars, len(shown.masked_counts))), ticks=())
    kept = sorted(sorted(named, key=lambda code: -shown.masked_counts[code])[:MOST_BARS])
    bars = [
        Bar(left=i, right=i + 1, share=float(shown.masked_counts[code]) / total, name=shown.masked_names[code] or "")
        for i, code in enumerate(kept)
    ]
    return Distribution(upper=(), lower=tuple(_with_rest(bars, len(shown.masked_counts))), ticks=())


def other(values: int) -> str:
    """The name of values that are not named.

    >>> other(1), other(12)
    ('other (1 value)', 'other (12 values)')
    """
    return f"other ({values:,} value{'' if values == 1 else 's'})"


def _slots(shown: Columns) -> list[Slot]:
    """The most common values one by one; the others by group if they are many enough, or else all together.

    The group of a slot is the masked value it becomes, and -1 for the slot of the leftovers, which stands last.
    """
    assert shown.counts is not None
    counts = shown.counts
    named = [code for code, name in enumerate(shown.names) if name is not None]
    most = MOST_BARS if len(named) <= MOST_BARS else MOST_BARS - 1
    common = set(sorted(named, key=lambda code: -counts[code])[:most])
    groups = _targets(shown)
    by_group: dict[int, list[int]] = {}
    for code in range(len(counts)):
        by_group.setdefault(groups[code], []).append(code)
    # A bar as wide as the values it stands for has their mean height; but they must not fill the picture.
    narrow = min(1.0, MOST_BARS / max(len(counts) - len(common), 1))
    slots: list[Slot] = []
    leftover: list[int] = []
    for group, codes in sorted(by_group.items()):
        slots += [Slot(codes=(code,), group=group) for code in codes if code in common]
        hidden = tuple(code for code in codes if code not in common)
        if group >= 0 and len(by_group) <= MOST_BARS and shown.enough(counts[list(hidden)].sum()):
            slots.append(Slot(codes=hidden, group=group, width=max(len(hidden) * narrow, 0.5)))
        else:
            leftover += hidden
    if leftover:
        slots.append(Slot(codes=tuple(leftover), group=-1, width=max(len(leftover) * narrow, 1.0)))
    return slots


def _targets(shown: Columns) -> list[int]:
    """The masked value that each value becomes; where the mask draws, the one of the same name, or -1."""
    if shown.codes is not None:
        return shown.codes.tolist()
    place = {name: code for code, name in enumerate(shown.masked_names) if name is not None}
    return [-1 if name is None else place.get(name, -1) for name in shown.names]


def _below(shown: Columns, spans: dict[int, tuple[float, float]], *, end: float, width: float) -> list[Bar]:
    """The masked bars under the values they came from; what is rare or came from elsewhere stands at the end."""
    total = float(shown.masked_counts.sum()) or 1.0
    drawn = {group: span for group, span in spans.items() if shown.enough(shown.masked_counts[group])}
    bars = [
        Bar(left=a, right=b, share=float(shown.masked_counts[group]) / total, name=shown.masked_names[group] or "")
        for group, (a, b) in drawn.items()
    ]
    hidden = len(shown.masked_counts) - len(drawn)
    if hidden:
        rest = 1.0 - sum(bar.share for bar in bars)
        right = end + (width or max(end / 12, 1.0))
        bars.append(Bar(left=end, right=right, share=max(rest, 0.0), name=other(hidden), merged=True))
    return bars


def _ranges(attribute: AttributeSummary, shown: Columns) -> Distribution:
    """A histogram of ranges of texts: their ends may be rare values, so the ranges are numbered."""
    histogram = attribute.histogram
    assert histogram is not None
    counts: Floats = np.asarray(histogram.counts, dtype=np.float64)
    total = float(counts.sum()) or 1.0
    large = np.flatnonzero(shown.enough(counts))[:MOST_BARS]
    upper = [
        Bar(left=i, right=i + 1, share=float(counts[code]) / total, name=f"range {code + 1}")
        for i, code in enumerate(large)
    ]
    upper = _with_rest(upper, len(counts))
    below = only_masked(shown).lower
    # The two halves have different numbers of bars: stretch the lower to the same width.
    wide = upper[-1].right if upper else 1.0
    factor = wide / below[-1].right if below else 1.0
    stretched = [
        Bar(left=b.left * factor, right=b.right * factor, share=b.share, name=b.name, merged=b.merged) for b in below
    ]
    note = "The original is known in ranges only; the two halves have different axes."
    return Distribution(upper=tuple(upper), lower=tuple(stretched), ticks=(), notes=(note,))


def _with_rest(bars: list[Bar], values: int) -> list[Bar]:
    """``bars`` and, if they are not all, one more for the rest."""
    rest = 1.0 - sum(bar.share for bar in bars)
    if values == len(bars):
        return bars
    hidden, end = values - len(bars), float(len(bars))
    right = end + _room(hidden, len(bars))
    return [*bars, Bar(left=end, right=right, share=max(rest, 0.0), name=other(hidden), merged=True)]


def _room(hidden: int, shown: int) -> float:
    return max(min(float(hidden), shown / 3), 1.0)
