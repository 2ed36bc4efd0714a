"""A first partition that satisfies k and l, from below or from above.

Small tables: merge the pair of classes that costs least, with the exact cost of the loss. Tables too large for that:
split the class that loses most, repeatedly. Then every class is given its k records and l values by borrowing single
units from classes that can spare them, and Hartigan sweeps move units to the nearby class where the loss falls most.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.budget import nearest, past
from aegis.candidates.clusters.units import (
    State,
    Units,
    add,
    cost_of_adding,
    gain_of_removing,
    may_release,
    place,
    remove,
    satisfies,
)
from aegis.compiled import NONE_YET, compiled

NEAR_CLASSES = 14
_REPAIRED_AT_ONCE = 64
_SPLITS_PER_WORD = 64
Say = Callable[[str], None]
"""Called with what is being done and how far it is; may be called often."""


def agglomerate(units: Units, *, k: int, l: int, classes: int | None) -> Ints:
    """Labels of classes that have k records and l values each, merged on to at most ``classes`` if given."""
    count = len(units.weight)
    state = place(units, np.arange(count, dtype=np.int64), capacity=count)
    target = 1 if classes is None else classes
    merged = _merge_pairs(units.code_start, units.sensitive_attribute, state, k, l, target, classes is None)
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
    best, partner = np.inf, NONE_YET
    for i in range(count):
        b = alive[i]
        if b != a:
            cost = _cost_of_merging(code_start, state, a, b)
            if cost < best:
                best, partner = cost, b
    return partner, best


@compiled
def _merge_pairs(
    code_start: Ints, sensitive_attribute: Ints, state: State, k: int, l: int, target: int, free: bool
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
            best, a = np.inf, NONE_YET
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


def divide(units: Units, *, k: int, classes: int, deadline: float | None = None, say: Say | None = None) -> Ints:
    """Labels of at most ``classes`` classes of at least k records each, fewer where ``deadline`` ends it."""
    count = len(units.weight)
    labels = np.zeros(count, dtype=np.int64)
    heap: list[tuple[float, int, Ints]] = [(-np.inf, 0, np.arange(count, dtype=np.int64))]
    made = 1
    while heap and made < classes and not past(deadline):
        _, label, members = heapq.heappop(heap)
        side = _halves(units, members, k)
        if side is None:
            continue
        for part, name in ((members[~side], label), (members[side], made)):
            labels[part] = name
            heapq.heappush(heap, (-float(_spreads(units, part).sum()), name, part))
        made += 1
        if say is not None and made % _SPLITS_PER_WORD == 0:
            say(f"{made:,} classes, at most {classes:,}")
    return labels


def _spreads(units: Units, members: Ints) -> Floats:
    """The deviation of each attribute inside a class, numbers first."""
    weight = units.weight[members]
    numbers = units.numbers[members]
    mean = weight @ numbers / weight.sum()
    spreads = list(weight @ (numbers - mean) ** 2)
    for codes in units.codes[members].T:
        spreads.append(weight.sum() - np.bincount(codes - codes.min(), weights=weight).max())
    return np.array(spreads, dtype=np.float64)


def _halves(units: Units, members: Ints, k: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Split at the mean or the mode of the attribute that deviates most; None if no split leaves k on both sides."""
    weight = units.weight[members]
    total = int(weight.sum())
    if total < 2 * k:
        return None
    spreads = _spreads(units, members)
    dimensions = units.numbers.shape[1]
    for attribute in np.argsort(-spreads):
        if spreads[attribute] <= 0:
            break
        if attribute < dimensions:
            column = units.numbers[members, attribute]
            order = np.argsort(column, kind="stable")
            candidates = [column > weight @ column / total, column > column[order[len(order) // 2]]]
        else:
            codes = units.codes[members, attribute - dimensions]
            low = codes.min()
            candidates = [codes != np.bincount(codes - low, weights=weight).argmax() + low]
        for side in candidates:
            if k <= weight[side].sum() <= total - k:
                return np.asarray(side)
    return None


def repair(
    units: Units, state: State, *, k: int, l: int, deadline: float | None = None, say: Say | None = None
) -> Ints:
    """Borrow until all classes satisfy k and l, or nobody can spare, or time is up; gives the classes that do not."""
    unit = np.repeat(np.arange(len(units.weight)), np.diff(units.sensitive_start))
    order = np.argsort(units.sensitive_value, kind="stable")
    holders = unit[order].astype(np.int64)
    start = np.searchsorted(units.sensitive_value[order], np.arange(len(units.sensitive_attribute) + 1))
    classes = len(state.size)
    step = classes if deadline is None else _REPAIRED_AT_ONCE
    for first in range(0, classes, step):
        if first and past(deadline):
            break
        if say is not None:
            say(f"filled up {first:,} of {classes:,} classes")
        _repair(units, state, holders, start.astype(np.int64), k, l, first, min(first + step, classes))
    return np.array([c for c in range(len(state.size)) if not satisfies(state, c, k, l)], dtype=np.int64)


@compiled
def _repair(units: Units, state: State, holders: Ints, start: Ints, k: int, l: int, first: int, end: int) -> None:
    for c in range(first, end):
        while state.size[c] > 0 and state.size[c] < k:
            if not _borrow(units, state, np.arange(len(state.label)), c, k, l):
                break
    for v in range(len(units.sensitive_attribute)):
        attribute = units.sensitive_attribute[v]
        for c in range(first, end):
            if state.size[c] > 0 and state.distinct[c, attribute] < l and state.seen[c, v] == 0:
                _borrow(units, state, holders[start[v] : start[v + 1]], c, k, l)


@compiled
def _borrow(units: Units, state: State, candidates: Ints, c: int, k: int, l: int) -> bool:
    """Move the candidate into ``c`` that costs least and can be spared where it is."""
    best, chosen = np.inf, NONE_YET
    for u in candidates:
        if state.label[u] == c:
            continue
        cost = cost_of_adding(units, state, u, c)
        if cost < best:  # the cheap test first
            cost -= gain_of_removing(units, state, u)
            if cost < best and may_release(units, state, u, k, l):
                best, chosen = cost, u
    if chosen < 0:
        return False
    remove(units, state, chosen)
    add(units, state, chosen, c)
    return True


def sweep(
    units: Units, state: State, *, k: int, l: int, most: int = 10, deadline: float | None = None, say: Say | None = None
) -> int:
    """Sweep until few units move or time is up; gives the number of moves. Classes keep k and l, none disappears."""
    moves = 0
    for number in range(most):
        if say is not None:
            say(f"sweep {number + 1} of at most {most}")
        near = _near_classes(units, state, deadline)
        if near is None:
            break
        moved = int(_sweep(units, state, near, k, l))
        moves += moved
        if moved * 200 < len(units.weight):
            break
    return moves


def _near_classes(units: Units, state: State, deadline: float | None) -> Ints | None:
    """For each class the nearest classes, by mean and mode; None if finding them would end after ``deadline``."""
    used = np.flatnonzero(state.size)
    parts = [state.sums[used] / state.size[used, None]]
    for j in range(units.codes.shape[1]):
        low, high = int(units.code_start[j]), int(units.code_start[j + 1])
        parts.append(np.eye(high - low)[state.counts[used, low:high].argmax(axis=1)] / np.sqrt(2.0))
    points = np.hstack(parts)
    neighbours = nearest(points, count=NEAR_CLASSES, deadline=deadline)
    if neighbours is None:
        return None
    table = np.full((len(state.size), NEAR_CLASSES), -1, dtype=np.int64)
    table[used, : min(NEAR_CLASSES, len(used))] = used[neighbours[1]]
    return table


@compiled
def _sweep(units: Units, state: State, near: Ints, k: int, l: int) -> int:
    moved = 0
    for u in range(len(state.label)):
        a = state.label[u]
        gain = gain_of_removing(units, state, u)
        if gain <= 1e-9 or not may_release(units, state, u, k, l):
            continue
        best, b = gain - 1e-9, NONE_YET
        for e in range(near.shape[1]):
            c = near[a, e]
            if c >= 0 and c != a:
                cost = cost_of_adding(units, state, u, c)
                if cost < best:
                    best, b = cost, c
        if b >= 0:
            remove(units, state, u)
            add(units, state, u, b)
            moved += 1
    return moved
