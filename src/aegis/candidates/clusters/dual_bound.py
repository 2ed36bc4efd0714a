"""A bound from prices: if no class can save more than R, no partition into p classes costs less than Σ prices − p·R.

Give every record a price. A partition costs Σ cost(C) = Σ prices − Σ savings(C), where savings(C) is what the members'
prices exceed the cost of their class. If the best conceivable class saves R, the loss is at least Σ prices − p·R.
Cutting planes look for the prices that make this largest (the dual of the set-partitioning program): the classes that
saved most become constraints of a linear program whose optimum proposes new prices. Stopping early weakens the bound,
never breaks it. Once prices can hardly become better, the rest of the time goes into branching.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.branching import Branching
from aegis.candidates.clusters.centres import Centres, OneNumber, hills
from aegis.candidates.clusters.class_program import ClassProgram

CUTS = 150  # classes added per round, more where there are many tuples
REPAIRS = 6
CLOSE = 2e-4  # of the bound: prices this near their best are good enough to branch


def dual_bound(
    points: OneNumber, *, k: int, most_classes: int, free: bool, partition: Floats, class_price: float, seconds: float
) -> float:
    """A proved lower bound on the deviation of any partition into at most ``most_classes`` classes of at least k.

    ``partition`` is a known solution, (classes, tuples), and ``class_price`` what one more class would save: they
    give the first prices and prove nothing, but no bound is said to be above what the known solution costs. Without a
    limit on the classes (``free``) a class may save nothing.
    """
    centres = Centres.of(points, k=k)
    limit = 0.0 if free else class_price
    prices = _first_prices(points, partition, limit)
    matrix, costs = csr_matrix(partition), np.array([points.cost(row) for row in partition])
    known = float(costs.sum())
    best, best_prices, box = -np.inf, prices, 0.1 * max(float(prices.mean()), 1e-6)
    deadline = time.monotonic() + seconds
    longest = 0.0
    while True:
        began = time.monotonic()
        savings = centres.savings(prices)
        rows = _cuts(centres, prices, savings)
        repaired = prices.copy()
        for _ in range(REPAIRS):
            if savings.max() <= limit * (1 + 1e-6) + 1e-9:
                break
            centres.lower(repaired, savings, limit)
            savings = centres.savings(repaired)
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
        proposed, limit, ceiling, slack, boxed = solution
        longest = max(longest, time.monotonic() - began)
        at_edge = float((np.abs(proposed - best_prices) > 0.999 * box).mean())
        prices = (best_prices + proposed) / 2  # half-way: the proposals of cutting planes overshoot
        if not boxed and ceiling - best < CLOSE * abs(best) + centres.refund * points.weight.sum():
            break
        if improved and at_edge > 0.05:
            box *= 1.5
        elif not improved and at_edge < 0.5:
            box *= 0.8
        if matrix.shape[0] > 8 * len(points.number) + 500:
            keep = np.sort(np.argsort(slack)[: 4 * len(points.number)])
            matrix, costs = matrix[keep], costs[keep]
    if time.monotonic() + longest < deadline:
        program = ClassProgram(centres=centres, most_classes=most_classes, free=free)
        slack = costs - matrix @ best_prices
        for taken in matrix[np.argsort(slack, kind="stable")[: 3 * len(points.number)]].toarray():
            program.add(taken, *centres.nearest(taken))
        branching = Branching(
            centres=centres,
            program=program,
            most_classes=most_classes,
            known=known,
            deadline=deadline - longest,
        )
        best = max(best, branching.bound(best_prices))
    return min(max(best, 0.0), known)


def _first_prices(points: OneNumber, partition: Floats, class_price: float) -> Floats:
    """Each record's own deviation and its share of the price of its class, averaged over the records of a tuple."""
    paid = np.zeros(len(points.number))
    for taken in partition:
        size = taken.sum()
        away = (points.number - (taken * points.number).sum() / size) ** 2
        away = away + (points.codes != points.mode_of(taken)).sum(axis=1)
        paid += taken * (away + class_price / size)
    return paid / points.weight


def _cuts(centres: Centres, prices: Floats, savings: Floats) -> Floats:
    """The classes that save most, at most one per hill of the savings over the grid."""
    mode, point = np.nonzero(hills(savings) > -np.inf)
    order = np.argsort(-savings[mode, point], kind="stable")[: max(CUTS, len(prices) // 8)]
    return np.array([centres.members(prices, int(mode[e]), int(point[e])) for e in order])


def _master(
    weight: Ints, matrix: Any, costs: Floats, most_classes: int, free: bool, low: Floats, high: Floats
) -> tuple[Floats, float, float, Floats, bool] | None:
    """Prices, class price, ceiling, slack per class, and whether the box around the prices holds them back."""
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
    pull = np.abs(result.lower.marginals[:count]) + np.abs(result.upper.marginals[:count])
    slack = np.asarray(costs - system @ result.x)
    return result.x[:count], float(result.x[count]), float(-result.fun), slack, bool(pull.max() > 1e-7)
