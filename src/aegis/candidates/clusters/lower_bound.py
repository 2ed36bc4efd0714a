"""How much any partition must lose: the better of two proved bounds, and the gap to it in words.

*Nearest neighbours*, for any number of quasi-identifiers. A class of m records costs at least half the mean, over its
members, of their summed distance to the class: for numbers the two are equal, for categories the Gini impurity never
exceeds the misses of the mode. A record's summed distance to m records is at least that to its m nearest, D(m). So the
loss is at least Σ D(mᵢ)/(2mᵢ), where mᵢ ≥ k is the size of record i's class; and since Σ 1/mᵢ is the number of
classes, for any price λ ≥ 0 of a class it is at least Σ min over m of (D(m)/2 + λ)/m, less λ times the number of
classes. The best λ is found by a search on a concave line.

*Prices*. Give every record a price. A partition costs Σ cost(C) = Σ prices − Σ savings(C), where savings(C) is what the
members' prices exceed the cost of their class. If the best conceivable class saves R, the loss of p classes is at least
Σ prices − p·R. Cutting planes look for the prices that make this largest (the dual of the set-partitioning program):
the classes that saved most become constraints of a linear program whose optimum proposes new prices. Stopping early
weakens the bound, never breaks it. Once prices can hardly become better, the rest of the time goes into branching.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.branching import Branching, ClassProgram
from aegis.candidates.clusters.budget import nearest
from aegis.candidates.clusters.centres import MOST_CENTRES, Centres, OneNumber, hills
from aegis.candidates.clusters.information_loss import Scale, divisors, embed, total_deviation
from aegis.candidates.clusters.records import Records, Tuples, collapse, group_rows

WHOLE = 1000  # up to so many tuples every distance is used; beyond, the nearest
NEAREST = 200
DISTANCES = 2_000_000  # kept at once: fewer neighbours for very many tuples, and a weaker bound
CUTS = 150  # classes added per round, more where there are many tuples
REPAIRS = 6
CLOSE = 2e-4  # of the bound: prices this near their best are good enough to branch
MOST_TUPLES = 4000  # beyond, the linear programs of the dual bound take too long


def nearest_bound(
    tuples: Tuples, divisor: Floats, *, k: int, most_classes: int | None, deadline: float | None = None
) -> float:
    """A proved lower bound on the deviation of any partition into classes of at least k, at most ``most_classes``.

    0, which always holds, where finding a better one would end after ``deadline`` (of `time.monotonic`).
    """
    points = embed(tuples, divisor)
    count = len(tuples)
    asked = count if count <= WHOLE else min(count, max(min(NEAREST, DISTANCES // count), k))
    neighbours = nearest(points, count=asked, deadline=deadline)
    if neighbours is None:
        return 0.0
    away, near = neighbours
    squared = away**2
    weights = tuples.weight[near].astype(np.float64)
    held = np.cumsum(weights, axis=1)
    summed = np.cumsum(weights * squared, axis=1)
    everyone = float(tuples.weight.sum())
    at_k = _summed_at(k, held, summed, squared)
    # sizes worth trying: k itself, every size at which a tuple is used up, and everyone
    sizes = np.hstack([np.full((count, 1), float(k)), np.maximum(held, k), np.full((count, 1), everyone)])
    last = summed[:, -1:] + np.maximum(everyone - held[:, -1:], 0.0) * squared[:, -1:]
    deviations = np.hstack([at_k[:, None], np.where(held < k, at_k[:, None], summed), last])

    def value(price: float) -> float:
        per_record = ((deviations / 2 + price) / sizes).min(axis=1)
        return float(tuples.weight @ per_record) - price * (most_classes or 0)

    if most_classes is None:
        return max(value(0.0), 0.0)
    # concave in the price: one derivative-free search that halves the range about every second step
    low, high = 0.0, float(tuples.weight @ ((points - points.mean(axis=0)) ** 2).sum(axis=1)) / most_classes + 1.0
    left, right = high * 0.382, high * 0.618
    at_left, at_right = value(left), value(right)
    for _ in range(30):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + (high - low) * 0.618
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = low + (high - low) * 0.382
            at_left = value(left)
    return max(at_left, at_right, value(0.0), 0.0)


def _summed_at(size: int, held: Floats, summed: Floats, squared: Floats) -> Floats:
    """The summed distance of each tuple to its nearest ``size`` records."""
    column = np.minimum((held < size).sum(axis=1), held.shape[1] - 1)
    row = np.arange(len(held))
    return np.asarray(summed[row, column] + (size - held[row, column]) * squared[row, column])


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
    reached = float(costs.sum())
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
            centres=centres, program=program, most_classes=most_classes, known=reached, deadline=deadline - longest
        )
        best = max(best, branching.bound(best_prices))
    return min(max(best, 0.0), reached)


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


def lower_bound(
    records: Records,
    labels: Ints,
    *,
    k: int,
    classes: int | None,
    scale: Scale = "raw",
    class_price: float = 0.0,
    seconds: float = 5.0,
    known: float | None = None,
) -> float:
    """A loss that no partition into classes of at least k records (at most ``classes`` of them) can go below.

    Valid for any number of quasi-identifiers. ``labels``, a good partition, and ``class_price``, what one more class
    would save, only make the bound quicker to find; ``known`` is a bound proved before. The dual bound sees the
    numeric quasi-identifier that varies most and every category; the loss of further numbers, which is never
    negative, is left out of it and counted by the nearest-neighbour bound only.
    """
    total = total_deviation(records, scale=scale)
    if total == 0:
        return 0.0
    tuples = collapse(records)
    divisor = divisors(records, scale=scale)
    best = nearest_bound(tuples, divisor, k=k, most_classes=classes) if known is None else known * total
    number, reduced = _widest(tuples, divisor)
    combinations = int(np.prod([int(column.max()) + 1 for column in reduced.categorical.T]))
    if seconds > 0 and len(reduced) <= MOST_TUPLES and combinations * 8 <= MOST_CENTRES:
        order = np.argsort(number, kind="stable")
        rank = np.argsort(order, kind="stable")
        partition = np.zeros((int(labels.max()) + 1, len(reduced)))
        np.add.at(partition, (labels, rank[reduced.tuple_of]), 1.0)
        best = max(
            best,
            dual_bound(
                OneNumber.of(number, reduced.categorical, reduced.weight),
                k=k,
                most_classes=classes or len(records) // k,
                free=classes is None,
                partition=partition,
                class_price=class_price,
                seconds=seconds,
            ),
        )
    return best / total * (1 - 1e-9)  # rounding must not lift a bound above the truth


def _widest(tuples: Tuples, divisor: Floats) -> tuple[Floats, Tuples]:
    """The number that varies most (zeros if there is none), and the tuples merged on it and the categories."""
    if tuples.numeric.shape[1] == 0:
        return np.zeros(len(tuples)), tuples
    scaled = tuples.numeric / divisor
    mean = np.average(scaled, axis=0, weights=tuples.weight)
    chosen = scaled[:, int(np.argmax(tuples.weight @ (scaled - mean) ** 2))]
    if tuples.numeric.shape[1] == 1:
        return chosen, tuples
    group = group_rows([chosen, *tuples.categorical.T], rows=len(tuples))
    first = np.unique(group, return_index=True)[1]
    merged = Tuples(
        numeric=chosen[first][:, None],
        categorical=tuples.categorical[first],
        weight=np.bincount(group, weights=tuples.weight).astype(np.int64),
        tuple_of=group[tuples.tuple_of],
    )
    return chosen[first], merged
