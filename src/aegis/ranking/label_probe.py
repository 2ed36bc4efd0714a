"""The label probe of whole configurations: how well a line through all masked attributes would predict the label.

Encodings are worked out once per (attribute, mask) and what they meet once per two attributes, for all their masks
together; a configuration then costs one small system of equations. The same quantity from plain tables is
`aegis.measures.probe`. All of it comes from the sample of rows that the pairs were counted on, and from levels that it
can tell apart: a value of few records says little about its label, and a model would ask its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.summary import ConfigurationSummary
from aegis.measures.leave_one_out import PRIOR_RECORDS
from aegis.measures.probe import encode
from aegis.ranking.pair_ground import RESAMPLES, Floats, PairGround

RIDGE = 0.05
_MOST_CELLS = 2**23
"""Of the equations that are solved together: what bounds the memory."""


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


def label_probe(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """R² of the ridge regression of the label on all encodings, honest by leaving records out; and resamples of it."""
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
    return np.concatenate([one[0] for one in solved]), np.concatenate([one[1] for one in solved])


def _column(ground: PairGround, name: str, configurations: Sequence[ConfigurationSummary]) -> _Column:
    keys, chosen = np.unique([configuration.masks[name] for configuration in configurations], return_inverse=True)
    label_mask = configurations[0].label_mask
    parts = ground.by_parts(name, label_mask)
    counts = parts.sum(axis=0)
    shares = parts / np.maximum(parts.sum(axis=(1, 2), keepdims=True), 1.0)
    centred = shares - shares.sum(axis=2, keepdims=True) * (counts.sum(axis=0) / counts.sum())
    levels = [ground.onto(name, (str(key), label_mask)) for key in keys]
    encodings = [encode(counts if onto is None else onto.T @ counts, prior_records=PRIOR_RECORDS) for onto in levels]
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


def _r_squared(ground: PairGround, columns: Sequence[_Column], these: slice, variance: float) -> tuple[Floats, Floats]:
    S = _second_moments(ground, columns, these)
    n, m, labels = S.shape[:3]
    used = np.stack([column.telling[column.chosen[these]] for column in columns], axis=1)[:, :, None, None]
    # An attribute that tells nothing only adds noise: without moments it gets no weight.
    S *= used[..., None] & used.reshape(n, 1, 1, m, 1)
    B = np.stack([column.with_label[column.chosen[these]] for column in columns], axis=1)
    B = np.where(used, B, 0.0)
    left_out = np.stack([column.left_out[column.chosen[these]] for column in columns], axis=1)
    S = S.reshape(n, m * labels, m * labels)
    W = np.linalg.solve(S + RIDGE * np.eye(m * labels), B.reshape(n, m * labels, labels))
    spent = (W * (S @ W)).sum(axis=(1, 2))
    W = W.reshape(n, m, labels, labels)
    r_squared = (2.0 * (left_out * W).sum(axis=(1, 2, 3)) - spent) / variance
    by_part = sum(
        np.einsum("npey,ney->np", column.by_part[column.chosen[these]], W[:, i]) for i, column in enumerate(columns)
    )
    by_part *= 2.0 / variance
    by_part -= by_part.mean(axis=1, keepdims=True)
    parts = by_part.shape[1]
    return np.maximum(r_squared, 0.0), by_part * np.sqrt(parts / (parts - 1))


def _second_moments(ground: PairGround, columns: Sequence[_Column], these: slice) -> Floats:
    """Of every two encodings of each configuration: configurations × attributes × labels × attributes × labels."""
    chosen = [column.chosen[these] for column in columns]
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
