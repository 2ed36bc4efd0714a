"""What neighbouring bins say of numbers: how many a bin holds, and where in it they lie.

Numbers spread evenly over a bin would jump at its ends, and a label whose numbers end just beyond a cut would seem to
reach through the whole bin. Smoothing that keeps the count of every bin (pycnophylactic interpolation, Tobler 1979)
takes the jumps away. Everything here is computed from noisy counts, and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.attribute import Attribute, NumberCells

Floats = NDArray[np.float64]

_ROUNDS = 60
_PEAK = 4.0
"""One cell that is a bin of its own, so many times as dense as both neighbours, is a number that people write often."""
_TINY = 1e-12
_FEWEST = 4
"""Fewer bins than these have too few neighbours to be judged by them."""


def beside(attribute: Attribute, noisy: Floats) -> Floats | None:
    """How many records the bins on both sides expect in each bin (code × label); None where there are no bins.

    A bin has no part in what is expected of it, so that its noise has none either.
    """
    bins = [cells for cells in attribute.values if isinstance(cells, NumberCells)]
    spans = np.array([_span(cells) for cells in bins])
    wide = np.flatnonzero(spans[:, 1] - spans[:, 0] > _TINY) if len(bins) else np.zeros(0, dtype=np.int64)
    if len(wide) < _FEWEST:
        return None
    widths, centres = spans[wide, 1] - spans[wide, 0], spans[wide].mean(axis=1)
    density = noisy[wide] / widths[:, None]
    left, right = np.vstack([density[1:2], density[:-1]]), np.vstack([density[1:], density[-2:-1]])  # an end has one
    near = np.full(len(wide), 0.5)
    near[1:-1] = (centres[2:] - centres[1:-1]) / (centres[2:] - centres[:-2])
    expected = noisy.copy()
    expected[wide] = np.maximum(near[:, None] * left + (1 - near)[:, None] * right, 0.0) * widths[:, None]
    return expected


def _span(cells: NumberCells) -> tuple[float, float]:
    """From where to where numbers of a bin are drawn."""
    held = np.flatnonzero(cells.chance[:, 0] > 0)
    return float(cells.low[held[0]]), float(cells.high[held[-1]])


def smoothed(attribute: Attribute, counts: Floats) -> Attribute:
    """The attribute, of whose bins numbers are drawn by label as ``counts`` (code × label) suggest."""
    bins = [cells for cells in attribute.values if isinstance(cells, NumberCells)]
    if len(bins) < 2:
        return attribute
    owners = np.repeat(np.arange(len(bins)), [len(cells.low) for cells in bins])
    low, high = np.concatenate([c.low for c in bins]), np.concatenate([c.high for c in bins])
    chance = np.concatenate([cells.chance for cells in bins])
    widths = np.maximum(high - low, _TINY)
    masses = counts[: len(bins)][owners] * chance
    density = masses / widths[:, None]
    still = _peaks(density.sum(axis=1), owners, widths)
    room = (chance[:, 0] > 0) & ~still
    wanted = counts[: len(bins)].copy()
    np.subtract.at(wanted, owners[still], masses[still])
    for _ in range(_ROUNDS):
        density = np.where(room[:, None], _averaged(density, widths, still), density)
        sums = np.zeros((len(bins), counts.shape[1]))
        np.add.at(sums, owners[room], (density * widths[:, None])[room])
        factor = np.where(sums > _TINY, np.maximum(wanted, 0.0) / np.maximum(sums, _TINY), 1.0)
        density = np.where(room[:, None], density * factor[owners], density)
    values = list(attribute.values)
    starts = np.append(0, np.cumsum(np.bincount(owners)))
    for code, cells in enumerate(bins):
        part = (density * widths[:, None])[starts[code] : starts[code + 1]]
        total = part.sum(axis=0)
        values[code] = replace(cells, chance=np.where(total > _TINY, part / np.maximum(total, _TINY), cells.chance))
    return replace(attribute, values=tuple(values))


def _peaks(density: Floats, owners: NDArray[np.int64], widths: Floats) -> NDArray[np.bool_]:
    """Cells that say nothing of what lies beside them: bins of one cell that stand far out, and one of no width."""
    alone = np.bincount(owners)[owners] == 1
    padded = np.concatenate([[0.0], density, [0.0]])
    beside = np.maximum(padded[:-2], padded[2:])
    return (alone & (density > _PEAK * beside)) | (widths <= _TINY)


def _averaged(density: Floats, widths: Floats, still: NDArray[np.bool_]) -> Floats:
    """Each cell as the mean of its two ends; an end of the range, or beside a peak, is what the cell is."""
    left, right = density[:-1], density[1:]
    near = widths[1:, None] / (widths[:-1] + widths[1:])[:, None]
    between = near * left + (1 - near) * right
    barrier = (still[:-1] | still[1:])[:, None]
    ends_right = np.vstack([np.where(barrier, left, between), density[-1:]])
    ends_left = np.vstack([density[:1], np.where(barrier, right, between)])
    return np.asarray((ends_left + ends_right) / 2)
