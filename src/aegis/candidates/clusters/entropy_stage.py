"""The entropy stage of MO-OBAM: loss traded for entropy by annealing, in cycles that start anew.

The first cycle goes straight downhill from the partition that loses least. Only the worst class counts, so where
several have a single secret no step by itself wins anything: the second cycle starts where each of them has borrowed
another one. The following ones start from a random partition, from classes with more secrets and from the best so far
by turns, so that none has to be left by small steps only, and some of them are heated. A large table has time for a
cycle or two, a small one for hundreds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.first_partition import repair
from aegis.candidates.clusters.mixing import Goal, mix_rounds, objective_value
from aegis.candidates.clusters.units import Units, place, total_loss

TRIES_PER_RECORD = 40
"""The length of a cycle; a budget that is shorter is one cycle."""
FEWEST_TRIES = 400
HOT: tuple[float, ...] = (0.0, 0.0, 0.0, 0.02, 0.0, 0.3, 0.0, 0.1, 0.0, 1.0)
"""The temperatures that cycles start with by turns, in mean changes of the objective by a try. On a large table most
is won downhill, on a small one by leaving a valley."""
COLD = 0.7
"""So much of a cycle is heated; the rest goes downhill."""

MORE_VALUES = 3
"""Classes borrow up to so many values of each sensitive attribute more than they need."""

Report = Callable[[Ints, float, int], None]


def anneal(
    units: Units,
    labels: Ints,
    rng: np.random.Generator,
    budget: Budget,
    goal: Goal,
    *,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
    report: Report,
) -> float:
    """Search until the budget is used; ``report`` is given the best partition so far after every slice.

    Gives the least loss met, which is what the objective is scaled by.
    """
    best_labels, best, best_entropy = labels, np.inf, 0.0
    cycle_tries = max(FEWEST_TRIES, TRIES_PER_RECORD * len(labels))
    cycle, scale = 0, 0.0
    best_loss = float(goal.best)
    while budget.fraction < 1.0:
        start = best_labels
        if cycle % 8 == 1:
            start = _mixed_start(units, labels, k=k, l=l + 1 + cycle // 8 % MORE_VALUES)
        elif cycle % 2 == 1:
            start = _random_start(units, best_labels, rng, goal, k=k, l=l)
        classes = int(start.max()) + 1
        capacity = max(classes, len(labels) // k) if goal.free else classes
        state = place(units, start, capacity=capacity)
        loss = float(total_loss(state))
        began, tries = budget.fraction, 0
        while budget.fraction < 1.0 and tries < cycle_tries:
            done = max(tries / cycle_tries, (budget.fraction - began) / (1.0 - began))
            heat = HOT[cycle % len(HOT)] * scale * max(0.0, 1.0 - done / COLD)
            rounds = min(budget.slice(), max(cycle_tries - tries, 1), max(20, cycle_tries // 20))
            tried = mix_rounds(units, state, rng, k, l, goal, loss, rounds, heat)
            loss = float(tried.loss)
            tries += rounds
            if tried.least_loss < goal.best * (1 - 1e-12):  # less than the best known: that is the best from now on
                goal = goal._replace(best=max(float(tried.least_loss), 0.0))
                if best < np.inf:
                    best = float(objective_value(goal, best_loss, best_entropy))
            if tried.feasible:
                scale = float(tried.changes) / tried.feasible if cycle == 0 or scale == 0.0 else scale
            budget.spent(rounds)
            objective = float(objective_value(goal, float(tried.best_loss), float(tried.best_entropy)))
            if objective < best - 1e-12:
                best, best_loss, best_entropy = objective, float(tried.best_loss), float(tried.best_entropy)
                best_labels = np.unique(tried.best_labels, return_inverse=True)[1].astype(np.int64)
            report(best_labels, best_loss, rounds)
        cycle += 1
    return float(goal.best)


def _mixed_start(units: Units, labels: Ints, *, k: int, l: int) -> Ints:  # noqa: E741 - l as in l-diversity
    """The classes after those with fewer than l values have borrowed some; as given where there are too few to lend."""
    state = place(units, labels, capacity=int(labels.max()) + 1)
    return labels if len(repair(units, state, k=k, l=l)) else state.label.copy()


def _random_start(
    units: Units,
    labels: Ints,
    rng: np.random.Generator,
    goal: Goal,
    *,
    k: int,
    l: int,  # noqa: E741 - l as in l-diversity
) -> Ints:
    """Random classes that satisfy k and l; the given ones where a random partition could not be repaired."""
    classes = int(rng.integers(1, max(len(labels) // k, 1) + 1)) if goal.free else int(labels.max()) + 1
    dealt = rng.permutation(np.arange(len(labels), dtype=np.int64) % classes)
    state = place(units, dealt, capacity=classes)
    return labels if len(repair(units, state, k=k, l=l)) else state.label.copy()
