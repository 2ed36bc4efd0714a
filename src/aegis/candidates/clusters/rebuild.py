"""Form classes from a handful of loose units: seeds far apart, each grown to k and l, then moves and exchanges."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.compiled import compiled
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

SWEEPS = 6
TINY = 1e-9


@compiled
def distance(units: Units, u: int, v: int) -> float:
    """How far two units are apart, by the metric of the loss."""
    total = 0.0
    for d in range(units.numbers.shape[1]):
        gap = units.numbers[u, d] - units.numbers[v, d]
        total += gap * gap
    for j in range(units.codes.shape[1]):
        if units.codes[u, j] != units.codes[v, j]:
            total += 1.0
    return total


@compiled
def adds_value(units: Units, state: State, u: int, c: int, l: int) -> bool:  # noqa: E741
    """Whether ``u`` brings a sensitive value that class ``c`` lacks and needs."""
    for e in range(units.sensitive_start[u], units.sensitive_start[u + 1]):
        v = units.sensitive_value[e]
        if state.seen[c, v] == 0 and state.distinct[c, units.sensitive_attribute[v]] < l:
            return True
    return False


@compiled
def rebuild(
    units: Units,
    state: State,
    rng: np.random.Generator,
    k: int,
    l: int,  # noqa: E741
    pool: Ints,
    near: Floats,
    targets: Ints,
    rebuilt: int,
) -> bool:
    """Spread seeds over the pool, let each class grow to k and l, then give every other unit to its best class."""
    pooled = len(pool)
    for i in range(pooled):
        near[i] = 1e300
    for t in range(rebuilt):
        pick = -1
        if t == 0:
            pick = int(rng.random() * pooled)
        else:
            total = 0.0
            for i in range(pooled):
                if state.label[pool[i]] < 0:
                    total += near[i]
            aim = rng.random() * total
            for i in range(pooled):
                if state.label[pool[i]] < 0:
                    pick = i
                    aim -= near[i]
                    if aim < 0:
                        break
        if pick < 0:
            return False
        add(units, state, pool[pick], targets[t])
        for i in range(pooled):
            near[i] = min(near[i], distance(units, pool[i], pool[pick]))
    for t in range(rebuilt):
        c = targets[t]
        while not satisfies(state, c, k, l):
            full = state.size[c] >= k
            best, chosen = np.inf, -1
            for i in range(pooled):
                u = pool[i]
                if state.label[u] < 0 and (not full or adds_value(units, state, u, c, l)):
                    cost = cost_of_adding(units, state, u, c) / units.weight[u]
                    if cost < best:
                        best, chosen = cost, u
            if chosen < 0:
                return False
            add(units, state, chosen, c)
    for i in range(pooled):
        u = pool[i]
        if state.label[u] >= 0:
            continue
        best, chosen = np.inf, -1
        for t in range(len(targets)):
            cost = cost_of_adding(units, state, u, targets[t])
            if cost < best:
                best, chosen = cost, targets[t]
        add(units, state, u, chosen)
    return True


@compiled
def descend(units: Units, state: State, k: int, l: int, pool: Ints, targets: Ints) -> None:  # noqa: E741
    """Move single units, or exchange two, while that lowers the loss."""
    for _ in range(SWEEPS):
        moved = False
        for i in range(len(pool)):
            u = pool[i]
            gain = gain_of_removing(units, state, u)
            if gain <= TINY:
                continue
            a = state.label[u]
            best, b = np.inf, -1
            for t in range(len(targets)):
                c = targets[t]
                if c != a and state.size[c] > 0:
                    cost = cost_of_adding(units, state, u, c)
                    if cost < best:
                        best, b = cost, c
            if b < 0:
                continue
            if may_leave(units, state, u, k, l):
                if best < gain - TINY:
                    remove(units, state, u)
                    add(units, state, u, b)
                    moved = True
            elif _exchange(units, state, k, l, pool, u, b, best - gain):
                moved = True
        if not moved:
            break


@compiled
def _exchange(units: Units, state: State, k: int, l: int, pool: Ints, u: int, b: int, price: float) -> bool:  # noqa: E741
    """Move ``u`` to class ``b`` and refill its class from the pool, if both together pay."""
    a = state.label[u]
    remove(units, state, u)
    add(units, state, u, b)
    best, chosen = -TINY, -1
    for i in range(len(pool)):
        v = pool[i]
        if v == u or state.label[v] == a:
            continue
        value = price + cost_of_adding(units, state, v, a) - gain_of_removing(units, state, v)
        if value < best and may_leave(units, state, v, k, l):
            home = state.label[v]
            remove(units, state, v)
            add(units, state, v, a)
            fits = satisfies(state, a, k, l)
            remove(units, state, v)
            add(units, state, v, home)
            if fits:
                best, chosen = value, v
    if chosen >= 0:
        remove(units, state, chosen)
        add(units, state, chosen, a)
        return True
    remove(units, state, u)
    add(units, state, u, a)
    return False
