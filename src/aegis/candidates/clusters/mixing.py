"""The tries of the entropy stage: records are moved and swapped, classes merged and split where their number is free.

Only the class with the smallest entropy of an attribute counts, so where several classes are equally bad no single
step wins anything. Tries can therefore be judged by a soft minimum, −s · ln Σ exp(−entropy/s) over all classes, which
tends to the smallest entropy as the softness s goes to zero. A try that lowers the objective is kept; at a temperature
above zero one that raises it is kept now and then, as in annealing. The best partition is always the best by the
objective itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.class_limits import ClassLimits, within
from aegis.candidates.clusters.units import (
    State,
    Units,
    add,
    best_met,
    cost_of_adding,
    distance,
    gain_of_removing,
    loss_of_class,
    may_release,
    note,
    place,
    remove,
    satisfies,
    take,
    total_loss,
)
from aegis.compiled import NONE_YET, compiled

CLASSES_TRIED = 0.1  # the share of tries that merge or split classes where their number is free
NEARLY_ALL, FAR = 1e-9, 8.0  # of a soft sum: what rounding leaves of it, and by what factor it may move
LOWEST = 3  # a move touches two classes, so the lowest entropy among the others is one of the three lowest


class Goal(NamedTuple):
    """The scaled objective: ``(1 − best/loss) − trade_off · entropy/ceiling``, losses as summed deviations."""

    best: float
    ceiling: float
    trade_off: float
    minimum_of_sums: bool
    free: bool
    """Whether classes may be merged and split."""
    nothing: float = 1e-9
    """A loss up to this is none: what rounding leaves of a sum."""


class Mixture(NamedTuple):
    """How mixed the classes are by now."""

    entropies: Floats  # (classes, attributes), or (classes, 1) of their sums
    lowest: Ints  # (attributes, LOWEST), the classes with the smallest ones
    floor: Floats  # (attributes,), the smallest when the soft sums were last added up
    sums: Floats  # (attributes,), Σ exp((floor − entropy)/softness) over classes

    def __repr__(self) -> str:
        return f"Mixture({len(self.entropies)} classes)"


class Tried(NamedTuple):
    """What some tries came to: the loss now, the best partition on the way, and how much a feasible try changed."""

    loss: float
    least_loss: float  # of all partitions on the way, whatever their entropy
    best_labels: Ints
    best_loss: float
    best_entropy: float
    changes: float  # of the objective, summed over feasible tries
    feasible: int


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
def objective_value(goal: Goal, loss: float, entropy: float) -> float:
    """The objective of a partition with this loss and entropy."""
    lost = 1.0 - goal.best / loss if loss > goal.nothing else 0.0
    return lost - goal.trade_off * entropy / goal.ceiling


def mixture_of(units: Units, state: State, goal: Goal) -> Mixture:
    """The entropies of all classes of a state."""
    width = 1 if goal.minimum_of_sums else state.distinct.shape[1]
    mixture = Mixture(
        entropies=np.empty((len(state.size), width)),
        lowest=np.empty((width, LOWEST), dtype=np.int64),
        floor=np.zeros(width),
        sums=np.zeros(width),
    )
    _measure(units, state, goal.minimum_of_sums, mixture)
    return mixture


def loss_and_entropy(units: Units, labels: Ints, goal: Goal) -> tuple[float, float]:
    """What the objective weighs against each other, of a partition."""
    state = place(units, labels, capacity=int(labels.max()) + 1)
    return float(total_loss(state)), float(mixture_of(units, state, goal).entropies.min(axis=0).sum())


@compiled
def _measure(units: Units, state: State, together: bool, mixture: Mixture) -> None:
    for c in range(len(mixture.entropies)):
        entropy_rows(units, state, c, together, mixture.entropies[c])
    for j in range(len(mixture.lowest)):
        _refresh(mixture.entropies, j, mixture.lowest)


@compiled
def _add_up(mixture: Mixture, j: int, softness: float) -> None:
    floor = mixture.entropies[mixture.lowest[j, 0], j]
    total = 0.0
    for c in range(len(mixture.entropies)):
        total += np.exp((floor - mixture.entropies[c, j]) / softness)
    mixture.floor[j] = floor
    mixture.sums[j] = total


@compiled
def _soft_sum(mixture: Mixture, a: int, b: int, row_a: Floats, row_b: Floats, softness: float) -> float:
    """The soft minima added up if classes ``a`` and ``b`` had other entropies."""
    total = 0.0
    for j in range(len(mixture.sums)):
        floor = mixture.floor[j]
        now, without = mixture.sums[j], mixture.sums[j]
        for c in (a, b):
            without -= np.exp((floor - mixture.entropies[c, j]) / softness)
        without = max(without, NEARLY_ALL * now)  # what is left of a sum after nearly all of it went is rounding
        then = without + np.exp((floor - row_a[j]) / softness) + np.exp((floor - row_b[j]) / softness)
        total += floor - softness * np.log(then)
    return total


@compiled
def _soft_entropy(mixture: Mixture, softness: float) -> float:
    """The soft minima added up."""
    total = 0.0
    for j in range(len(mixture.sums)):
        total += mixture.floor[j] - softness * np.log(mixture.sums[j])
    return total


@compiled
def _replace(mixture: Mixture, a: int, b: int, row_a: Floats, row_b: Floats, softness: float) -> None:
    """Classes ``a`` and ``b`` have these entropies now."""
    for j in range(len(mixture.sums)):
        before, low = mixture.sums[j], mixture.lowest[j]
        edge = np.inf if low[LOWEST - 1] < 0 else mixture.entropies[low[LOWEST - 1], j]
        among = row_a[j] < edge or row_b[j] < edge
        for r in range(LOWEST):
            among = among or low[r] == a or low[r] == b
        if softness > 0.0:
            floor = mixture.floor[j]
            for c, row in ((a, row_a), (b, row_b)):
                mixture.sums[j] += np.exp((floor - row[j]) / softness)
                mixture.sums[j] -= np.exp((floor - mixture.entropies[c, j]) / softness)
        mixture.entropies[a, j], mixture.entropies[b, j] = row_a[j], row_b[j]
        if among:
            _refresh(mixture.entropies, j, mixture.lowest)
        if softness > 0.0 and not FAR * before > mixture.sums[j] > before / FAR:
            _add_up(mixture, j, softness)


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
    l: int,
    limits: ClassLimits,
    goal: Goal,
    mixture: Mixture,
    loss: float,
    rounds: int,
    temperature: float,
    softness: float,
) -> Tried:
    """Try some changes of the partition, in place; the best on the way is kept, as a heated search leaves it again."""
    entropies, lowest = mixture.entropies, mixture.lowest
    width = entropies.shape[1]
    row_a, row_b = np.empty(width), np.empty(width)
    count = len(state.label)
    moved, back = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    entropy = 0.0
    for j in range(width):
        entropy += entropies[lowest[j, 0], j]
    best = objective_value(goal, loss, entropy)
    now = best
    if softness > 0.0:
        for j in range(width):
            _add_up(mixture, j, softness)
        now = objective_value(goal, loss, _soft_entropy(mixture, softness))
    changes, feasible = 0.0, 0
    met = best_met(state)
    best_loss, best_entropy, least_loss = loss, entropy, loss
    for _ in range(rounds):
        j = int(rng.random() * width)
        worst = lowest[j, 0]
        chosen = int(rng.random() * count)
        if softness > 0.0 and rng.random() < 0.5:  # all classes count, those of small entropy most
            worst = state.label[int(rng.random() * count)]
            other = state.label[int(rng.random() * count)]
            if entropies[other, j] < entropies[worst, j]:
                worst = other
        if goal.free and rng.random() < CLASSES_TRIED:
            a, b, number = _other_classes(units, state, rng, k, worst, chosen, moved, back)
        else:
            a, b, number = _other_records(units, state, rng, k, l, worst, chosen, moved, back)
        if number == 0:
            continue
        change = _put(units, state, a, b, moved, number)
        good = satisfies(state, a, k, l) and satisfies(state, b, k, l)
        good = good and within(units, state, a, limits) and within(units, state, b, limits)
        if good:
            entropy_rows(units, state, a, goal.minimum_of_sums, row_a)
            entropy_rows(units, state, b, goal.minimum_of_sums, row_b)
            mixed = _lowest_sum(entropies, lowest, a, b, row_a, row_b)
            then = objective_value(goal, loss + change, mixed)
            hard = then
            if softness > 0.0:
                soft = _soft_sum(mixture, a, b, row_a, row_b, softness)
                then = objective_value(goal, loss + change, soft)
            changes += abs(then - now)
            feasible += 1
            good = then < now - 1e-12
            if not good and temperature > 0.0:
                good = rng.random() < np.exp((now - then) / temperature)
            if good:
                loss += change
                now = then
                _replace(mixture, a, b, row_a, row_b, softness)
                if softness > 0.0:
                    now = objective_value(goal, loss, _soft_entropy(mixture, softness))
                least_loss = min(least_loss, loss)
                note(met, moved[:number])
                if hard < best - 1e-12:
                    best, best_loss, best_entropy = hard, loss, mixed
                    take(met, state)
        if not good:
            for at in range(number):
                remove(units, state, moved[at])
                add(units, state, moved[at], back[at])
    return Tried(loss, least_loss, met.labels, best_loss, best_entropy, changes, feasible)


@compiled
def _put(units: Units, state: State, a: int, b: int, moved: Ints, number: int) -> float:
    """Move every listed unit of class ``a`` to ``b`` and of ``b`` to ``a``; gives by how much the loss rises."""
    if number <= 2:
        change = 0.0
        for at in range(number):  # all leave first: a swap between two classes costs what it costs
            change -= gain_of_removing(units, state, moved[at])
            back = state.label[moved[at]]
            remove(units, state, moved[at])
            state.label[moved[at]] = back
        for at in range(number):
            to = b if state.label[moved[at]] == a else a
            change += cost_of_adding(units, state, moved[at], to)
            add(units, state, moved[at], to)
        return change
    before = loss_of_class(state, a) + loss_of_class(state, b)
    for at in range(number):
        to = b if state.label[moved[at]] == a else a
        remove(units, state, moved[at])
        add(units, state, moved[at], to)
    return loss_of_class(state, a) + loss_of_class(state, b) - before


@compiled
def _other_records(
    units: Units, state: State, rng: np.random.Generator, k: int, l: int, worst: int, u: int, moved: Ints, back: Ints
) -> tuple[int, int, int]:
    """A single move or a swap: the two classes and how many records change place, none where nothing was found."""
    a, b, v = state.label[u], worst, NONE_YET
    kind = rng.random()
    if kind < 0.25:  # into the worst class
        pass
    elif kind < 0.75:  # swap with, or move out of, the worst class
        v = _member(state, rng, worst)
        if kind > 0.65 and a != worst:
            u, v = v, NONE_YET
            a, b = b, a
    elif kind < 0.85:  # any two records
        v = int(rng.random() * len(state.label))
        b = state.label[v]
    else:  # to where it costs least, of a few
        b, best = a, np.inf
        for _ in range(4):
            c = state.label[int(rng.random() * len(state.label))]
            if c != a:
                cost = cost_of_adding(units, state, u, c)
                if cost < best:
                    best, b = cost, c
    if a == b or (v < 0 and not may_release(units, state, u, k, l)):
        return a, b, 0
    moved[0], back[0] = u, a
    if v < 0:
        return a, b, 1
    moved[1], back[1] = v, b
    return a, b, 2


@compiled
def _other_classes(
    units: Units, state: State, rng: np.random.Generator, k: int, worst: int, u: int, moved: Ints, back: Ints
) -> tuple[int, int, int]:
    """Two classes poured into one, or one split around two of its records, as `_other_records` says it."""
    a = worst if rng.random() < 0.5 else state.label[u]
    number = 0
    if rng.random() < 0.5:
        b = state.label[int(rng.random() * len(state.label))]
        if a == b:
            return a, b, 0
        u = state.head[a]
        while u >= 0:
            moved[number], back[number] = u, a
            number += 1
            u = state.after[u]
        return a, b, number
    b = NONE_YET
    for c in range(len(state.size)):
        if state.size[c] == 0:
            b = c
            break
    if b < 0 or state.size[a] < 2 * k:
        return a, a, 0
    first, second = _member(state, rng, a), _member(state, rng, a)
    u = state.head[a]
    while u >= 0:
        if u == second or (u != first and distance(units, u, second) < distance(units, u, first)):
            moved[number], back[number] = u, a
            number += 1
        u = state.after[u]
    return a, b, number


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
