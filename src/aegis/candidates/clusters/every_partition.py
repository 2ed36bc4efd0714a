"""The best of all partitions, for tables so small that they can be gone through.

What a class loses and how mixed its secrets are is worked out once for every set of records. The least loss of every
set follows from smaller sets; it says of a partition begun what it will lose at least, so that few have to be finished.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.class_limits import ClassLimits, within
from aegis.candidates.clusters.mixing import Goal, entropy_rows, objective_value
from aegis.candidates.clusters.units import State, Units, add, empty_state, loss_of_class, remove, satisfies
from aegis.compiled import NONE_YET, ZERO, compiled

MOST_RECORDS = 12  # 4,096 sets of records, and 4,213,597 partitions


class EveryPartition:
    """All partitions of single records into classes with k records, l values and what a policy asks of each.

    As many classes as asked for, or any number.
    """

    def __init__(self, units: Units, *, k: int, l: int, limits: ClassLimits, classes: int | None) -> None:
        self._units = units
        sets = 1 << len(units.weight)
        self._loss = np.full(sets, np.inf)
        _losses(units, empty_state(units, capacity=1), k, l, limits, self._loss)
        most = len(units.weight) // k if classes is None else classes
        least = _least_losses(self._loss, most)
        self._still = np.tile(least.min(axis=0), (most + 1, 1)) if classes is None else least[::-1].copy()

    @property
    def least_loss(self) -> float:
        """The least summed deviation of all; infinite where no partition satisfies what is asked for."""
        return float(self._still[0, -1])

    def best(self, goal: Goal) -> Ints:
        """The labels of a partition with the least objective; at trade-off 0 with the least loss."""
        units = self._units
        bits = np.zeros((len(self._loss), 1 if goal.minimum_of_sums else units.sensitive_attributes))
        _entropies(units, empty_state(units, capacity=1), goal.minimum_of_sums, bits)
        return _best(self._loss, self._still, bits, goal, len(units.weight))


@compiled
def _fill(units: Units, state: State, members: int) -> None:
    """Make class 0 the set whose bits are ``members``."""
    for u in range(len(units.weight)):
        if state.label[u] == 0:
            remove(units, state, u)
    state.sums[:] = 0.0  # nothing is left that rounding could have left
    state.squares[:] = 0.0
    for u in range(len(units.weight)):
        if members >> u & 1:
            add(units, state, u, ZERO)


@compiled
def _losses(units: Units, state: State, k: int, l: int, limits: ClassLimits, loss: Floats) -> None:
    """What every set loses as a class; those that may be none stay infinite."""
    for members in range(1, len(loss)):
        _fill(units, state, members)
        if satisfies(state, ZERO, k, l) and within(units, state, ZERO, limits):
            loss[members] = loss_of_class(state, ZERO)


@compiled
def _entropies(units: Units, state: State, together: bool, bits: Floats) -> None:
    for members in range(1, len(bits)):
        _fill(units, state, members)
        entropy_rows(units, state, ZERO, together, bits[members])


@compiled
def _least_losses(loss: Floats, most: int) -> Floats:
    """The least loss of every set cut into so many classes: (classes + 1, sets)."""
    least = np.full((most + 1, len(loss)), np.inf)
    least[0, 0] = 0.0
    for classes in range(1, most + 1):
        for members in range(1, len(loss)):
            first = members & -members  # the class of the first record is chosen, so that no partition comes twice
            others = members ^ first
            part = others
            while part >= 0:
                whole = loss[part | first] + least[classes - 1, others ^ part]
                if whole < least[classes, members]:
                    least[classes, members] = whole
                part = ((part - 1) & others) if part > 0 else NONE_YET
    return least


@compiled
def _best(loss: Floats, still: Floats, bits: Floats, goal: Goal, count: int) -> Ints:
    """Depth first: at each depth the class of the first record that has none yet."""
    width = bits.shape[1]
    rest, part = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    lost, lowest = np.zeros(count + 1), np.full((count + 1, width), np.inf)
    labels = np.zeros(count, dtype=np.int64)
    least = np.inf
    depth = 0
    rest[0] = len(loss) - 1
    part[0] = rest[0] & (rest[0] - 1)
    while depth >= 0:
        if part[depth] < 0:
            depth -= 1
            continue
        first = rest[depth] & -rest[depth]
        others = rest[depth] ^ first
        chosen = part[depth] | first
        part[depth] = ((part[depth] - 1) & others) if part[depth] > 0 else NONE_YET
        left = rest[depth] ^ chosen
        if depth + 1 >= len(still) or not loss[chosen] + still[depth + 1, left] < np.inf:
            continue
        entropy = 0.0  # a further class can only lower it
        for j in range(width):
            lowest[depth + 1, j] = min(lowest[depth, j], bits[chosen, j])
            entropy += lowest[depth + 1, j]
        lost[depth + 1] = lost[depth] + loss[chosen]
        reach = objective_value(goal, lost[depth + 1] + still[depth + 1, left], entropy)
        if reach >= least - 1e-12:
            continue
        rest[depth + 1] = left
        if left > 0:
            depth += 1
            part[depth] = left & (left - 1)
            continue
        least = reach
        for c in range(depth + 1):
            own = rest[c] ^ rest[c + 1]
            for u in range(count):
                if own >> u & 1:
                    labels[u] = c
    return labels
