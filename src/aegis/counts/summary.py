"""What a provider tells a publisher: counts of a table under a set of configurations, and never a row.

A summary knows, per attribute, as much as its level allows:

========  =====================================================================================
level     what it holds of an attribute
========  =====================================================================================
``2d``    its joint with the label, and so everything the advisor could want
``1d``    its histogram, of values or of ranges, and its masked joints
``none``  its masked joints only (the paper's Case II)
========  =====================================================================================

At every level it holds the joint of each masked attribute with the label that some configuration publishes, because
the ranking needs nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts, Histogram, Joint, TableCounts, checked_counts
from aegis.counts.protection import Protection
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.configuration import Configuration, canonical
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.transition import Transition
from aegis.plural import count
from aegis.result import Tabular

IDENTITY = Identity()


class Level(StrEnum):
    """How much of the unmasked data a summary tells."""

    TWO_D = "2d"
    ONE_D = "1d"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangedHistogram:
    """How many records fall into each of some groups of values: single values, or ranges of them."""

    codes: NDArray[np.int64]
    labels: tuple[str, ...] = field(repr=False)  # they may be values
    counts: Counts

    def __post_init__(self) -> None:
        counts = checked_counts(self.counts, (len(self.labels),), what="a histogram of ranges")
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of_values(cls, histogram: Histogram) -> RangedHistogram:
        """Every value a group of its own."""
        size = histogram.domain.size
        return cls(codes=np.arange(size), labels=tuple(histogram.domain.labels()), counts=histogram.counts)

    @classmethod
    def of_ranges(cls, histogram: Histogram, ranges: int) -> RangedHistogram:
        """Neighbouring values in about ``ranges`` groups of similar size; missing stays alone."""
        present = histogram.counts[: len(histogram.domain.values)]
        before = np.cumsum(present) - present
        group = np.minimum((before * ranges / max(present.sum(), 1)).astype(np.int64), ranges - 1)
        _, codes = np.unique(group, return_inverse=True)
        shown = histogram.domain.labels()
        labels = []
        for code in range(int(codes.max(initial=-1)) + 1):
            inside = np.flatnonzero(codes == code)
            labels.append(f"{shown[inside[0]]} to {shown[inside[-1]]}" if len(inside) > 1 else shown[inside[0]])
        if histogram.domain.missing:
            codes = np.append(codes, len(labels))
            labels.append("missing")
        counts = np.bincount(codes, weights=histogram.counts, minlength=len(labels)).astype(np.int64)
        return cls(codes=codes, labels=tuple(labels), counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedJoint:
    """What one mask on an attribute, with one on the label, publishes.

    ``mask`` and ``change`` are None where the provider names its masks by opaque ids only.
    """

    id: str
    mask: Mask | None
    change: Transition | None
    label_mask: str | None
    joint: Joint


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeSummary:
    """All that is told of one attribute."""

    name: str
    domain: Domain | None
    histogram: RangedHistogram | None
    joint: Joint | None
    masked: Mapping[tuple[str, str | None], MaskedJoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationSummary:
    """A configuration as a publisher knows it: which mask, by id, each attribute gets."""

    name: str
    id: str
    masks: Mapping[str, str]
    label_mask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfigurationScores:
    """What the provider measured of whole configurations, from pair counts that are not part of the summary.

    One number per configuration, higher is better, with resamples that say how sure it is, and the same of the
    unmasked table. Columns of ``resampled`` belong together across configurations.
    """

    unit: str
    sample_rows: int
    utilities: NDArray[np.float64]
    resampled: NDArray[np.float64]
    original: float
    original_resampled: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = (len(self.utilities), len(self.original_resampled))
        if self.resampled.shape != shape or not np.isfinite(self.resampled).all():
            raise SummaryError("the scores of configurations do not have one finite resample each; write them again")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Summary(Tabular):
    """Counts of a table under its configurations; ``rejected`` names those that a policy kept out, with the reason.

    ``parts`` names the summaries that were added to this one, if it is a sum. ``scores`` and ``race`` are what the
    provider measured of whole configurations, the latter as `aegis.learners.race_result` writes it: they travel with
    the counts, because nobody else could find them. ``named_from`` is how many rows a value needs to be named, where
    several may be of one person; 0 where records are counted.
    """

    name: str
    level: Level
    rows: float
    label: str
    label_histogram: Histogram
    label_masks: Mapping[str, tuple[Mask | None, Transition | None]]
    attributes: Mapping[str, AttributeSummary]
    configurations: tuple[ConfigurationSummary, ...]
    opaque: bool = False
    skipped: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, ConfigurationScores] = field(default_factory=dict)
    race: Mapping[str, Any] | None = None
    rejected: Mapping[str, str] = field(default_factory=dict)
    protection: Protection | None = None
    parts: tuple[str, ...] = ()
    named_from: int = 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes, in order."""
        return tuple(self.attributes)

    @property
    def headline(self) -> str:
        return (
            f"{self.name}: {count(int(self.rows), 'row')} in {count(len(self.attributes), 'attribute')}, "
            f"under {count(len(self.configurations), 'configuration')}"
        )

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each configuration, with the attributes that it masks."""
        unmasked = mask_id(IDENTITY)
        return [
            {
                "configuration": configuration.name,
                "id": configuration.id,
                # An opaque summary does not say which masks change nothing.
                "masks": None if self.opaque else [a for a, ident in configuration.masks.items() if ident != unmasked],
            }
            for configuration in self.configurations
        ]

    @property
    def changes(self) -> dict[tuple[str, Mask], Transition]:
        """What each mask does to its attribute, where masks are named."""
        return {
            (name, masked.mask): masked.change
            for name, attribute in self.attributes.items()
            for masked in attribute.masked.values()
            if masked.mask is not None and masked.change is not None
        }


def configuration_of(summary: Summary, name: str) -> Configuration:
    """A configuration as the summary knows it, to be saved or released."""
    for candidate in summary.configurations:
        if candidate.name == name:
            break
    else:
        raise SummaryError(f"the summary has no configuration called {name!r}")
    masks: dict[str, Mask] = {}
    for attribute, ident in candidate.masks.items():
        mask = summary.attributes[attribute].masked[ident, candidate.label_mask].mask
        if mask is None:
            raise SummaryError("the summary names its masks by numbers only; ask its provider for the configuration")
        if mask != IDENTITY:
            masks[attribute] = mask
    if candidate.label_mask is not None and (on_label := summary.label_masks[candidate.label_mask][0]) is not None:
        masks[summary.label] = on_label
    return Configuration(name=name, masks=masks, label=summary.label)


def mask_counts(counted: TableCounts, configurations: Iterable[Configuration], *, name: str) -> Summary:
    """What was counted, as each of some configurations would publish it."""
    return masked_counts(
        name=name,
        label=counted.label,
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=configurations,
        skipped=counted.skipped,
    )


def masked_counts(
    *,
    name: str,
    label: str,
    label_histogram: Histogram,
    joints: Mapping[str, Joint],
    configurations: Iterable[Configuration],
    skipped: Mapping[str, str] | None = None,
) -> Summary:
    """What was counted, under some configurations (level ``2d``): every distinct mask is applied once."""
    masked: dict[str, dict[tuple[str, str | None], MaskedJoint]] = {attribute: {} for attribute in joints}
    changes: dict[tuple[str, Mask], tuple[str, Transition]] = {}
    label_masks: dict[str, tuple[Mask | None, Transition | None]] = {}
    described: list[ConfigurationSummary] = []

    def change_of(column: str, mask: Mask) -> tuple[str, Transition]:
        if (column, mask) not in changes:
            counted = label_histogram if column == label else joints[column].histogram()
            mask.check(counted.domain.kind, column=column)
            mask.check_domain(counted.domain, column=column)
            changes[column, mask] = mask_id(mask), counted.changed_by(mask)
        return changes[column, mask]

    for configuration in configurations:
        on_label: Transition | None = None
        label_id: str | None = None
        if label in configuration.masks:
            label_id, on_label = change_of(label, configuration.masks[label])
            label_masks[label_id] = configuration.masks[label], on_label
        chosen: dict[str, str] = {}
        for attribute, joint in joints.items():
            mask = configuration.masks.get(attribute, IDENTITY)
            ident, change = change_of(attribute, mask)
            chosen[attribute] = ident
            if (ident, label_id) not in masked[attribute]:
                masked[attribute][ident, label_id] = MaskedJoint(
                    id=ident, mask=mask, change=change, label_mask=label_id, joint=joint.masked(change, on_label)
                )
        described.append(
            ConfigurationSummary(name=configuration.name, id=configuration.id, masks=chosen, label_mask=label_id)
        )
    return Summary(
        name=name,
        level=Level.TWO_D,
        rows=label_histogram.rows,
        label=label,
        label_histogram=label_histogram,
        label_masks=label_masks,
        attributes={
            attribute: AttributeSummary(
                name=attribute,
                domain=joint.attribute,
                histogram=RangedHistogram.of_values(joint.histogram()),
                joint=joint,
                masked=masked[attribute],
            )
            for attribute, joint in joints.items()
        },
        configurations=tuple(described),
        skipped=dict(skipped or {}),
    )


def reduced(summary: Summary, *, level: Level, ranges: int | None = None, opaque: bool = False) -> Summary:
    """The same summary telling less: a lower level, ranges instead of values, masks and configurations by opaque ids.

    Configurations keep their names, which the ranking is told by. An opaque summary tells nothing of unmasked columns,
    so its level is ``none`` whatever was asked for.
    """
    level = Level.NONE if opaque else level
    renamed: dict[str, str] = {}

    def alias(ident: str) -> str:
        # Ids of masks are hashes of their parameters and could be guessed; opaque ones are numbered.
        return renamed.setdefault(ident, f"m{len(renamed) + 1:04d}") if opaque else ident

    attributes: dict[str, AttributeSummary] = {}
    for name, attribute in summary.attributes.items():
        joint = attribute.joint if level is Level.TWO_D else None
        histogram = attribute.histogram if level is not Level.NONE else None
        if histogram is not None and ranges is not None and level is Level.ONE_D:
            assert attribute.domain is not None
            histogram = RangedHistogram.of_ranges(Histogram(domain=attribute.domain, counts=histogram.counts), ranges)
        masked = {}
        for (ident, label_ident), masked_joint in attribute.masked.items():
            label_alias = None if label_ident is None else alias(label_ident)
            masked[alias(ident), label_alias] = (
                MaskedJoint(
                    id=alias(ident), mask=None, change=None, label_mask=label_alias, joint=anonymous(masked_joint.joint)
                )
                if opaque
                else masked_joint
            )
        attributes[name] = AttributeSummary(
            name=name,
            domain=None if opaque else attribute.domain,
            histogram=histogram,
            joint=joint,
            masked=masked,
        )
    return replace(
        summary,
        level=level,
        label_masks={
            alias(ident): (None, None) if opaque else label_mask for ident, label_mask in summary.label_masks.items()
        },
        attributes=attributes,
        configurations=tuple(
            ConfigurationSummary(
                name=c.name,
                # The id is a hash of the masks too: whoever guesses a configuration could confirm it.
                id=f"c{number:04d}" if opaque else c.id,
                masks={a: alias(m) for a, m in c.masks.items()},
                label_mask=None if c.label_mask is None else alias(c.label_mask),
            )
            for number, c in enumerate(summary.configurations, start=1)
        ),
        opaque=opaque,
    )


def anonymous(joint: Joint) -> Joint:
    """The same counts with the attribute's values replaced by numbers."""
    nameless = Domain(kind=Kind.INTEGER, values=np.arange(joint.attribute.size))
    return Joint(attribute=nameless, label=joint.label, counts=joint.counts)


def mask_id(mask: Mask) -> str:
    """A short, stable name of a mask, from what it does."""
    return hashlib.sha256(canonical(mask).encode()).hexdigest()[:12]
