"""A first partition from below: merge the pair of classes that costs least, with the exact cost of the loss."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.compiled import compiled
from aegis.candidates.clusters.units import State, Units, place, satisfies


def agglomerate(units: Units, *, k: int, l: int, classes: int | None) -> Ints:  # noqa: E741 - l as in l-diversity
    """Labels of classes that have k records and l values each, merged on to at most ``classes`` if given."""
    count = len(units.weight)
    state = place(units, np.arange(count, dtype=np.int64), capacity=count)
    target = 1 if classes is None else classes
    merged = _merge(units, state, k, l, target, classes is None)
    return np.unique(merged, return_inverse=True)[1].astype(np.int64)


@compiled
def _cost_of_merging(code_start: Ints, state: State, a: int, b: int) -> float:
    wa, wb = state.size[a], state.size[b]
    cost = 0.0
    for d in range(state.sums.shape[1]):
        gap = state.sums[a, d] / wa - state.sums[b, d] / wb
        cost += gap * gap
    cost *= wa * wb / (wa + wb)
    for j in range(len(code_start) - 1):
        best = 0
        for v in range(code_start[j], code_start[j + 1]):
            both = state.counts[a, v] + state.counts[b, v]
            if both > best:
                best = both
        cost += state.top[a, j] + state.top[b, j] - best
    return cost


@compiled
def _absorb(code_start: Ints, state: State, a: int, b: int) -> None:
    """Pour class ``b`` into class ``a``."""
    state.size[a] += state.size[b]
    state.size[b] = 0
    state.sums[a] += state.sums[b]
    state.counts[a] += state.counts[b]
    for j in range(len(code_start) - 1):
        state.top[a, j] = state.counts[a, code_start[j] : code_start[j + 1]].max()
    for v in range(state.seen.shape[1]):
        state.seen[a, v] += state.seen[b, v]


@compiled
def _recount(sensitive_attribute: Ints, state: State, a: int) -> None:
    state.distinct[a] = 0
    for v in range(state.seen.shape[1]):
        if state.seen[a, v] > 0:
            state.distinct[a, sensitive_attribute[v]] += 1


@compiled
def _best_partner(code_start: Ints, state: State, a: int, alive: Ints, count: int) -> tuple[int, float]:
    best, partner = np.inf, -1
    for i in range(count):
        b = alive[i]
        if b != a:
            cost = _cost_of_merging(code_start, state, a, b)
            if cost < best:
                best, partner = cost, b
    return partner, best


@compiled
def _merge_pairs(
    code_start: Ints,
    sensitive_attribute: Ints,
    state: State,
    k: int,
    l: int,  # noqa: E741
    target: int,
    free: bool,
) -> Ints:
    total = len(state.size)
    owner = np.arange(total)
    alive = np.arange(total)
    count = total
    partner = np.full(total, -1)
    price = np.full(total, np.inf)
    wanting = np.zeros(total, dtype=np.bool_)
    for stage in range(2):  # first whoever is too small or too uniform, then (if asked) down to the target
        if stage == 1 and free:
            break
        for i in range(count):
            a = alive[i]
            wanting[a] = stage == 1 or not satisfies(state, a, k, l)
            price[a] = np.inf
            if wanting[a]:
                partner[a], price[a] = _best_partner(code_start, state, a, alive, count)
        while count > (target if stage == 1 else 1):
            best, a = np.inf, -1
            for i in range(count):
                if price[alive[i]] < best:
                    best, a = price[alive[i]], alive[i]
            if a < 0:
                break
            b = partner[a]
            _absorb(code_start, state, a, b)
            _recount(sensitive_attribute, state, a)
            owner[b] = a
            for i in range(count):
                if alive[i] == b:
                    alive[i] = alive[count - 1]
                    count -= 1
                    break
            wanting[b] = False
            price[b] = np.inf
            wanting[a] = stage == 1 or not satisfies(state, a, k, l)
            price[a] = np.inf
            for i in range(count):
                c = alive[i]
                if wanting[c] and (c == a or partner[c] == a or partner[c] == b):
                    partner[c], price[c] = _best_partner(code_start, state, c, alive, count)
                elif wanting[c]:
                    cost = _cost_of_merging(code_start, state, c, a)
                    if cost < price[c]:
                        partner[c], price[c] = a, cost
    for u in range(total):
        root = u
        while owner[root] != root:
            root = owner[root]
        owner[u] = root
    return owner


def _merge(units: Units, state: State, k: int, l: int, target: int, free: bool) -> Ints:  # noqa: E741
    return _merge_pairs(units.code_start, units.sensitive_attribute, state, k, l, target, free)
