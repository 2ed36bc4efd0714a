"""The entropy stage: move and swap records so that the scaled sum of loss and entropy falls.

Most tries aim at the class with the smallest entropy of some attribute, because only that class counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints, compiled
from aegis.candidates.clusters.units import (
    State,
    Units,
    add,
    cost_of_adding,
    gain_of_removing,
    may_leave,
    remove,
    satisfies,
)

LOWEST = 3  # a move touches two classes, so the lowest entropy among the others is one of the three lowest


class Goal(NamedTuple):
    """The scaled objective: ``(1 − best/loss) − trade_off · entropy/ceiling``, losses as summed deviations."""

    best: float
    ceiling: float
    trade_off: float
    minimum_of_sums: bool


@compiled
def entropy_rows(units: Units, state: State, c: int, together: bool, out: Floats) -> None:
    """The entropies of class ``c`` in bits, per attribute, or their sum in one place."""
    out[:] = 0.0
    size = state.size[c]
    if size == 0:
        out[:] = np.inf  # an empty class is nobody's worst class
        return
    for v in range(state.seen.shape[1]):
        seen = state.seen[c, v]
        if seen > 0:
            share = seen / size
            out[0 if together else units.sensitive_attribute[v]] -= share * np.log2(share)


@compiled
def _refresh(entropies: Floats, j: int, lowest: Ints) -> None:
    for r in range(LOWEST):
        lowest[j, r] = -1
    for c in range(len(entropies)):
        at = LOWEST
        while at > 0 and (lowest[j, at - 1] < 0 or entropies[c, j] < entropies[lowest[j, at - 1], j]):
            at -= 1
        for r in range(LOWEST - 1, at, -1):
            lowest[j, r] = lowest[j, r - 1]
        if at < LOWEST:
            lowest[j, at] = c


@compiled
def _value(goal: Goal, loss: float, entropy: float) -> float:
    lost = 1.0 - goal.best / loss if loss > 0 else 0.0
    return lost - goal.trade_off * entropy / goal.ceiling


@compiled
def _lowest_sum(entropies: Floats, lowest: Ints, a: int, b: int, row_a: Floats, row_b: Floats) -> float:
    """The sum of minima if classes ``a`` and ``b`` had other entropies."""
    total = 0.0
    for j in range(entropies.shape[1]):
        least = min(row_a[j], row_b[j])
        for r in range(LOWEST):
            c = lowest[j, r]
            if c >= 0 and c != a and c != b:
                least = min(least, entropies[c, j])
                break
        total += least
    return total


@compiled
def mix_rounds(
    units: Units,
    state: State,
    rng: np.random.Generator,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
    goal: Goal,
    loss: float,
    rounds: int,
) -> float:
    """Try some single moves and swaps; keep those that lower the objective. Gives the new loss."""
    classes = len(state.size)
    width = 1 if goal.minimum_of_sums else state.distinct.shape[1]
    entropies = np.empty((classes, width))
    lowest = np.empty((width, LOWEST), dtype=np.int64)
    for c in range(classes):
        entropy_rows(units, state, c, goal.minimum_of_sums, entropies[c])
    for j in range(width):
        _refresh(entropies, j, lowest)
    row_a, row_b = np.empty(width), np.empty(width)
    count = len(state.label)
    entropy = 0.0
    for j in range(width):
        entropy += entropies[lowest[j, 0], j]
    now = _value(goal, loss, entropy)
    for _ in range(rounds):
        u = int(rng.random() * count)
        worst = lowest[int(rng.random() * width), 0]
        v = -1
        a = state.label[u]
        kind = rng.random()
        if kind < 0.25 and a != worst:  # into the worst class
            b = worst
        elif kind < 0.75:  # swap with, or move out of, the worst class
            v = _member(state, rng, worst)
            if a == worst or v == u:
                continue
            b = worst
            if kind > 0.65:
                u, a, b, v = v, worst, a, -1
        else:  # to where it costs least, of a few
            b, best = -1, np.inf
            for _ in range(4):
                c = state.label[int(rng.random() * count)]
                if c != a:
                    cost = cost_of_adding(units, state, u, c)
                    if cost < best:
                        best, b = cost, c
            if b < 0:
                continue
        if v < 0 and not may_leave(units, state, u, k, l):
            continue
        change = -gain_of_removing(units, state, u)
        remove(units, state, u)
        if v >= 0:
            change -= gain_of_removing(units, state, v)
            remove(units, state, v)
            change += cost_of_adding(units, state, v, a)
            add(units, state, v, a)
        change += cost_of_adding(units, state, u, b)
        add(units, state, u, b)
        good = v < 0 or (satisfies(state, a, k, l) and satisfies(state, b, k, l))
        then = now
        if good:
            entropy_rows(units, state, a, goal.minimum_of_sums, row_a)
            entropy_rows(units, state, b, goal.minimum_of_sums, row_b)
            then = _value(goal, loss + change, _lowest_sum(entropies, lowest, a, b, row_a, row_b))
            good = then < now - 1e-12
        if good:
            loss += change
            now = then
            entropies[a] = row_a
            entropies[b] = row_b
            for j in range(width):
                _refresh(entropies, j, lowest)
        else:
            remove(units, state, u)
            if v >= 0:
                remove(units, state, v)
                add(units, state, v, b)
            add(units, state, u, a)
    return loss


@compiled
def _member(state: State, rng: np.random.Generator, c: int) -> int:
    """A random unit of class ``c``."""
    for _ in range(12):
        u = int(rng.random() * len(state.label))
        if state.label[u] == c:
            return u
    steps = int(rng.random() * min(state.size[c], 200))
    u = state.head[c]
    for _ in range(steps):
        if state.after[u] < 0:
            break
        u = state.after[u]
    return u
