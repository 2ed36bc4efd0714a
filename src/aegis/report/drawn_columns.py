"""A column as a page may draw it: where values become labels, by the rule for what may be shown.

Rare values of an unordered column are drawn together as "other"; an ordered column is drawn in bins of neighbouring
values on an axis whose ticks are round numbers, cut where only a few records lie beyond. Values of a masked column are
named if their group is large enough *and* they are not rare values of the original (a mask that draws at random makes
rare values common).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.counts.disclosure_rule import may_name, named
from aegis.report.charts.paired_bars import Bar, Tick

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
