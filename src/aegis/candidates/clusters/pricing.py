"""The most that any one class could save, given a price per record: the question a dual bound asks again and again.

Every class is judged by its centre, one number and one value per category. The number is taken from a grid; moving a
centre from a class's mean to the nearest grid point costs at most (step/2)² per record, and that much is given back.
"""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.compiled import compiled


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
