"""Where a class may lie: one number on a grid, and every combination of categories.

A class's mean is at most half a step from a grid point. Moving its centre there costs at most (step/2)² per record, and
that much is refunded, so no class costs less than it is said to cost at the centre nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.pricing import best_savings, lower_prices, members_of_best

MOST_CENTRES = 400_000  # centres tried per round: mode combinations × grid points


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
