"""Where a class may lie, and the most that any class around such a centre could save, given a price per record.

A class is judged by its centre, one number and one value per category. The number is taken from a grid; moving a
centre from a class's mean to the nearest grid point costs at most (step/2)² per record, and that much is refunded, so
no class costs less than it is said to cost at the centre nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.compiled import compiled

MOST_CENTRES = 400_000  # centres tried per round: mode combinations × grid points


@compiled
def best_savings(
    number: Floats, codes: Ints, weight: Ints, price: Floats, grid: Floats, modes: Ints, k: int, refund: float
) -> Floats:
    """For every mode and grid point, the largest Σ (price − deviation) over sets of at least k records.

    ``number`` must be sorted.
    """
    result = np.empty((len(modes), len(grid)))
    top = price.max() + refund
    for m in range(len(modes)):
        for g in range(len(grid)):
            result[m, g] = _savings(number, codes, weight, price, grid[g], modes[m], k, refund, top, np.empty(0))
    return result


@compiled
def members_of_best(
    number: Floats, codes: Ints, weight: Ints, price: Floats, centre: float, mode: Ints, k: int, refund: float
) -> Floats:
    """How many records of each tuple the best set around one centre holds."""
    taken = np.zeros(len(number))
    _savings(number, codes, weight, price, centre, mode, k, refund, price.max() + refund, taken)
    return taken


@compiled
def _savings(
    number: Floats,
    codes: Ints,
    weight: Ints,
    price: Floats,
    centre: float,
    mode: Ints,
    k: int,
    refund: float,
    top: float,
    taken: Floats,
) -> float:
    record = len(taken) > 0
    right = np.searchsorted(number, centre)
    left = right - 1
    saved = 0.0
    held = 0
    # those that cost more than their price fill a class up to k: cheapest first, in a short sorted list
    cost = np.empty(k)
    filler = np.empty(k, dtype=np.int64)
    waiting = 0
    waiting_weight = 0
    while left >= 0 or right < len(number):
        if right >= len(number) or (left >= 0 and centre - number[left] <= number[right] - centre):
            i = left
            left -= 1
        else:
            i = right
            right += 1
        away = (number[i] - centre) ** 2
        if away > top and (
            held >= k or (waiting > 0 and held + waiting_weight >= k and away - top >= cost[waiting - 1])
        ):
            break
        value = price[i] + refund - away
        for j in range(codes.shape[1]):
            if codes[i, j] != mode[j]:
                value -= 1.0
        if value >= 0:
            saved += value * weight[i]
            held += weight[i]
            if record:
                taken[i] = weight[i]
        elif held < k:
            if waiting == k:
                if -value >= cost[k - 1]:
                    continue
                waiting -= 1
                waiting_weight -= weight[filler[waiting]]
            at = waiting
            while at > 0 and cost[at - 1] > -value:
                cost[at] = cost[at - 1]
                filler[at] = filler[at - 1]
                at -= 1
            cost[at] = -value
            filler[at] = i
            waiting += 1
            waiting_weight += weight[i]
            while waiting > 1 and waiting_weight - weight[filler[waiting - 1]] >= k - held:
                waiting -= 1
                waiting_weight -= weight[filler[waiting]]
    for at in range(waiting):
        if held >= k:
            break
        used = min(weight[filler[at]], k - held)
        saved -= used * cost[at]
        held += used
        if record:
            taken[filler[at]] = used
    return saved


@compiled
def lower_prices(
    number: Floats,
    codes: Ints,
    weight: Ints,
    price: Floats,
    grid: Floats,
    modes: Ints,
    k: int,
    refund: float,
    savings: Floats,
    limit: float,
) -> None:
    """Where a class would save more than ``limit``, lower the prices of its members until it does not."""
    order = np.argsort(-savings.ravel())
    width = savings.shape[1]
    taken = np.zeros(len(number))
    for e in order:
        m, g = e // width, e % width
        if savings[m, g] <= limit:
            break
        taken[:] = 0.0
        top = price.max() + refund
        saved = _savings(number, codes, weight, price, grid[g], modes[m], k, refund, top, taken)
        if saved > limit:
            price -= np.where(taken > 0, (saved - limit) / taken.sum(), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OneNumber:
    """Weighted tuples of one number (sorted) and any categories."""

    number: Floats
    codes: Ints
    weight: Ints

    @classmethod
    def of(cls, number: Floats, codes: Ints, weight: Ints) -> OneNumber:
        """Sort tuples by their number."""
        order = np.argsort(number, kind="stable")
        return cls(
            number=np.ascontiguousarray(number[order]),
            codes=np.ascontiguousarray(codes[order]),
            weight=np.ascontiguousarray(weight[order]),
        )

    def modes(self) -> Ints:
        """Every combination of category values."""
        levels = [range(int(column.max()) + 1) for column in self.codes.T]
        combinations = list(product(*levels))
        return np.array(combinations, dtype=np.int64).reshape(len(combinations), len(levels))

    def mode_of(self, taken: Floats) -> Ints:
        """The most frequent value of each category in a class that holds so many records of each tuple."""
        return np.array([np.bincount(column, weights=taken).argmax() for column in self.codes.T], dtype=np.int64)

    def cost(self, taken: Floats) -> float:
        """The exact deviation of a class that holds so many records of each tuple."""
        size = taken.sum()
        mean = (taken * self.number).sum() / size
        cost = (taken * (self.number - mean) ** 2).sum()
        for column in self.codes.T:
            cost += size - np.bincount(column, weights=taken).max()
        return float(cost)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Centres:
    """All centres that are tried, and what the best class around each saves."""

    points: OneNumber
    modes: Ints
    grid: Floats
    refund: float
    k: int

    @classmethod
    def of(cls, points: OneNumber, *, k: int) -> Centres:
        """A grid fine enough for the data, as far as the number of centres allows."""
        modes = points.modes()
        spread = float(points.number[-1] - points.number[0])
        gaps = np.diff(np.unique(points.number))
        resolution = float(np.median(gaps)) if len(gaps) else 1.0
        step = max(spread * len(modes) / MOST_CENTRES, 0.05 * resolution)
        grid = np.arange(points.number[0], points.number[-1] + step / 2, step)
        return cls(points=points, modes=modes, grid=grid, refund=step * step / 4 if spread > 0 else 0.0, k=k)

    def savings(self, prices: Floats) -> Floats:
        """The most that a class of at least k records saves, (modes, grid points)."""
        p = self.points
        return best_savings(p.number, p.codes, p.weight, prices, self.grid, self.modes, self.k, self.refund)

    def members(self, prices: Floats, mode: int, point: int) -> Floats:
        """The class that saves most around one centre: how many records of each tuple."""
        p = self.points
        return members_of_best(
            p.number, p.codes, p.weight, prices, self.grid[point], self.modes[mode], self.k, self.refund
        )

    def lower(self, prices: Floats, savings: Floats, limit: float) -> None:
        """Lower prices where one of these classes saves more than the limit."""
        p = self.points
        lower_prices(
            p.number, p.codes, p.weight, prices, self.grid, self.modes, self.k, self.refund, hills(savings), limit
        )

    def cost(self, taken: Floats, mode: int, point: int) -> float:
        """What a class costs around a centre, less the refund."""
        away = (self.points.number - self.grid[point]) ** 2 - self.refund
        away = away + (self.points.codes != self.modes[mode]).sum(axis=1)
        return float(taken @ away)

    def nearest(self, taken: Floats) -> tuple[int, int]:
        """The mode and the grid point nearest to a class."""
        mode = int(np.flatnonzero((self.modes == self.points.mode_of(taken)).all(axis=1))[0])
        mean = float(taken @ self.points.number / taken.sum())
        return mode, int(np.abs(self.grid - mean).argmin())


def hills(savings: Floats) -> Floats:
    """The savings at the tops of their hills along the grid, and nothing elsewhere."""
    wide = np.pad(savings, ((0, 0), (1, 1)), constant_values=-np.inf)
    return np.where((savings >= wide[:, :-2]) & (savings >= wide[:, 2:]), savings, -np.inf)
