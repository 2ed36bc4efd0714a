"""Cells become bins, and values become groups: always read off noisy counts, so that it costs nothing more.

Bins are cut where the label changes most and where many records lie, as long as enough records lie on both sides for
what will be measured of them to stand out of the noise.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_CLEAR = 2.0
_MASS = 0.02
"""What a cut is worth beside what it tells of the label: so many nats for each record of the smaller side."""


def information(table: Floats) -> Floats:
    """Records times the entropy of their label, in nats, of tables whose last axis is the label."""
    counts = np.maximum(table, 1e-9)
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(-(counts * np.log(counts / total)).sum(axis=-1))


def cut_bins(noisy: Floats, *, variance: Floats, least: float, most: int, given: Sequence[int] = ()) -> list[int]:
    """Where bins of cells in order begin, given noisy counts (cell × label) and the variance of each cell's total.

    A part is cut while both sides have ``least`` records, and more than the noise of their cells may feign; at the
    places ``given`` it is cut before.
    """
    cells, labels = noisy.shape
    sums = np.vstack([np.zeros(labels), np.cumsum(noisy, axis=0)])
    spread = np.append(0.0, np.cumsum(variance))
    waiting: list[tuple[float, int, int, int]] = []

    def consider(first: int, last: int) -> None:
        if last - first < 2:
            return
        places = np.arange(first + 1, last)
        left, right = sums[places] - sums[first], sums[last] - sums[places]
        masses = left.sum(axis=1), right.sum(axis=1)
        feigned = spread[places] - spread[first], spread[last] - spread[places]
        enough = np.ones(len(places), dtype=bool)
        for mass, doubt in zip(masses, feigned, strict=True):
            enough &= mass >= np.maximum(least, _CLEAR * np.sqrt(doubt))
        if not enough.any():
            return
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        gain = information(left + right) - information(left) - information(right)
        gain = gain + _MASS * np.minimum(*masses)
        best = int(np.argmax(np.where(enough, gain, -np.inf)))
        heapq.heappush(waiting, (-float(gain[best]), first, last, int(places[best])))

    starts = [0, *given]
    for first, last in zip(starts, [*given, cells], strict=True):
        consider(first, last)
    while waiting and len(starts) < most:
        _, first, last, place = heapq.heappop(waiting)
        starts.append(place)
        consider(first, place)
        consider(place, last)
    return sorted(starts)


def merge_groups(counts: Floats, *, most: int, ordered: int) -> Codes:
    """A group for each code, at most ``most`` of them: neighbours that differ least in their label become one.

    The first ``ordered`` codes are in an order of their own; with 0, codes are ordered by what they say of the label.
    Codes after them (that of a missing value) stay alone.
    """
    size = len(counts)
    free = ordered or size
    if size <= most:
        return np.arange(size)
    order = np.arange(free) if ordered else standing(counts)
    groups = [[int(code)] for code in order]
    tables = [counts[code] for code in order]
    losses = [_loss(tables[i], tables[i + 1]) for i in range(len(groups) - 1)]
    while len(groups) > max(most - (size - free), 1):
        place = int(np.argmin(losses))
        groups[place] += groups.pop(place + 1)
        tables[place] = tables[place] + tables.pop(place + 1)
        losses.pop(place)
        if place < len(losses):
            losses[place] = _loss(tables[place], tables[place + 1])
        if place:
            losses[place - 1] = _loss(tables[place - 1], tables[place])
    groups += [[code] for code in range(free, size)]
    codes = np.empty(size, dtype=np.int64)
    for number, members in enumerate(groups):
        codes[members] = number
    return codes


def standing(counts: Floats) -> Codes:
    """The codes in the order of where they stand along the direction in which the shares of the labels differ most."""
    total = np.maximum(counts.sum(axis=1), 1e-9)
    if counts.shape[1] == 1:
        return np.argsort(total, kind="stable")
    shares = counts / total[:, None]
    apart = shares - counts.sum(axis=0) / total.sum()
    _, vectors = np.linalg.eigh((apart * total[:, None]).T @ apart)
    return np.argsort(np.round(apart @ vectors[:, -1], 12), kind="stable")


def _loss(first: Floats, second: Floats) -> float:
    both = np.stack([first, second, first + second])
    parts = information(both)
    return float(parts[2] - parts[0] - parts[1] + _MASS * min(first.sum(), second.sum()))
