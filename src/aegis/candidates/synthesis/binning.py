"""From noisy counts to ranges, bins and groups, and to where in a bin numbers lie: it costs nothing more.

From which power of two to which the numbers of a column lie: what lies outside that range counts at its end, and
whatever it would have told is lost; a range that is twice too wide costs little, because the grid is made finer where
records lie. A power of two that reaches far beyond all records, taken for occupied by chance, would cost the whole
grid. So far away only what is clearly more than noise counts, and beside what is occupied whatever is more likely so
than not.

Bins are cut where the label changes most and where many records lie, as long as enough records lie on both sides for
what will be measured of them to stand out of the noise.

Numbers spread evenly over a bin would jump at its ends, and a label whose numbers end just beyond a cut would seem to
reach through the whole bin. Smoothing that keeps the count of every bin (pycnophylactic interpolation, Tobler 1979)
takes the jumps away.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aegis.arrays import Codes, Flags, Floats, Ints
from aegis.candidates.synthesis.attribute import Attribute, NumberCells
from aegis.counts.cells import Magnitudes
from aegis.data.kind import Kind

CLEAR = 4.0
"""A count above so many standard deviations of its noise is taken for more than noise."""
CLEAR_TOGETHER, MOST_TOGETHER = 5.0, 8
"""So far the counts of at most so many neighbours have to stand out together: there are more ways to choose them."""
_RUNS = (2, 4, 8, 16)
LIKELY = 1.0
"""A count of at least this beside an occupied one is more likely another such than noise."""
_CLEAR = 2.0
_MASS = 0.02
"""What a cut is worth beside what it tells of the label: so many nats for each record of the smaller side."""
_ROUNDS = 60
_PEAK = 4.0
"""One cell that is a bin of its own, so many times as dense as both neighbours, is a number that people write often."""
_TINY = 1e-12
_FEWEST = 4
"""Fewer bins than these have too few neighbours to be judged by them."""


def occupied(totals: Floats, kind: Kind) -> tuple[int, int]:
    """The first and last power of two (of `Magnitudes`) that holds records, given counts in deviations of their noise.

    >>> totals = np.zeros(Magnitudes().size - 1)
    >>> totals[93] = 160.0  # zero
    >>> occupied(totals, Kind.INTEGER)
    (93, 93)
    >>> totals[135:139] = 3.4, 3.9, 2.8, 1.2  # 2,048 to 16,384, and a little up to 32,768
    >>> occupied(totals, Kind.INTEGER)
    (93, 138)
    """
    if kind is not Kind.REAL:  # no whole number lies between zero and one
        totals = np.where(
            [_holds_numbers(power, 0.0) != _holds_numbers(power, 1.0) for power in range(len(totals))], 0.0, totals
        )
    clear = np.flatnonzero(totals > CLEAR)
    first, last = (int(clear[0]), int(clear[-1])) if len(clear) else (int(np.argmax(totals)),) * 2
    # A long tail may hold many records, and no power of two enough of them to stand out by itself.
    while (further := _clearest_run(totals[last + 1 :])) is not None:
        last += 1 + further
    while (further := _clearest_run(totals[:first][::-1])) is not None:
        first -= 1 + further
    while _goes_on(first, first - 1, totals, kind):
        first -= 1
    while _goes_on(last, last + 1, totals, kind):
        last += 1
    return first, last


def _clearest_run(totals: Floats) -> int | None:
    """The last of the neighbours that together stand out most; None where no neighbours clearly do."""
    sums = np.append(0.0, np.cumsum(totals))
    best, found = CLEAR_TOGETHER, None
    for many in range(2, min(MOST_TOGETHER, len(totals)) + 1):
        together = (sums[many:] - sums[:-many]) / math.sqrt(many)
        place = int(np.argmax(together))
        if together[place] > best:
            best, found = float(together[place]), place + many - 1
    return found


def _goes_on(end: int, beyond: int, totals: Floats, kind: Kind) -> bool:
    """Whether the power of two beyond an end is likely occupied too: of the same sign, and one of whole numbers."""
    if not 0 <= beyond < len(totals) or totals[beyond] <= LIKELY:
        return False
    least = 0.0 if kind is Kind.REAL else 1.0
    return _holds_numbers(end, least) and _holds_numbers(beyond, least)


def _holds_numbers(power: int, least: float) -> bool:
    """Whether all numbers of a cell have one sign and are no smaller than that."""
    low, high = Magnitudes().bounds(power, power)
    return low * high > 0 and min(abs(low), abs(high)) >= least


def standing_together(totals: Floats, *, alone: float) -> Floats:
    """By how many deviations each cell stands out together with neighbours, at most.

    A cell counts with ``alone`` at most: what lies beside a number that many records have may be empty.

    >>> standing_together(np.array([1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 90.0]), alone=2.0).round(1).tolist()
    [3.0, 3.0, 3.0, 3.0, 2.2, 1.8, 1.8]
    """
    sums = np.append(0.0, np.cumsum(np.minimum(totals, alone)))
    most = np.zeros(len(totals))
    for many in _RUNS:
        if many > len(totals):
            break
        together = (sums[many:] - sums[:-many]) / math.sqrt(many)
        for place in range(many):
            part = most[place : place + len(together)]
            np.maximum(part, together, out=part)
    return most


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


def _peaks(density: Floats, owners: Ints, widths: Floats) -> Flags:
    """Cells that say nothing of what lies beside them: bins of one cell that stand far out, and one of no width."""
    alone = np.bincount(owners)[owners] == 1
    padded = np.concatenate([[0.0], density, [0.0]])
    beside = np.maximum(padded[:-2], padded[2:])
    return (alone & (density > _PEAK * beside)) | (widths <= _TINY)


def _averaged(density: Floats, widths: Floats, still: Flags) -> Floats:
    """Each cell as the mean of its two ends; an end of the range, or beside a peak, is what the cell is."""
    left, right = density[:-1], density[1:]
    near = widths[1:, None] / (widths[:-1] + widths[1:])[:, None]
    between = near * left + (1 - near) * right
    barrier = (still[:-1] | still[1:])[:, None]
    ends_right = np.vstack([np.where(barrier, left, between), density[-1:]])
    ends_left = np.vstack([density[:1], np.where(barrier, right, between)])
    return np.asarray((ends_left + ends_right) / 2)
