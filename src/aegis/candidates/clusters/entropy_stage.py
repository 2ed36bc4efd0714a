"""The entropy stage of MO-OBAM: loss traded for entropy, in cycles that start anew.

The first cycle goes straight downhill from the partition that loses least. Only the worst class counts, so where
several are equally bad no step by itself wins anything. The following cycles therefore begin with a soft minimum of the
entropies, to which every class of small entropy adds something, and make it sharper until it is the smallest one. They
start from the partition that loses least, from the best so far, from classes that have borrowed more secrets and from a
random partition by turns, and some are heated instead. A large table has time for a cycle or two, a small one for
hundreds.

Under a policy only partitions that satisfy it count. Tries keep what the counts of a class can answer (`ClassLimits`);
before a partition becomes the best so far, the whole policy judges it. What fails is joined, and the cycle goes on from
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.class_limits import ClassLimits
from aegis.candidates.clusters.first_partition import repair
from aegis.candidates.clusters.mixing import Goal, loss_and_entropy, mix_rounds, mixture_of, objective_value
from aegis.candidates.clusters.units import Units, place, total_loss

TRIES_PER_RECORD = 40
"""The length of a cycle; a budget that is shorter is one cycle."""
FEWEST_TRIES = 400
COLD = 0.7
"""So much of a cycle is heated or soft; the rest goes downhill by the objective itself."""
SHARPER = 0.03
"""What is left of the softness by then."""
MORE_VALUES = 3
"""Classes borrow up to so many values of each sensitive attribute more than they need."""
Report = Callable[[Ints, float, int], None]
Admit = Callable[[Ints], Ints]


class Cycle(NamedTuple):
    """Where a cycle begins and how it goes on.

    ``heat`` is in mean changes of the objective by a try, ``softness`` in ceilings of an attribute.
    """

    start: Literal["given", "best", "mixed", "random"]
    heat: float = 0.0
    softness: float = 0.0


FIRST = Cycle("given")
"""Straight downhill: on a large table that is all there is time for."""
CYCLES: tuple[Cycle, ...] = (
    Cycle("mixed"),
    Cycle("best"),
    Cycle("given", softness=0.1),
    Cycle("best", softness=0.03),
    Cycle("best", softness=0.03),
    Cycle("best", softness=0.03),
    Cycle("random"),
    Cycle("best", softness=0.03),
    Cycle("best", heat=0.3),
)
"""What the other cycles are by turns. Softness mends several classes that are equally bad one after the other; where
loss weighs more than entropy, plain descents win as much."""


def anneal(
    units: Units,
    labels: Ints,
    rng: np.random.Generator,
    budget: Budget,
    goal: Goal,
    *,
    k: int,
    l: int,
    limits: ClassLimits,
    report: Report,
    admit: Admit | None = None,
) -> float:
    """Search until the budget is used; ``report`` is given the best partition so far after every slice.

    ``admit`` makes a partition satisfy a policy, which ``labels`` do. Gives the least loss met, which is what the
    objective is scaled by.
    """
    best_labels = labels
    best_loss, best_entropy = given = loss_and_entropy(units, labels, goal)
    best = float(objective_value(goal, best_loss, best_entropy))
    cycle_tries = max(FEWEST_TRIES, TRIES_PER_RECORD * len(labels))
    number, scale = 0, 0.0
    bits = goal.ceiling if goal.minimum_of_sums else goal.ceiling / max(units.sensitive_attributes, 1)
    while budget.fraction < 1.0:
        turn, place_in_turn = divmod(number - 1, len(CYCLES))
        cycle = CYCLES[place_in_turn] if number else FIRST
        start = labels if cycle.start == "given" else best_labels
        if cycle.start == "mixed":
            start = _mixed_start(units, labels, k=k, l=l + 1 + turn % MORE_VALUES)
        elif cycle.start == "random":
            start = _random_start(units, best_labels, rng, goal, k=k, l=l)
        if admit is not None and cycle.start in ("mixed", "random"):
            start = admit(start)
        classes = int(start.max()) + 1
        capacity = max(classes, len(labels) // k) if goal.free else classes
        state = place(units, start, capacity=capacity)
        mixture = mixture_of(units, state, goal)
        loss = float(total_loss(state))
        began, tries = budget.fraction, 0
        while budget.fraction < 1.0 and tries < cycle_tries:
            done = max(tries / cycle_tries, (budget.fraction - began) / (1.0 - began)) / COLD
            heat = cycle.heat * scale * max(0.0, 1.0 - done)
            softness = cycle.softness * bits * SHARPER**done if done < 1.0 else 0.0
            rounds = min(budget.slice(), max(cycle_tries - tries, 1), max(20, cycle_tries // 20))
            tried = mix_rounds(units, state, rng, k, l, limits, goal, mixture, loss, rounds, heat, softness)
            loss = float(tried.loss)
            tries += rounds
            met_loss, met_entropy, least = float(tried.best_loss), float(tried.best_entropy), float(tried.least_loss)
            met_labels = tried.best_labels
            if admit is not None:  # what the policy forbids is neither a result nor a best loss
                least = goal.best
                if objective_value(goal, met_loss, met_entropy) < best - 1e-12:
                    classes_met = len(np.unique(met_labels))
                    met_labels = admit(met_labels)
                    met_loss, met_entropy = loss_and_entropy(units, met_labels, goal)
                    least = met_loss
                    if int(met_labels.max()) + 1 < classes_met:  # joined: it is of no use to stray farther
                        state = place(units, met_labels, capacity=capacity)
                        mixture = mixture_of(units, state, goal)
                        loss = met_loss
            if least < goal.best * (1 - 1e-12):  # less than the best known: that is the best from now on
                goal = goal._replace(best=max(least, 0.0))
                if objective_value(goal, *given) < objective_value(goal, best_loss, best_entropy):
                    best_labels, (best_loss, best_entropy) = labels, given
                best = float(objective_value(goal, best_loss, best_entropy))
            if tried.feasible:
                scale = float(tried.changes) / tried.feasible if number == 0 or scale == 0.0 else scale
            budget.spent(rounds)
            objective = float(objective_value(goal, met_loss, met_entropy))
            if objective < best - 1e-12:
                best, best_loss, best_entropy = objective, met_loss, met_entropy
                best_labels = np.unique(met_labels, return_inverse=True)[1].astype(np.int64)
            report(best_labels, best_loss, rounds)
        number += 1
    return float(goal.best)


def _mixed_start(units: Units, labels: Ints, *, k: int, l: int) -> Ints:
    """The classes after those with fewer than l values have borrowed some; as given where there are too few to lend."""
    state = place(units, labels, capacity=int(labels.max()) + 1)
    return labels if len(repair(units, state, k=k, l=l)) else state.label.copy()


def _random_start(units: Units, labels: Ints, rng: np.random.Generator, goal: Goal, *, k: int, l: int) -> Ints:
    """Random classes that satisfy k and l; the given ones where a random partition could not be repaired."""
    classes = int(rng.integers(1, max(len(labels) // k, 1) + 1)) if goal.free else int(labels.max()) + 1
    dealt = rng.permutation(np.arange(len(labels), dtype=np.int64) % classes)
    state = place(units, dealt, capacity=classes)
    return labels if len(repair(units, state, k=k, l=l)) else state.label.copy()
