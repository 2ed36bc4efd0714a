"""The label probe of whole configurations: how well a line through all masked attributes would predict the label.

Encodings and what they meet are worked out once per (attribute, mask); a configuration then costs one small system of
equations. The same quantity from plain tables is `aegis.utility.probe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.advisor.pair_ground import RESAMPLES, Floats, Key, PairGround
from aegis.summaries.summary import ConfigurationSummary, MaskedJoint
from aegis.utility.leave_one_out import PRIOR_RECORDS
from aegis.utility.probe import Encoding, encode

RIDGE = 0.05


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


def label_probe(ground: PairGround, rng: np.random.Generator) -> tuple[Floats, Floats]:
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


def _second_moments(ground: PairGround) -> Floats:
    """All pair tables, labels summed, as one symmetric matrix over the groups of all attributes."""
    size = max(span.stop for span in ground.spans.values())
    matrix = np.zeros((size, size))
    for i, first in enumerate(ground.names):
        for second in ground.names[i + 1 :]:
            block = ground.table(first, second).sum(axis=2) / ground.pairs.sample_rows
            matrix[ground.spans[first], ground.spans[second]] = block
            matrix[ground.spans[second], ground.spans[first]] = block.T
    return matrix


def _column(ground: PairGround, name: str, masked: MaskedJoint, second_moments: Floats) -> _Column:
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


def _r_squared(ground: PairGround, seen: Mapping[str, _Column], label: Floats) -> tuple[float, Floats]:
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
        L = np.linalg.cholesky(S + RIDGE * np.eye(len(S)))
    except np.linalg.LinAlgError:
        spectrum, basis = np.linalg.eigh(S)
        return basis @ ((basis.T @ B) / (np.maximum(spectrum, 0.0) + RIDGE)[:, None])
    return np.linalg.solve(L.T, np.linalg.solve(L, B))
