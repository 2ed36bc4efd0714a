"""Scores of whole configurations from pair counts: what single attributes cannot show.

==================  ======================================================================================
score               what it asks
==================  ======================================================================================
label-probe         how well a line through all masked attributes would predict the label (share of its variance)
pair-information    how many bits two masked attributes tell about the label, on average over pairs
==================  ======================================================================================

What a mask does to an attribute is worked out once per (attribute, mask) on the groups of values that the pairs were
counted on. Where a group holds several values they are weighted by how often each occurs, and where a mask draws, by
its probabilities: both are expectations, exact when every value is a group of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from aegis.errors import MeasureError
from aegis.masking.partition import Partition
from aegis.summaries.joint import Counts
from aegis.summaries.pair_counts import PairTables
from aegis.summaries.summary import AttributeSummary, ConfigurationSummary, MaskedJoint, Summary
from aegis.utility.leave_one_out import PRIOR_RECORDS
from aegis.utility.probe import Encoding, encode

Floats = NDArray[np.float64]
Key = tuple[str, str | None]
"""A mask of an attribute and one of the label, by id."""

RESAMPLES = 32
RIDGE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairScores:
    """One utility per configuration, higher is better, and the same for resampled records.

    ``resampled[i]`` belongs to configuration i; columns belong together, so that the spread of a difference between
    two configurations is smaller than that of either.
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
    """Score the configurations of ``summary``, in their order, by the pair score called ``name``."""
    if name not in PAIR_SCORES:
        raise MeasureError(f"there is no pair score called {name!r}; use {' or '.join(PAIR_SCORES)}")
    absent = [attribute for attribute in summary.attributes if attribute not in pairs.groups]
    if absent:
        raise MeasureError(f"the pairs of {', '.join(absent)} were not counted; count pairs of the same table")
    unit, score = PAIR_SCORES[name]
    utilities, resampled = score(_Ground(summary=summary, pairs=pairs), np.random.default_rng(seed))
    return PairScores(name=name, unit=unit, utilities=utilities, resampled=resampled, sample_rows=pairs.sample_rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ground:
    """What both scores stand on: the summary, the pairs, and what masks do to groups of values."""

    summary: Summary
    pairs: PairTables

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.summary.attributes)

    @cached_property
    def spans(self) -> Mapping[str, slice]:
        """Where the groups of each attribute lie when all are put in one line."""
        ends = np.cumsum([0, *(self.pairs.groups[name].size for name in self.names)]).tolist()
        return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(self.names)}

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

    def _weights(self, name: str) -> Floats:
        """The share of each value in its group."""
        counts = np.asarray(_value_counts(self.summary.attributes[name]), dtype=np.float64)
        groups = self.pairs.groups[name]
        total = np.bincount(groups.codes, weights=counts, minlength=groups.size)
        return counts / np.where(total > 0, total, 1.0)[groups.codes]

    def by_parts(self, name: str, masked: MaskedJoint) -> Floats:
        """The joints of the parts, parts × groups × (masked) labels."""
        counts = np.asarray(self.pairs.parts[name], dtype=np.float64)
        change = None if masked.label_mask is None else self.summary.label_masks[masked.label_mask][1]
        return counts if change is None else np.asarray(change.push(counts, axis=2), dtype=np.float64)


def _value_counts(attribute: AttributeSummary) -> Counts:
    histogram = attribute.histogram
    if histogram is None or attribute.domain is None or len(histogram.counts) != attribute.domain.size:
        raise MeasureError(
            f"pair scores need the 1D histogram of {attribute.name!r} by value; summarise at level 1d or 2d"
        )
    return histogram.counts[histogram.codes]


# --- the probe -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """An attribute under a mask as the probe sees it.

    ``values`` encode the groups, ``met`` is what each group of every attribute meets of it (sums over the pairs),
    ``by_part`` the cross-moments with the label in each part.
    """

    encoding: Encoding
    values: Floats
    met: Floats
    by_part: Floats


def label_probe(ground: _Ground, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """R² of the ridge regression of the label on all encodings, honest by leaving records out; and resamples of it."""
    second_moments = _second_moments(ground)
    columns: dict[tuple[str, Key], _Column] = {}

    def column(configuration: ConfigurationSummary, name: str) -> _Column:
        key, masked = ground.masked(configuration, name)
        if (name, key) not in columns:
            columns[name, key] = _column(ground, name, masked, second_moments)
        return columns[name, key]

    parts = len(next(iter(ground.pairs.parts.values())))
    utilities = np.zeros(len(ground.summary.configurations))
    by_part = np.zeros((len(utilities), parts))
    for i, configuration in enumerate(ground.summary.configurations):
        seen = {name: column(configuration, name) for name in ground.names}
        label = ground.masked(configuration, ground.names[0])[1].joint.counts.sum(axis=0)
        utilities[i], by_part[i] = _r_squared(ground, seen, np.asarray(label, dtype=np.float64))
    # The sample is smaller than the table: what varies between its parts varies less between tables of all rows.
    shrink = np.sqrt(parts / (parts - 1) * ground.pairs.sample_rows / ground.pairs.rows)
    drawn = rng.multinomial(parts, np.full(parts, 1.0 / parts), size=RESAMPLES) / parts - 1.0 / parts
    return utilities, utilities[:, None] + shrink * by_part @ drawn.T


def _second_moments(ground: _Ground) -> Floats:
    """All pair tables, labels summed, as one symmetric matrix over the groups of all attributes."""
    size = max(span.stop for span in ground.spans.values())
    matrix = np.zeros((size, size))
    for i, first in enumerate(ground.names):
        for second in ground.names[i + 1 :]:
            block = ground.table(first, second).sum(axis=2) / ground.pairs.sample_rows
            matrix[ground.spans[first], ground.spans[second]] = block
            matrix[ground.spans[second], ground.spans[first]] = block.T
    return matrix


def _column(ground: _Ground, name: str, masked: MaskedJoint, second_moments: Floats) -> _Column:
    counts = np.asarray(masked.joint.counts, dtype=np.float64)
    encoding = encode(counts, prior_records=PRIOR_RECORDS)
    values = ground.on_groups(name, masked, encoding.values)
    parts = ground.by_parts(name, masked)
    shares = parts / np.maximum(parts.sum(axis=(1, 2), keepdims=True), 1.0)
    label = counts.sum(axis=0) / counts.sum()
    centred = shares - shares.sum(axis=2, keepdims=True) * label
    return _Column(
        encoding=encoding,
        values=values,
        met=second_moments[:, ground.spans[name]] @ values,
        by_part=np.einsum("ge,pgy->pey", values, centred),
    )


def _r_squared(ground: _Ground, seen: Mapping[str, _Column], label: Floats) -> tuple[float, Floats]:
    used = [name for name, column in seen.items() if column.encoding.information_bits > 0]
    shares = label / label.sum()
    variance = 1.0 - float((shares**2).sum())
    parts = len(next(iter(seen.values())).by_part)
    if not used or variance <= 1e-12:
        return 0.0, np.zeros(parts)
    met = np.hstack([seen[name].met for name in used])
    S = np.vstack([seen[name].values.T @ met[ground.spans[name]] for name in used])
    labels = len(shares)
    for i, name in enumerate(used):
        S[i * labels : (i + 1) * labels, i * labels : (i + 1) * labels] = seen[name].encoding.own
    B = np.vstack([seen[name].encoding.with_label for name in used])
    B_left_out = np.vstack([seen[name].encoding.with_label_left_out for name in used])
    W = _ridge(S, B)
    r_squared = (2.0 * float((B_left_out * W).sum()) - float((W * (S @ W)).sum())) / variance
    by_part = 2.0 * np.einsum("pey,ey->p", np.concatenate([seen[name].by_part for name in used], axis=1), W) / variance
    return max(r_squared, 0.0), by_part - by_part.mean()


def _ridge(S: Floats, B: Floats) -> Floats:
    """(S + ridge)⁻¹ B. Moments from a sample beside moments from all rows may miss being positive by a little."""
    try:
        return cho_solve(cho_factor(S + RIDGE * np.eye(len(S))), B)
    except LinAlgError:
        spectrum, basis = eigh(S)
        return basis @ ((basis.T @ B) / (np.maximum(spectrum, 0.0) + RIDGE)[:, None])


# --- pairs one by one ------------------------------------------------------------------------------------------------


def pair_information(ground: _Ground, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Leave-one-out bits that two attributes tell about the label, averaged over all pairs; and resamples of it."""
    shares: dict[tuple[str, Key], Floats] = {}
    bits: dict[tuple[str, Key, str, Key], tuple[float, float]] = {}

    def on_groups(name: str, key: Key, masked: MaskedJoint) -> Floats:
        if (name, key) not in shares:
            size, groups = masked.joint.attribute.size, ground.pairs.groups[name]
            # A mask finer than the groups tells no more than they do.
            fine = isinstance(masked.change, Partition) and size >= groups.size and not groups.exact
            shares[name, key] = np.eye(groups.size) if fine else ground.on_groups(name, masked, np.eye(size))
        return shares[name, key]

    utilities = np.zeros(len(ground.summary.configurations))
    errors = np.zeros(len(utilities))
    tables = {
        (first, second): ground.table(first, second)
        for i, first in enumerate(ground.names)
        for second in ground.names[i + 1 :]
    }
    for i, configuration in enumerate(ground.summary.configurations):
        found = []
        for (first, second), table in tables.items():
            a, masked_a = ground.masked(configuration, first)
            b, masked_b = ground.masked(configuration, second)
            if (first, a, second, b) not in bits:
                left, right = on_groups(first, a, masked_a), on_groups(second, b, masked_b)
                merged = np.einsum("ga,ghy,hb->aby", left, table, right, optimize=True).reshape(-1, table.shape[2])
                bits[first, a, second, b] = _bits(merged)
            found.append(bits[first, a, second, b])
        if found:
            utilities[i], errors[i] = np.mean(found, axis=0)
    # Errors of pairs are taken to go the same way, those of configurations each its own: never too narrow.
    return utilities, utilities[:, None] + errors[:, None] * rng.standard_normal((len(utilities), RESAMPLES))


def _bits(counts: Floats) -> tuple[float, float]:
    """Leave-one-out information of a table, never below 0, and its standard error."""
    rows = counts.sum(axis=1, keepdims=True)
    total = rows.sum()
    prior = PRIOR_RECORDS * counts.sum(axis=0) / total
    ratio = (np.maximum(counts - 1.0, 0.0) + prior) / np.where(prior > 0, prior, 1.0)
    ratio = ratio * (PRIOR_RECORDS / (np.maximum(rows - 1.0, 0.0) + PRIOR_RECORDS))
    each = np.log2(ratio, where=counts > 0, out=np.zeros_like(ratio))
    mean = float((counts * each).sum() / total)
    variance = float((counts * (each - mean) ** 2).sum() / total)
    return max(mean, 0.0), float(np.sqrt(variance / total))


PAIR_SCORES: Mapping[str, tuple[str, Callable[[_Ground, np.random.Generator], tuple[Floats, Floats]]]] = {
    "label-probe": ("share of the label's variance", label_probe),
    "pair-information": ("bits", pair_information),
}
