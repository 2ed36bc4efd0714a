"""How well a line through all masked attributes of a configuration would predict the label, from pair counts alone.

Sums over single attributes count twice what two attributes both say. The probe does not: every masked value is encoded
by its shrunken share of each label, the encodings are standardised, and a ridge regression of the label on all of them
is solved from their second moments. Those need the tables (attribute, label) and (attribute, attribute) only. The
weights come from the records as counted; the score uses encodings that leave the scored record out, so that an
identifier scores nothing. Attributes without leave-one-out information are left out altogether: they only add noise.

Encodings are worked out once per (attribute, mask) and what they meet once per two attributes, for all their masks
together; a configuration then costs one small system of equations. All of it comes from the sample of rows that the
pairs were counted on, and from levels that it can tell apart: a value of few records says little about its label, and
a model would ask its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.counts.joint import Counts
from aegis.counts.summary import ConfigurationSummary
from aegis.measures.leave_one_out import PRIOR_RECORDS, leave_one_out_gain
from aegis.measures.measure import pair_measure
from aegis.measures.pair_ground import RESAMPLES, PairGround

RIDGE = 0.05
_MOST_CELLS = 2**23
"""Of the equations that are solved together: what bounds the memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Encoding:
    """One attribute as numbers: a standardised column per label.

    ``values[a]`` encodes value a; ``with_label`` and ``with_label_left_out`` are its cross-moments with the centred
    indicator of each label, as counted and with the scored record left out; ``own`` its second moments.
    """

    values: Floats
    own: Floats
    with_label: Floats
    with_label_left_out: Floats
    information_bits: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """An attribute as the probe sees it, under each of its masks: masks come first in every array.

    ``chosen`` is the mask of each configuration; ``values`` encode the groups, ``own`` are their second moments,
    ``with_label`` and ``left_out`` the cross-moments with the label as counted and without the scored record,
    ``by_part`` those in each part of the sample. A mask that tells nothing by itself is not ``telling``.
    """

    chosen: NDArray[np.int64]
    telling: NDArray[np.bool_]
    values: Floats
    own: Floats
    with_label: Floats
    left_out: Floats
    by_part: Floats


@pair_measure(
    "label-probe",
    unit="share of the label's variance",
    upper=1.0,
    reference="R² of a ridge regression on shrunken label shares, records left out",
)
def label_probe(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How well a line through all masked attributes would predict the label."""
    utilities, by_part = _probed(ground)
    parts = by_part.shape[1]
    drawn = rng.multinomial(parts, np.full(parts, 1.0 / parts), size=RESAMPLES) / parts - 1.0 / parts
    return utilities, utilities[:, None] + by_part @ drawn.T


def probe_with_errors(ground: PairGround) -> tuple[Floats, Floats]:
    """The same R² with its standard errors: what the resamples would have if there were endlessly many."""
    utilities, by_part = _probed(ground)
    return utilities, np.sqrt((by_part**2).sum(axis=1)) / by_part.shape[1]


def _probed(ground: PairGround) -> tuple[Floats, Floats]:
    """The probe of every configuration, and how much the parts of the sample differ from it (0 on average)."""
    configurations = ground.summary.configurations
    parts = len(next(iter(ground.pairs.parts.values())))
    utilities, by_part = np.zeros(len(configurations)), np.zeros((len(configurations), parts))
    label_masks = np.array([configuration.label_mask or "" for configuration in configurations])
    for label_mask in np.unique(label_masks):  # they may differ in how many labels they leave
        members = np.flatnonzero(label_masks == label_mask)
        utilities[members], by_part[members] = _probed_alike(ground, [configurations[i] for i in members])
    return utilities, by_part


def _probed_alike(ground: PairGround, configurations: Sequence[ConfigurationSummary]) -> tuple[Floats, Floats]:
    """The same for configurations that mask the label alike."""
    label = ground.by_parts(ground.names[0], configurations[0].label_mask).sum(axis=(0, 1))
    variance = 1.0 - float(((label / label.sum()) ** 2).sum())
    columns = [_column(ground, name, configurations) for name in ground.names]
    n, unknowns = len(configurations), len(columns) * len(label)
    if variance <= 1e-12:
        return np.zeros(n), np.zeros((n, columns[0].by_part.shape[1]))
    together = max(_MOST_CELLS // unknowns**2, 1)
    solved = [_r_squared(ground, columns, slice(begin, begin + together), variance) for begin in range(0, n, together)]
    return np.concatenate([utilities for utilities, _ in solved]), np.concatenate([by_part for _, by_part in solved])


def _encode(counts: Counts) -> _Encoding:
    """Encode one masked attribute from its joint with the label."""
    counts = np.asarray(counts, dtype=np.float64)
    total, rows = counts.sum(), counts.sum(axis=1)
    label = counts.sum(axis=0) / total
    raw = (counts + PRIOR_RECORDS * label) / (rows + PRIOR_RECORDS)[:, None] - label
    shares = rows / total
    mean = shares @ raw
    spread = np.sqrt(shares @ (raw - mean) ** 2)
    scale = np.where(spread > 1e-9, 1.0 / np.where(spread > 1e-9, spread, 1.0), 0.0)
    values = (raw - mean) * scale

    # A record with label y takes one record out of its cell and its row: its value is encoded by the other records, of
    # which only those with label y are one fewer.
    seen = counts / (total * (np.maximum(rows - 1.0, 0.0) + PRIOR_RECORDS))[:, None]
    met = (counts + PRIOR_RECORDS * label).T @ seen
    met[np.diag_indices_from(met)] -= (np.minimum(counts, 1.0) * seen).sum(axis=0)
    left_out = (met - np.outer(label + mean, label)) * scale[:, None]
    # Column y holds E[encoding; label = y]: centring the indicator takes off the share of the whole.
    centred = left_out - np.outer(left_out.sum(axis=1), label)
    return _Encoding(
        values=values,
        own=values.T @ (shares[:, None] * values),
        with_label=values.T @ (counts / total),
        with_label_left_out=centred,
        information_bits=float(leave_one_out_gain(counts)),
    )


def _column(ground: PairGround, name: str, configurations: Sequence[ConfigurationSummary]) -> _Column:
    keys, chosen = np.unique([configuration.masks[name] for configuration in configurations], return_inverse=True)
    label_mask = configurations[0].label_mask
    parts = ground.by_parts(name, label_mask)
    counts = parts.sum(axis=0)
    shares = parts / np.maximum(parts.sum(axis=(1, 2), keepdims=True), 1.0)
    centred = shares - shares.sum(axis=2, keepdims=True) * (counts.sum(axis=0) / counts.sum())
    levels = [ground.onto(name, (str(key), label_mask)) for key in keys]
    encodings = [_encode(counts if onto is None else onto.T @ counts) for onto in levels]
    values = np.stack(
        [e.values if onto is None else onto @ e.values for onto, e in zip(levels, encodings, strict=True)]
    )
    return _Column(
        chosen=chosen,
        telling=np.array([encoding.information_bits > 0 for encoding in encodings]),
        values=values,
        own=np.stack([encoding.own for encoding in encodings]),
        with_label=np.stack([encoding.with_label for encoding in encodings]),
        left_out=np.stack([encoding.with_label_left_out for encoding in encodings]),
        by_part=values.swapaxes(1, 2)[:, None] @ centred,
    )


def _r_squared(ground: PairGround, columns: Sequence[_Column], part: slice, variance: float) -> tuple[Floats, Floats]:
    S = _second_moments(ground, columns, part)
    n, m, labels = S.shape[:3]
    used = np.stack([column.telling[column.chosen[part]] for column in columns], axis=1)[:, :, None, None]
    # An attribute that tells nothing only adds noise: without moments it gets no weight.
    S *= used[..., None] & used.reshape(n, 1, 1, m, 1)
    B = np.stack([column.with_label[column.chosen[part]] for column in columns], axis=1)
    B = np.where(used, B, 0.0)
    left_out = np.stack([column.left_out[column.chosen[part]] for column in columns], axis=1)
    S = S.reshape(n, m * labels, m * labels)
    W = np.linalg.solve(S + RIDGE * np.eye(m * labels), B.reshape(n, m * labels, labels))
    spent = (W * (S @ W)).sum(axis=(1, 2))
    W = W.reshape(n, m, labels, labels)
    r_squared = (2.0 * (left_out * W).sum(axis=(1, 2, 3)) - spent) / variance
    by_part = sum(
        np.einsum("npey,ney->np", column.by_part[column.chosen[part]], W[:, i]) for i, column in enumerate(columns)
    )
    by_part *= 2.0 / variance
    by_part -= by_part.mean(axis=1, keepdims=True)
    parts = by_part.shape[1]
    return np.maximum(r_squared, 0.0), by_part * np.sqrt(parts / (parts - 1))


def _second_moments(ground: PairGround, columns: Sequence[_Column], part: slice) -> Floats:
    """Of every two encodings of each configuration: configurations × attributes × labels × attributes × labels."""
    chosen = [column.chosen[part] for column in columns]
    m, labels = len(columns), columns[0].own.shape[1]
    S = np.empty((len(chosen[0]), m, labels, m, labels))
    for i, column in enumerate(columns):
        S[:, i, :, i] = column.own[chosen[i]]
    for i, j in combinations(range(m), 2):
        shares = ground.table(ground.names[i], ground.names[j]).sum(axis=2) / ground.pairs.sample_rows
        left, right = columns[i].values, columns[j].values
        # Every mask of the one with every mask of the other, in two products.
        met = left.swapaxes(1, 2).reshape(-1, len(shares)) @ shares @ right.swapaxes(0, 1).reshape(len(shares[0]), -1)
        both = met.reshape(len(left), labels, len(right), labels)[chosen[i], :, chosen[j]]
        S[:, i, :, j], S[:, j, :, i] = both, both.swapaxes(1, 2)
    return S
