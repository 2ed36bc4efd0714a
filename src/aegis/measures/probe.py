"""How well a line through all attributes would predict the label, from pair counts alone.

Sums over single attributes count twice what two attributes both say. The probe does not: every masked value is encoded
by its shrunken share of each label, the encodings are standardised, and a ridge regression of the label on all of them
is solved from their second moments. Those need the tables (attribute, label) and (attribute, attribute) only.

The weights come from the records as counted; the score uses encodings that leave the scored record out, so that an
identifier scores nothing. Attributes without leave-one-out information are left out altogether: they only add noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aegis.counts.pair_counts import PairCounts
from aegis.errors import MeasureError
from aegis.measures.leave_one_out import leave_one_out_gain
from aegis.measures.measure import Counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoding:
    """One attribute as numbers: a standardised column per label.

    ``values[a]`` encodes value a; ``with_label`` and ``with_label_left_out`` are its cross-moments with the centred
    indicator of each label, as counted and with the scored record left out; ``own`` its second moments.
    """

    values: Matrix
    own: Matrix
    with_label: Matrix
    with_label_left_out: Matrix
    information_bits: float

    def on(self, codes: NDArray[np.int64]) -> Matrix:
        """The encoding of each value of a finer domain, whose value a became ``codes[a]``."""
        return self.values[codes]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probe:
    """What the probe found: ``r_squared`` is the honest score, never below 0."""

    r_squared: float
    r_squared_as_counted: float
    attributes: tuple[str, ...]
    left_out: tuple[str, ...]
    share_of_attribute: Mapping[str, float]


def encode(counts: Counts, *, prior_records: float = 2.0) -> Encoding:
    """Encode one masked attribute from its joint with the label."""
    counts = np.asarray(counts, dtype=np.float64)
    if prior_records <= 0:
        raise MeasureError("the prior of an encoding must be positive; 2 records is the default")
    total, rows = counts.sum(), counts.sum(axis=1)
    label = counts.sum(axis=0) / total
    raw = _shrunken(counts, rows, label, prior_records)
    shares = rows / total
    mean = shares @ raw
    spread = np.sqrt(shares @ (raw - mean) ** 2)
    scale = np.where(spread > 1e-9, 1.0 / np.where(spread > 1e-9, spread, 1.0), 0.0)
    values = (raw - mean) * scale

    # A record with label y takes one record out of its cell and its row: its value is encoded by the other records, of
    # which only those with label y are one fewer.
    seen = counts / (total * (np.maximum(rows - 1.0, 0.0) + prior_records))[:, None]
    met = (counts + prior_records * label).T @ seen
    met[np.diag_indices_from(met)] -= (np.minimum(counts, 1.0) * seen).sum(axis=0)
    left_out = (met - np.outer(label + mean, label)) * scale[:, None]
    # Column y holds E[encoding; label = y]: centring the indicator takes off the share of the whole.
    centred = left_out - np.outer(left_out.sum(axis=1), label)
    return Encoding(
        values=values,
        own=values.T @ (shares[:, None] * values),
        with_label=values.T @ (counts / total),
        with_label_left_out=centred,
        information_bits=float(leave_one_out_gain(counts, prior_records=prior_records)),
    )


def pair_table(pair: PairCounts, *, first_values: int, second_values: int) -> csr_array:
    """The shares of a pair's values as a sparse table: built once, used by every configuration."""
    from scipy.sparse import csr_array  # slow to import, and rankings by the default measure need none

    sizes = np.asarray(pair.sizes, dtype=np.float64)
    shares = sizes / sizes.sum()
    return csr_array((shares, (pair.first, pair.second)), shape=(first_values, second_values))


def cross_moments(table: csr_array, first: Matrix, second: Matrix) -> Matrix:
    """Second moments of two encodings, given per value of the domains that the pair was counted on."""
    return first.T @ (table @ second)


def linear_probe(
    encodings: Mapping[str, Encoding],
    moments: Mapping[tuple[str, str], Matrix],
    *,
    label: Counts,
    ridge: float = 0.05,
) -> Probe:
    """The probe of a configuration from the encodings of its attributes and their cross-moments.

    ``moments[a, b]`` is needed for each two attributes that tell something, in one order or the other.
    """
    if ridge <= 0:
        raise MeasureError("the ridge of the probe must be positive; 0.05 is the default")
    shares = np.asarray(label, dtype=np.float64) / np.sum(label)
    variance = 1.0 - float((shares**2).sum())
    used = tuple(name for name, encoding in encodings.items() if encoding.information_bits > 0)
    left_out = tuple(name for name in encodings if name not in used)
    if not used or variance <= 1e-12:
        return Probe(r_squared=0.0, r_squared_as_counted=0.0, attributes=(), left_out=tuple(encodings),
                     share_of_attribute={})  # fmt: skip
    S = np.block([[_moments(a, b, encodings, moments) for b in used] for a in used])
    B = np.vstack([encodings[name].with_label for name in used])
    B_left_out = np.vstack([encodings[name].with_label_left_out for name in used])
    W = np.linalg.solve(S + ridge * np.eye(len(S)), B)
    spent = float((W * (S @ W)).sum())
    labels = len(shares)
    parts = (B_left_out * W).reshape(len(used), -1).sum(axis=1) / variance
    assert B.shape == (len(used) * labels, labels)
    return Probe(
        r_squared=max((2.0 * float((B_left_out * W).sum()) - spent) / variance, 0.0),
        r_squared_as_counted=(2.0 * float((B * W).sum()) - spent) / variance,
        attributes=used,
        left_out=left_out,
        share_of_attribute=dict(zip(used, parts.tolist(), strict=True)),
    )


def probe_tables(
    joints: Mapping[str, Counts],
    pairs: Mapping[tuple[str, str], PairCounts],
    *,
    prior_records: float = 2.0,
    ridge: float = 0.05,
) -> Probe:
    """The probe straight from masked tables: one joint per attribute and one pair table per two attributes."""
    if not joints:
        raise MeasureError("the probe needs at least one attribute; name the columns to score")
    encodings = {name: encode(counts, prior_records=prior_records) for name, counts in joints.items()}
    moments = {}
    for (a, b), pair in pairs.items():
        first, second = encodings[a].values, encodings[b].values
        table = pair_table(pair, first_values=len(first), second_values=len(second))
        moments[a, b] = cross_moments(table, first, second)
    label = np.asarray(next(iter(joints.values()))).sum(axis=0)
    return linear_probe(encodings, moments, label=label, ridge=ridge)


def _shrunken(counts: Matrix, rows: Matrix, label: Matrix, prior_records: float) -> Matrix:
    return (counts + prior_records * label) / (rows + prior_records)[:, None] - label


def _moments(a: str, b: str, encodings: Mapping[str, Encoding], moments: Mapping[tuple[str, str], Matrix]) -> Matrix:
    if a == b:
        return encodings[a].own
    if (a, b) in moments:
        return moments[a, b]
    if (b, a) in moments:
        return moments[b, a].T
    raise MeasureError(f"the probe needs the pair counts of {a} and {b}; count pairs when summarising")
