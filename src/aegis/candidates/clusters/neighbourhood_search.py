"""Large-neighbourhood search: dissolve a few classes that lie together, rebuild them, keep what is better.

Classes are rebuilt from their loose units: seeds far apart, each grown to k and l, then moves and exchanges. Every
state between two rounds is valid: each class has k records and l values of every sensitive attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.budget import nearest
from aegis.candidates.clusters.class_limits import ClassLimits, within
from aegis.candidates.clusters.information_loss import embed
from aegis.candidates.clusters.records import Tuples
from aegis.candidates.clusters.units import (
    State,
    Units,
    add,
    adds_value,
    best_met,
    cost_of_adding,
    distance,
    gain_of_removing,
    loss_of_class,
    may_release,
    note,
    remove,
    satisfies,
    take,
)
from aegis.compiled import NONE_YET, compiled

SWEEPS = 6
TINY = 1e-9
POOL = 400  # units a round may move: more costs time without finding more


class Neighbours(NamedTuple):
    """The nearest tuples of every tuple, itself first, and the units of every tuple."""

    near: Ints  # (tuples, neighbours)
    tuple_of: Ints  # (units,)
    unit_start: Ints  # (tuples + 1,)
    unit: Ints  # units sorted by tuple


class Met(NamedTuple):
    """What some rounds came to."""

    classes: int  # in use after the last round
    labels: Ints  # of the best partition with as many classes as asked for; of the first one where none has
    lowered: float  # by how much it loses less than the first one; below zero where that had the wrong number
    fits: bool  # whether any partition had as many classes as asked for


def neighbours_of(
    tuples: Tuples, divisor: Floats, *, count: int, whole_tuples: bool, deadline: float | None = None
) -> Neighbours | None:
    """Find the ``count`` nearest tuples of each, by the metric the loss uses; None if that ends after ``deadline``."""
    neighbours = nearest(embed(tuples, divisor), count=count, deadline=deadline)
    if neighbours is None:
        return None
    near = neighbours[1]
    tuple_of = np.arange(len(tuples), dtype=np.int64) if whole_tuples else tuples.tuple_of
    return Neighbours(
        near=near.reshape(len(tuples), -1),
        tuple_of=tuple_of,
        unit_start=np.searchsorted(np.sort(tuple_of), np.arange(len(tuples) + 1)).astype(np.int64),
        unit=np.argsort(tuple_of, kind="stable").astype(np.int64),
    )


@compiled
def rebuild(
    units: Units,
    state: State,
    rng: np.random.Generator,
    k: int,
    l: int,
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
        pick = NONE_YET
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
            best, chosen = np.inf, NONE_YET
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
        best, chosen = np.inf, NONE_YET
        for t in range(len(targets)):
            cost = cost_of_adding(units, state, u, targets[t])
            if cost < best:
                best, chosen = cost, targets[t]
        add(units, state, u, chosen)
    return True


@compiled
def descend(units: Units, state: State, k: int, l: int, pool: Ints, targets: Ints) -> None:
    """Move single units, or exchange two, while that lowers the loss."""
    for _ in range(SWEEPS):
        moved = False
        for i in range(len(pool)):
            u = pool[i]
            gain = gain_of_removing(units, state, u)
            if gain <= TINY:
                continue
            a = state.label[u]
            best, b = np.inf, NONE_YET
            for t in range(len(targets)):
                c = targets[t]
                if c != a and state.size[c] > 0:
                    cost = cost_of_adding(units, state, u, c)
                    if cost < best:
                        best, b = cost, c
            if b < 0:
                continue
            if may_release(units, state, u, k, l):
                if best < gain - TINY:
                    remove(units, state, u)
                    add(units, state, u, b)
                    moved = True
            elif _exchange(units, state, k, l, pool, u, b, best - gain):
                moved = True
        if not moved:
            break


@compiled
def _exchange(units: Units, state: State, k: int, l: int, pool: Ints, u: int, b: int, price: float) -> bool:
    """Move ``u`` to class ``b`` and refill its class from the pool, if both together pay."""
    a = state.label[u]
    remove(units, state, u)
    add(units, state, u, b)
    best, chosen = -TINY, NONE_YET
    for i in range(len(pool)):
        v = pool[i]
        if v == u or state.label[v] == a:
            continue
        value = price + cost_of_adding(units, state, v, a) - gain_of_removing(units, state, v)
        if value < best and may_release(units, state, v, k, l):
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


@compiled
def search_rounds(
    units: Units,
    state: State,
    neighbours: Neighbours,
    rng: np.random.Generator,
    k: int,
    l: int,
    limits: ClassLimits,
    aim: int,
    slack: int,
    price: Floats,
    unit_price: float,
    rounds: int,
    temperature: float,
) -> Met:
    """Run some rounds on ``state`` and give the best partition on the way: a warm search leaves it again.

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
    best = best_met(state)
    rise, lowest = 0.0, 0.0 if aim in (0, in_use) else np.inf
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
        fee = price[0] * (rebuilt - dissolved) if aim > 0 else 0.0
        after = 0.0
        if good:
            descend(units, state, k, l, pool[:pooled], targets[:width])
            for t in range(width):
                after += loss_of_class(state, targets[t])
                good = good and within(units, state, targets[t], limits)
        if good and fee + after - before < -temperature * np.log(rng.random() + 1e-300) - TINY:
            if rebuilt > dissolved:
                spares -= 1
            for t in range(rebuilt, dissolved):
                spare[spares] = first[t]
                spares += 1
            in_use += rebuilt - dissolved
            rise += after - before
            note(best, pool[:pooled])
            if aim in (0, in_use) and rise < lowest - TINY:
                lowest = rise
                take(best, state)
        else:
            for i in range(pooled):
                if state.label[pool[i]] >= 0:
                    remove(units, state, pool[i])
                add(units, state, pool[i], old[i])
    return Met(in_use, best.labels, -lowest if lowest < np.inf else 0.0, lowest < np.inf)


@compiled
def _choose(
    units: Units,
    state: State,
    neighbours: Neighbours,
    rng: np.random.Generator,
    k: int,
    l: int,
    seed: int,
    targets: Ints,
    pool: Ints,
    old: Ints,
) -> tuple[int, int, int, float]:
    """Empty a few classes around a unit into the pool; a class too large for that only lends single units.

    ``targets[:dissolved]`` and ``targets[8 : 8 + opened]`` name the classes.
    """
    removals = 2 + int(rng.random() * 3)
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
            listed = False
            for t in range(opened):
                if targets[8 + t] == c:
                    listed = True
            if not listed:
                if opened == 7:
                    continue
                before += loss_of_class(state, c)
                targets[8 + opened] = c
                opened += 1
            if pooled < POOL and may_release(units, state, u, k, l):
                remove(units, state, u)
                pool[pooled], old[pooled] = u, c
                pooled += 1
        if dissolved + opened >= removals:
            break
    return dissolved, opened, pooled, before
