"""Scores of whole configurations from what their pairs of attributes tell, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from aegis.advisor.pair_ground import RESAMPLES, Floats, Key, PairGround
from aegis.masking.partition import Partition
from aegis.summaries.summary import ConfigurationSummary, MaskedJoint
from aegis.utility.leave_one_out import PRIOR_RECORDS, leave_one_out_accuracy

INFORMATION_WEIGHT = 3.0
"""Any weight from 2 to 5 ranks alike (docs/theory/choosing-a-measure.md)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PairValues:
    """What every pair of a configuration tells: configurations down, pairs across."""

    bits: Floats
    bits_errors: Floats
    accuracies: Floats


def pair_information(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Leave-one-out bits that two attributes tell about the label, averaged over all pairs; and resamples of it."""
    values = _pair_values(ground)
    return _resampled(values.bits.mean(axis=1), values.bits_errors.mean(axis=1), rng)


def pair_prediction(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """What the best pair decides and what all pairs know; and resamples of it.

    The first part is how many of the errors that the commonest label makes the best pair avoids, records left out: a
    mask may keep much information and still change no decision. The second is the mean share of the label's entropy
    that pairs tell; it counts `INFORMATION_WEIGHT` times because it is spread over all pairs.
    """
    values = _pair_values(ground)
    entropy, commonest = np.empty(len(values.bits)), np.empty(len(values.bits))
    for i, configuration in enumerate(ground.summary.configurations):
        label = ground.masked(configuration, ground.names[0])[1].joint.counts.sum(axis=0)
        shares = label[label > 0] / label.sum()
        entropy[i], commonest[i] = -(shares * np.log2(shares)).sum(), shares.max()
    varies = np.where(commonest < 1.0, 1.0 - commonest, 1.0)
    best = values.accuracies.max(axis=1)
    decided = (best - commonest) / varies
    known = INFORMATION_WEIGHT / np.where(entropy > 0, entropy, 1.0)
    errors = np.sqrt(best * (1.0 - best) / ground.pairs.sample_rows) / varies
    return _resampled(decided + known * values.bits.mean(axis=1), errors + known * values.bits_errors.mean(axis=1), rng)


def _resampled(utilities: Floats, errors: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    # Errors of pairs are taken to go the same way, those of configurations each its own: never too narrow.
    return utilities, utilities[:, None] + errors[:, None] * rng.standard_normal((len(utilities), RESAMPLES))


def _pair_values(ground: PairGround) -> _PairValues:
    shares: dict[tuple[str, Key], Floats] = {}
    known: dict[tuple[str, Key, str, Key], tuple[float, float, float]] = {}
    tables: dict[tuple[str, str, str | None], Floats] = {}
    pairs = list(combinations(ground.names, 2)) or [(ground.names[0], ground.names[0])]

    def on_groups(name: str, key: Key, masked: MaskedJoint) -> Floats:
        if (name, key) not in shares:
            size, groups = masked.joint.attribute.size, ground.pairs.groups[name]
            # A mask finer than the groups tells no more than they do.
            fine = isinstance(masked.change, Partition) and size >= groups.size and not groups.exact
            shares[name, key] = np.eye(groups.size) if fine else ground.on_groups(name, masked, np.eye(size))
        return shares[name, key]

    def table(first: str, second: str, label_mask: str | None) -> Floats:
        """Labels deep, groups of the first down, of the second across."""
        if (first, second, label_mask) not in tables:
            counts = ground.table(first, second)
            change = None if label_mask is None else ground.summary.label_masks[label_mask][1]
            counts = counts if change is None else np.asarray(change.push(counts, axis=2), dtype=np.float64)
            tables[first, second, label_mask] = np.ascontiguousarray(np.moveaxis(counts, 2, 0))
        return tables[first, second, label_mask]

    def told(configuration: ConfigurationSummary, first: str, second: str) -> tuple[float, float, float]:
        a, masked_a = ground.masked(configuration, first)
        b, masked_b = ground.masked(configuration, second)
        if (first, a, second, b) not in known:
            if first == second:  # a table of one attribute has no pairs: its joint speaks for itself
                merged = np.asarray(masked_a.joint.counts, dtype=np.float64)
            else:
                counts = table(first, second, configuration.label_mask)
                merged = on_groups(first, a, masked_a).T @ counts @ on_groups(second, b, masked_b)
                merged = merged.reshape(len(counts), -1).T
            known[first, a, second, b] = *_bits(merged), float(leave_one_out_accuracy(merged))
        return known[first, a, second, b]

    found = np.array([[told(c, first, second) for first, second in pairs] for c in ground.summary.configurations])
    return _PairValues(bits=found[..., 0], bits_errors=found[..., 1], accuracies=found[..., 2])


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
