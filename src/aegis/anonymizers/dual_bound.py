"""A bound from prices: if no class can save more than R, no partition into p classes costs less than Σ prices − p·R.

Give every record a price. A partition costs Σ cost(C) = Σ prices − Σ savings(C), where savings(C) is what the members'
prices exceed the cost of their class. If the best conceivable class saves R, the loss is at least Σ prices − p·R.
Cutting planes look for the prices that make this largest (the dual of the set-partitioning program): the classes that
saved most become constraints of a linear program whose optimum proposes new prices. Stopping early weakens the bound,
never breaks it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from aegis.anonymizers.arrays import Floats, Ints
from aegis.anonymizers.pricing import best_savings, lower_prices, members_of_best

MOST_CENTRES = 400_000  # centres tried per round: mode combinations × grid points
CUTS = 60  # classes added per round, more where there are many tuples
REPAIRS = 6


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

    def cost(self, taken: Floats) -> float:
        """The exact deviation of a class that holds so many records of each tuple."""
        size = taken.sum()
        mean = (taken * self.number).sum() / size
        cost = (taken * (self.number - mean) ** 2).sum()
        for column in self.codes.T:
            cost += size - np.bincount(column, weights=taken).max()
        return float(cost)


def dual_bound(
    points: OneNumber, *, k: int, most_classes: int, free: bool, partition: Floats, class_price: float, seconds: float
) -> float:
    """A proved lower bound on the deviation of any partition into at most ``most_classes`` classes of at least k.

    ``partition`` is a known solution, (classes, tuples), and ``class_price`` what one more class would save: they
    give the first prices and prove nothing. Without a limit on the classes (``free``) a class may save nothing.
    """
    modes = points.modes()
    spread = float(points.number[-1] - points.number[0])
    step = max(spread * len(modes) / MOST_CENTRES, 0.05 * _resolution(points))
    grid = np.arange(points.number[0], points.number[-1] + step / 2, step)
    refund = step * step / 4 if spread > 0 else 0.0
    data = (points.number, points.codes, points.weight)
    limit = 0.0 if free else class_price
    prices = _first_prices(points, partition, limit)
    matrix, costs = csr_matrix(partition), np.array([points.cost(row) for row in partition])
    best, best_prices, box = -np.inf, prices, 0.1 * max(float(prices.mean()), 1e-6)
    deadline = time.monotonic() + seconds
    longest = 0.0
    while True:
        began = time.monotonic()
        savings = best_savings(*data, prices, grid, modes, k, refund)
        rows = _cuts(data, prices, savings, grid, modes, k, refund)
        repaired = prices.copy()
        for _ in range(REPAIRS):
            if savings.max() <= limit * (1 + 1e-6) + 1e-9:
                break
            lower_prices(*data, repaired, grid, modes, k, refund, _hills(savings), limit)
            savings = best_savings(*data, repaired, grid, modes, k, refund)
        bound = float(points.weight @ repaired) - most_classes * max(float(savings.max()), 0.0)
        improved = bound > best
        if improved:
            best, best_prices = bound, repaired
        if time.monotonic() + longest > deadline:
            break
        matrix = vstack([matrix, csr_matrix(rows)]).tocsr()
        costs = np.append(costs, [points.cost(row) for row in rows])
        solution = _master(points.weight, matrix, costs, most_classes, free, best_prices - box, best_prices + box)
        if solution is None:
            break
        proposed, limit, ceiling, slack = solution
        longest = max(longest, time.monotonic() - began)
        at_edge = float((np.abs(proposed - best_prices) > 0.999 * box).mean())
        prices = (best_prices + proposed) / 2  # half-way: the proposals of cutting planes overshoot
        if at_edge == 0 and ceiling - best < 2e-4 * abs(best):
            break
        if improved and at_edge > 0.05:
            box *= 1.5
        elif not improved and at_edge < 0.5:
            box *= 0.8
        if matrix.shape[0] > 8 * len(points.number) + 500:
            keep = np.sort(np.argsort(slack)[: 4 * len(points.number)])
            matrix, costs = matrix[keep], costs[keep]
    return max(best, 0.0)


def _resolution(points: OneNumber) -> float:
    gaps = np.diff(np.unique(points.number))
    return float(np.median(gaps)) if len(gaps) else 1.0


def _first_prices(points: OneNumber, partition: Floats, class_price: float) -> Floats:
    """Each record's own deviation and its share of the price of its class, averaged over the records of a tuple."""
    paid = np.zeros(len(points.number))
    for taken in partition:
        size = taken.sum()
        away = (points.number - (taken * points.number).sum() / size) ** 2
        for column in points.codes.T:
            away = away + (column != np.bincount(column, weights=taken).argmax())
        paid += taken * (away + class_price / size)
    return paid / points.weight


def _hills(savings: Floats) -> Floats:
    """The savings at the tops of their hills along the grid, and nothing elsewhere."""
    wide = np.pad(savings, ((0, 0), (1, 1)), constant_values=-np.inf)
    return np.where((savings >= wide[:, :-2]) & (savings >= wide[:, 2:]), savings, -np.inf)


def _cuts(
    data: tuple[Floats, Ints, Ints],
    prices: Floats,
    savings: Floats,
    grid: Floats,
    modes: Ints,
    k: int,
    refund: float,
) -> Floats:
    """The classes that save most, at most one per hill of the savings over the grid."""
    mode, point = np.nonzero(_hills(savings) > -np.inf)
    order = np.argsort(-savings[mode, point], kind="stable")[: max(CUTS, len(prices) // 8)]
    return np.array([members_of_best(*data, prices, grid[point[e]], modes[mode[e]], k, refund) for e in order])


def _master(
    weight: Ints, matrix: Any, costs: Floats, most_classes: int, free: bool, low: Floats, high: Floats
) -> tuple[Floats, float, float, Floats] | None:
    count = len(weight)
    system = hstack([matrix, csr_matrix(np.full((matrix.shape[0], 1), -1.0))]).tocsr()
    result = linprog(
        -np.append(weight, -float(most_classes)),
        A_ub=system,
        b_ub=costs,
        bounds=np.column_stack([np.append(low, 0.0), np.append(high, 0.0 if free else np.inf)]),
        method="highs-ds",
    )
    if result.x is None:
        return None
    return result.x[:count], float(result.x[count]), float(-result.fun), np.asarray(costs - system @ result.x)
