"""Scores of whole configurations from pair counts, and what they stand on: what masks do to groups of values.

What a mask does to an attribute is worked out once per (attribute, mask), on the groups of values that the pairs were
counted on; a configuration then costs milliseconds. Where a group holds several values they are weighted by how often
each occurs, and where a mask draws, by its probabilities: both are expectations, exact when every value is a group of
its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aegis.arrays import Floats
from aegis.counts.joint import Counts, divisor
from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import AttributeSummary, ConfigurationSummary, MaskedJoint, Summary
from aegis.errors import MeasureError
from aegis.masking.transition import Partition
from aegis.measures.measure import find_pair_measure

Key = tuple[str, str | None]
"""A mask of an attribute and one of the label, by id."""

RESAMPLES = 32
_RECORDS_A_CELL = 10
"""That a pair's cells hold on average when both attributes have as many levels as they may: fewer would tell what a
cell happens to hold, and call a mask that keeps many values worse than one that keeps few."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairGround:
    """What the scores stand on: the summary, the pairs, and what masks do to groups of values."""

    summary: Summary
    pairs: PairTables

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes that were paired: all but the least telling ones of a very wide table."""
        return tuple(name for name in self.summary.attributes if name in self.pairs.groups)

    def table(self, first: str, second: str) -> Floats:
        """The pair table of two attributes in this order: groups down, groups across, labels deep."""
        sizes = self.pairs.groups[first].size, self.pairs.groups[second].size
        if (first, second) in self.pairs.tables:
            return self.pairs.tables[first, second].dense(*sizes)
        if (second, first) in self.pairs.tables:
            return self.pairs.tables[second, first].dense(*sizes[::-1]).swapaxes(0, 1)
        raise MeasureError(f"the pair of {first} and {second} was not counted; count pairs of the same table")

    def masked(self, configuration: ConfigurationSummary, name: str) -> tuple[Key, MaskedJoint]:
        key = configuration.masks[name], configuration.label_mask
        return key, self.summary.attributes[name].masked[key]

    def on_groups(self, name: str, masked: MaskedJoint, values: Floats) -> Floats:
        """The expectation, over the values of each group, of ``values`` given per masked value."""
        if masked.change is None:
            raise MeasureError("pair scores need to know what the masks do; the summary names them by opaque ids only")
        groups = self.pairs.groups[name]
        change = masked.change
        spread = values[change.codes] if isinstance(change, Partition) else change.matrix @ values
        if groups.exact:
            return spread
        weights = self._weights(name)
        summed = np.zeros((groups.size, values.shape[1]))
        np.add.at(summed, groups.codes, spread * weights[:, None])
        return summed

    @cached_property
    def most_levels(self) -> int:
        """How many levels an attribute may have in a pair of this sample."""
        return max(math.ceil(math.sqrt(self.pairs.sample_rows / _RECORDS_A_CELL)), 2)

    def ordered(self, name: str) -> bool:
        """Whether neighbouring values of the attribute belong together."""
        domain = self.summary.attributes[name].domain
        return domain is not None and domain.kind.is_ordered

    def onto(self, name: str, key: Key) -> Floats | None:
        """Which share of each group of values becomes each level; None where the groups stay as they are.

        A level is a masked value, or several where there are more of them than the sample can tell apart.
        """
        if (name, key) not in self._onto:
            self._onto[name, key] = self._few(name, self._shares(name, key))
        return self._onto[name, key]

    @cached_property
    def _onto(self) -> dict[tuple[str, Key], Floats | None]:
        return {}

    def _shares(self, name: str, key: Key) -> Floats | None:
        masked, groups = self.summary.attributes[name].masked[key], self.pairs.groups[name]
        size = masked.joint.attribute.size
        # A mask finer than the groups tells no more than they do.
        if isinstance(masked.change, Partition) and size >= groups.size and not groups.exact:
            return None
        shares = self.on_groups(name, masked, np.eye(size))
        return None if shares.shape == (size, size) and np.array_equal(shares, np.eye(size)) else shares

    def _few(self, name: str, shares: Floats | None) -> Floats | None:
        if self.pairs.groups[name].size <= self.most_levels:
            return shares
        whole = np.eye(self.pairs.groups[name].size) if shares is None else shares
        mass = np.asarray(self.pairs.parts[name].sum(axis=(0, 2)), dtype=np.float64) @ whole
        occurring = mass > 0
        if occurring.sum() <= self.most_levels:
            return shares
        return put_together(whole[:, occurring], mass[occurring], most=self.most_levels, ordered=self.ordered(name))

    def _weights(self, name: str) -> Floats:
        """The share of each value in its group."""
        counts = np.asarray(_value_counts(self.summary.attributes[name]), dtype=np.float64)
        groups = self.pairs.groups[name]
        total = np.bincount(groups.codes, weights=counts, minlength=groups.size)
        return counts / divisor(total)[groups.codes]

    def by_parts(self, name: str, label_mask: str | None) -> Floats:
        """The joints of the parts, parts × groups × (masked) labels."""
        counts = np.asarray(self.pairs.parts[name], dtype=np.float64)
        change = None if label_mask is None else self.summary.label_masks[label_mask][1]
        return counts if change is None else np.asarray(change.push(counts, axis=2), dtype=np.float64)


def _value_counts(attribute: AttributeSummary) -> Counts:
    histogram = attribute.histogram
    if histogram is None or attribute.domain is None or len(histogram.counts) != attribute.domain.size:
        raise MeasureError(
            f"pair scores need the 1D histogram of {attribute.name!r} by value; summarise at level 1d or 2d"
        )
    return histogram.counts[histogram.codes]


def put_together(shares: Floats, mass: Floats, *, most: int, ordered: bool) -> Floats:
    """``shares`` of groups (down) in masked values (across) with only ``most`` of these.

    Neighbours of about equal frequency are put together, or the rare ones where values have no order.
    """
    if ordered:
        # A masked value stands where the groups that lead to it stand on average.
        order = np.argsort(np.arange(len(shares)) @ shares / np.maximum(shares.sum(axis=0), 1e-300), kind="stable")
        middle = np.cumsum(mass[order]) - mass[order] / 2
        level = np.minimum((middle * most / mass.sum()).astype(np.int64), most - 1)
    else:
        order = np.argsort(-mass, kind="stable")
        level = np.minimum(np.arange(len(mass)), most - 1)
    levels = np.empty(len(mass), dtype=np.int64)
    levels[order] = level
    together: Floats = shares @ np.eye(most)[levels]
    return together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairScores:
    """One utility per configuration, higher is better, and the same for resampled records.

    ``resampled[i]`` belongs to configuration i. The probe resamples the same records for all configurations, so the
    spread of a difference is known better than that of either; the other scores resample each on its own, which is
    never too narrow.
    """

    name: str
    unit: str
    utilities: Floats
    resampled: Floats
    sample_rows: int

    @property
    def standard_errors(self) -> Floats:
        return self.resampled.std(axis=1, ddof=1)


def score_configurations(summary: Summary, pairs: PairTables, name: str, *, seed: int = 0) -> PairScores:
    """Score the configurations of ``summary``, in their order, by the measure of pairs called ``name``."""
    measure = find_pair_measure(name)
    counted = {*pairs.groups, *pairs.left_out}
    absent = [attribute for attribute in summary.attributes if attribute not in counted]
    if absent:
        raise MeasureError(f"the pairs of {', '.join(absent)} were not counted; count pairs of the same table")
    utilities, resampled = measure.function(PairGround(summary=summary, pairs=pairs), np.random.default_rng(seed))
    return PairScores(
        name=name, unit=measure.unit, utilities=utilities, resampled=resampled, sample_rows=pairs.sample_rows
    )
