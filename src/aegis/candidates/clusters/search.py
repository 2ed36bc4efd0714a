"""Large-neighbourhood search: dissolve a few classes that lie together, rebuild them, keep what is better.

Every state between two rounds is valid: each class has k records and l values of every sensitive attribute.
"""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.compiled import compiled
from aegis.candidates.clusters.neighbours import Neighbours
from aegis.candidates.clusters.rebuild import descend, rebuild
from aegis.candidates.clusters.units import State, Units, add, loss_of_class, may_leave, remove

POOL = 400  # units a round may move: more costs time without finding more
TINY = 1e-9


@compiled
def search_rounds(
    units: Units,
    state: State,
    neighbours: Neighbours,
    rng: np.random.Generator,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
    aim: int,
    slack: int,
    price: Floats,
    unit_price: float,
    rounds: int,
    temperature: float,
) -> int:
    """Run some rounds on ``state`` and give the number of classes.

    With ``aim`` 0 the number of classes is free. Otherwise it stays within ``slack`` of ``aim``, and ``price[0]``,
    what one more class must save, follows: a class is closed in one place to be opened where it pays more.
    """
    count = len(state.label)
    pool = np.empty(POOL, dtype=np.int64)
    old = np.empty(POOL, dtype=np.int64)
    near = np.empty(POOL, dtype=np.float64)
    targets = np.empty(16, dtype=np.int64)
    in_use = 0
    spare = np.empty(len(state.size), dtype=np.int64)
    spares = 0
    for c in range(len(state.size)):
        if state.size[c] > 0:
            in_use += 1
        else:
            spare[spares] = c
            spares += 1
    for _ in range(rounds):
        if aim > 0:
            price[0] += 0.002 * unit_price * (in_use - aim)
        seed = int(rng.random() * count)
        if loss_of_class(state, state.label[seed]) < TINY and rng.random() < 0.9:
            continue
        dissolved, opened, pooled, before = _choose(units, state, neighbours, rng, k, l, seed, targets, pool, old)
        if pooled == 0:
            continue
        weight = 0
        for i in range(pooled):
            weight += units.weight[pool[i]]
        rebuilt = dissolved
        if aim == 0 or slack > 0 or in_use != aim:
            rebuilt += int(rng.random() * 3) - 1
        rebuilt = max(0, min(rebuilt, weight // k))
        if rebuilt > dissolved and (spares == 0 or (aim > 0 and in_use >= aim + slack)):
            rebuilt = dissolved
        if rebuilt < dissolved and aim > 0 and in_use <= aim - slack:
            rebuilt = dissolved
        if rebuilt == 0 and opened == 0:
            rebuilt = 1
        # targets: rebuilt classes first, then the open ones
        first, extra = targets[:dissolved].copy(), targets[8 : 8 + opened].copy()
        for t in range(rebuilt):
            targets[t] = first[t] if t < dissolved else spare[spares - 1]
        for t in range(opened):
            targets[rebuilt + t] = extra[t]
        width = rebuilt + opened
        good = rebuild(units, state, rng, k, l, pool[:pooled], near, targets[:width], rebuilt)
        after = price[0] * (rebuilt - dissolved) if aim > 0 else 0.0
        if good:
            descend(units, state, k, l, pool[:pooled], targets[:width])
            for t in range(width):
                after += loss_of_class(state, targets[t])
        if good and after - before < -temperature * np.log(rng.random() + 1e-300) - TINY:
            if rebuilt > dissolved:
                spares -= 1
            for t in range(rebuilt, dissolved):
                spare[spares] = first[t]
                spares += 1
            in_use += rebuilt - dissolved
        else:
            for i in range(pooled):
                if state.label[pool[i]] >= 0:
                    remove(units, state, pool[i])
                add(units, state, pool[i], old[i])
    return in_use


@compiled
def _choose(
    units: Units,
    state: State,
    neighbours: Neighbours,
    rng: np.random.Generator,
    k: int,
    l: int,  # noqa: E741
    seed: int,
    targets: Ints,
    pool: Ints,
    old: Ints,
) -> tuple[int, int, int, float]:
    """Empty a few classes around a unit into the pool; a class too large for that only lends single units.

    ``targets[:dissolved]`` and ``targets[8 : 8 + opened]`` name the classes.
    """
    wanted = 2 + int(rng.random() * 3)
    skip = rng.random() * 0.7
    dissolved = opened = pooled = 0
    before = 0.0
    here = neighbours.tuple_of[seed]
    for m in range(neighbours.near.shape[1]):
        if m > 0 and rng.random() < skip:
            continue
        there = neighbours.near[here, m]
        start, end = neighbours.unit_start[there], neighbours.unit_start[there + 1]
        u = seed if m == 0 else neighbours.unit[start + int(rng.random() * (end - start))]
        c = state.label[u]
        if c < 0:
            continue  # already in the pool
        members, v = 0, state.head[c]
        while v >= 0 and members <= POOL // 3:
            members += 1
            v = state.after[v]
        if members <= POOL // 3 and pooled + members <= POOL and dissolved < 8:
            fresh = True
            for t in range(opened):
                if targets[8 + t] == c:
                    fresh = False
            if not fresh:
                continue
            before += loss_of_class(state, c)
            targets[dissolved] = c
            dissolved += 1
            while state.head[c] >= 0:
                v = state.head[c]
                remove(units, state, v)
                pool[pooled], old[pooled] = v, c
                pooled += 1
        else:
            known = False
            for t in range(opened):
                if targets[8 + t] == c:
                    known = True
            if not known:
                if opened == 7:
                    continue
                before += loss_of_class(state, c)
                targets[8 + opened] = c
                opened += 1
            if pooled < POOL and may_leave(units, state, u, k, l):
                remove(units, state, u)
                pool[pooled], old[pooled] = u, c
                pooled += 1
        if dissolved + opened >= wanted:
            break
    return dissolved, opened, pooled, before
