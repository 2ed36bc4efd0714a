"""Scores of whole configurations from what their pairs of attributes tell, one by one and grown to a tree."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.counts.joint import divisor
from aegis.measures.dependency_tree import label_weights, tree_accuracies
from aegis.measures.label_probe import probe_with_errors
from aegis.measures.leave_one_out import PRIOR_RECORDS, best_other
from aegis.measures.measure import pair_measure
from aegis.measures.pair_ground import RESAMPLES, Key, PairGround

PROBE_WEIGHT = 0.5
_UNIT = "share of errors avoided, entropy told and variance explained"
_THEORY = "docs/theory/choosing-a-measure.md"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PairValues:
    """What every pair of a configuration tells: configurations down, pairs across."""

    bits: Floats
    bits_errors: Floats
    accuracies: Floats


@pair_measure("pair-information", unit="bits", reference="leave-one-out information of two attributes together")
def pair_information(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How many bits two masked attributes tell about the label, on average over pairs."""
    values = _pair_values(ground)
    return _resampled(ground, values.bits.mean(axis=1), values.bits_errors.mean(axis=1), rng)


@pair_measure("pair-prediction", unit=_UNIT, reference=_THEORY)
def pair_prediction(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Errors that the best pair and its trees avoid, what all pairs know, half of what a line sees.

    The first part is how many of the errors that the commonest label makes are avoided, on average over the best pair,
    records left out, and the trees of three to five attributes that grow from it: a mask may keep much information and
    still change no decision. The second is the mean share of the label's entropy that pairs tell. The last, half of
    the label probe, tells apart what decides alike: it looks at all attributes at once.
    """
    return _predicted(ground, rng, balanced=False)


@pair_measure("balanced-prediction", unit=_UNIT, reference=_THEORY)
def balanced_prediction(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same as pair-prediction with every label counting alike, for rare labels and for probabilities.

    A record decides for the label that is commonest *for its share*, and errors are those of guessing at random. It
    follows balanced accuracy and the area under the curve where `pair_prediction` follows accuracy.
    """
    return _predicted(ground, rng, balanced=True)


def _predicted(ground: PairGround, rng: np.random.Generator, *, balanced: bool) -> tuple[Floats, Floats]:
    values = _pair_values(ground, balanced=balanced)
    entropy, guessed, records = np.empty((3, len(values.bits)))
    for i, configuration in enumerate(ground.summary.configurations):
        label = ground.masked(configuration, ground.names[0])[1].joint.counts.sum(axis=0)
        shares = label[label > 0] / label.sum()
        entropy[i], guessed[i] = -(shares * np.log2(shares)).sum(), 1.0 / len(shares) if balanced else shares.max()
        # As sure as so many records would make it: where labels count alike, the rarest decides.
        records[i] = ground.pairs.sample_rows * (len(shares) ** 2 / (1.0 / shares).sum() if balanced else 1.0)
    varies = np.where(guessed < 1.0, 1.0 - guessed, 1.0)
    best = values.accuracies.max(axis=1)
    reached = best[:, None]
    if len(ground.names) > 2:
        reached = np.hstack([reached, tree_accuracies(ground, values.bits, values.accuracies, balanced=balanced)])
    decided = np.maximum((reached - guessed[:, None]) / varies[:, None], 0.0).mean(axis=1)
    inverse = 1.0 / divisor(entropy)
    line, line_errors = probe_with_errors(ground)
    utilities = decided + inverse * values.bits.mean(axis=1) + PROBE_WEIGHT * line
    errors = np.sqrt(np.clip(best * (1.0 - best), 0.0, None) / records) / varies  # rounding may pass 1
    errors = errors + inverse * values.bits_errors.mean(axis=1) + PROBE_WEIGHT * line_errors
    return _resampled(ground, utilities, errors, rng)


def _resampled(
    ground: PairGround, utilities: Floats, errors: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Utilities with resamples of exactly this standard error.

    Errors of pairs are taken to go the same way, those of configurations each its own: never too narrow. The draws of
    a configuration depend on its content only, not on which others are compared.
    """
    base = int(rng.integers(2**32))
    drawn = np.empty((len(utilities), RESAMPLES))
    for i, configuration in enumerate(ground.summary.configurations):
        key = zlib.crc32(configuration.id.encode())
        drawn[i] = np.random.default_rng((base, key)).standard_normal(RESAMPLES)
    drawn -= drawn.mean(axis=1, keepdims=True)
    drawn /= drawn.std(axis=1, ddof=1, keepdims=True)
    return utilities, utilities[:, None] + errors[:, None] * drawn


def _pair_values(ground: PairGround, *, balanced: bool = False) -> _PairValues:
    """Every pair under every two masks that some configuration gives it is looked at once."""
    pairs = list(combinations(ground.names, 2)) or [(ground.names[0], ground.names[0])]
    keys = {name: list(ground.summary.attributes[name].masked) for name in ground.names}
    places = {name: {key: i for i, key in enumerate(keys[name])} for name in ground.names}
    chosen = {
        name: np.array([places[name][c.masks[name], c.label_mask] for c in ground.summary.configurations])
        for name in ground.names
    }
    scores = np.empty((3, len(ground.summary.configurations), len(pairs)))
    for number, (first, second) in enumerate(pairs):
        width = len(keys[second])
        both, which = np.unique(chosen[first] * width + chosen[second], return_inverse=True)
        tables = _merged(ground, (first, second), [(keys[first][c // width], keys[second][c % width]) for c in both])
        scores[:, :, number] = _told(tables, balanced=balanced)[:, which]
    return _PairValues(bits=scores[0], bits_errors=scores[1], accuracies=scores[2])


def _merged(ground: PairGround, pair: tuple[str, str], masks: list[tuple[Key, Key]]) -> list[Floats]:
    """The pair table under each two masks, a line per pair of masked values; equal first masks follow one another."""
    first, second = pair
    if first == second:  # a table of one attribute has no pairs: its joint speaks for itself
        joints = (ground.summary.attributes[first].masked[key].joint for key, _ in masks)
        return [np.asarray(joint.counts, dtype=np.float64) for joint in joints]
    # Labels first, so that masking both sides is two plain matrix products.
    counts = np.ascontiguousarray(np.moveaxis(ground.table(first, second), 2, 0))
    tables, done, half = [], None, counts
    for mask, other in masks:
        if mask != done:
            done, onto = mask, ground.onto(first, mask)
            change = None if mask[1] is None else ground.summary.label_masks[mask[1]][1]
            labelled = counts if change is None else np.asarray(change.push(counts, axis=0), dtype=np.float64)
            half = labelled if onto is None else onto.T @ labelled
        onto = ground.onto(second, other)
        tables.append((half if onto is None else half @ onto).reshape(len(half), -1).T)
    return tables


def _told(tables: list[Floats], *, balanced: bool) -> Floats:
    """Leave-one-out bits, their standard error and leave-one-out accuracy of many tables: 3 × tables.

    Tables of equally many labels are put under one another and looked at together: most are too small to be worth a
    call of their own.
    """
    by_table = np.empty((3, len(tables)))
    labels = np.array([table.shape[1] for table in tables])
    for width in np.unique(labels):
        chosen = np.flatnonzero(labels == width)
        lengths = [len(tables[i]) for i in chosen]
        starts = np.cumsum([0, *lengths[:-1]])
        together = np.concatenate([tables[i] for i in chosen])
        by_table[:, chosen] = _told_together(together, starts, np.array(lengths), balanced=balanced)
    return by_table


def _told_together(counts: Floats, starts: NDArray[np.int64], lengths: NDArray[np.int64], *, balanced: bool) -> Floats:
    """The same for tables under one another, each beginning at one of ``starts``."""
    label = np.add.reduceat(counts, starts, axis=0)
    total = np.maximum(label.sum(axis=1), 1e-300)
    prior = PRIOR_RECORDS * label / total[:, None]
    # A label that never occurs is never looked up; any weight keeps its logarithm finite.
    never = divisor(prior)
    worth = label_weights(label) if balanced else np.ones_like(label[:1])
    guessed = (label * worth).max(axis=1) / total
    if (prior == prior[0]).all():  # the pairs of one sample: nothing to repeat
        prior, never, worth = prior[:1], never[:1], worth[:1]
    else:
        prior, never = np.repeat(prior, lengths, axis=0), np.repeat(never, lengths, axis=0)
        worth = np.repeat(worth, lengths, axis=0) if balanced else worth
    over_labels = np.ones(counts.shape[1])  # a product with ones: numpy's sum over a short axis is slow
    own = counts - 1.0
    np.maximum(own, 0.0, out=own)
    own += never
    if balanced:
        right = own * worth > best_other((counts + prior) * worth) + 5e-7
        hits = np.where(right, counts * worth, 0.0) @ over_labels
    else:
        hits = np.where(own > best_other(counts + prior) + 5e-7, counts, 0.0) @ over_labels
    # The bits of a record: log2 of its label's share among the others with its values, over the overall share.
    bits = np.log2(own, out=own)
    others = counts @ over_labels
    others -= 1.0
    np.maximum(others, 0.0, out=others)
    others += PRIOR_RECORDS
    bits -= np.log2(others, out=others)[:, None]
    bits -= np.log2(never / PRIOR_RECORDS)
    weighted = counts * bits
    mean = np.add.reduceat(weighted @ over_labels, starts) / total
    weighted *= bits
    variance = np.maximum(np.add.reduceat(weighted @ over_labels, starts) / total - mean**2, 0.0)
    accuracy = np.maximum(np.add.reduceat(hits, starts) / total, guessed)
    return np.stack([np.maximum(mean, 0.0), np.sqrt(variance / total), accuracy])
