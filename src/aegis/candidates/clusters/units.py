"""What the optimiser moves: units (whole unique tuples, or single records) and the state of the classes they are in.

A warm search leaves the best partition that it has met again, and a copy at every step costs too much: `BestMet`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.information_loss import Scale, divisors
from aegis.candidates.clusters.records import Records, Tuples
from aegis.compiled import compiled


class Units(NamedTuple):
    """Weighted points with categories and sensitive counts, as plain arrays that compiled loops can read."""

    numbers: Floats  # (units, numeric attributes), centred
    codes: Ints  # (units, categorical attributes), index of the value among the values of all attributes
    weight: Ints  # (units,)
    code_start: Ints  # (categorical attributes + 1,), where an attribute's values begin
    sensitive_start: Ints  # (units + 1,), where a unit's sensitive entries begin
    sensitive_value: Ints  # index of the value among the values of all sensitive attributes
    sensitive_count: Ints
    sensitive_attribute: Ints  # (sensitive values,), the attribute of each value
    sensitive_attributes: int

    def __repr__(self) -> str:  # no cell value in a repr
        return f"Units({len(self.weight)})"


class State(NamedTuple):
    """Everything about the classes that a move needs to know its exact effect."""

    size: Ints
    sums: Floats
    squares: Floats
    counts: Ints
    top: Ints
    seen: Ints
    distinct: Ints
    label: Ints
    head: Ints  # first member of a class, -1 if empty: members form a linked list
    after: Ints
    before: Ints

    def __repr__(self) -> str:
        return f"State({len(self.size)} classes)"


def units_of(records: Records, tuples: Tuples, *, scale: Scale, whole_tuples: bool) -> Units:
    """Units for the optimiser: one per unique tuple, or one per record."""
    divisor = divisors(records, scale=scale)
    centre = records.numeric.mean(axis=0)
    numeric, categorical = (
        (tuples.numeric, tuples.categorical) if whole_tuples else (records.numeric, records.categorical)
    )
    levels = [int(column.max()) + 1 for column in records.categorical.T]
    code_start = np.concatenate([[0], np.cumsum(levels, dtype=np.int64)]).astype(np.int64)
    hidden_levels = [int(column.max()) + 1 for column in records.sensitive.T]
    hidden_start = np.concatenate([[0], np.cumsum(hidden_levels, dtype=np.int64)]).astype(np.int64)
    unit_of = tuples.tuple_of if whole_tuples else np.arange(len(records), dtype=np.int64)
    count = len(numeric)
    flat = (unit_of[:, None] * hidden_start[-1] + records.sensitive + hidden_start[:-1]).ravel()
    present, times = np.unique(flat, return_counts=True)  # sorted by unit, then attribute, then value
    owner = present // max(int(hidden_start[-1]), 1)
    return Units(
        numbers=np.ascontiguousarray((numeric - centre) / divisor),
        codes=np.ascontiguousarray(categorical + code_start[:-1]),
        weight=tuples.weight if whole_tuples else np.ones(count, dtype=np.int64),
        code_start=code_start,
        sensitive_start=np.searchsorted(owner, np.arange(count + 1)).astype(np.int64),
        sensitive_value=(present % max(int(hidden_start[-1]), 1)).astype(np.int64),
        sensitive_count=times.astype(np.int64),
        sensitive_attribute=np.repeat(np.arange(len(hidden_levels)), hidden_levels).astype(np.int64),
        sensitive_attributes=len(hidden_levels),
    )


def empty_state(units: Units, *, capacity: int) -> State:
    """A state with room for ``capacity`` classes and no unit placed."""
    count, dimensions = units.numbers.shape
    return State(
        size=np.zeros(capacity, dtype=np.int64),
        sums=np.zeros((capacity, dimensions)),
        squares=np.zeros(capacity),
        counts=np.zeros((capacity, int(units.code_start[-1])), dtype=np.int64),
        top=np.zeros((capacity, units.codes.shape[1]), dtype=np.int64),
        seen=np.zeros((capacity, len(units.sensitive_attribute)), dtype=np.int64),
        distinct=np.zeros((capacity, units.sensitive_attributes), dtype=np.int64),
        label=np.full(count, -1, dtype=np.int64),
        head=np.full(capacity, -1, dtype=np.int64),
        after=np.full(count, -1, dtype=np.int64),
        before=np.full(count, -1, dtype=np.int64),
    )


def place(units: Units, labels: Ints, *, capacity: int) -> State:
    """The state in which every unit is in the class that ``labels`` names."""
    state = empty_state(units, capacity=capacity)
    _place_all(units, state, labels)
    return state


@compiled
def _place_all(units: Units, state: State, labels: Ints) -> None:
    for u in range(len(labels)):
        add(units, state, u, labels[u])


@compiled
def add(units: Units, state: State, u: int, c: int) -> None:
    """Put unit ``u`` into class ``c``."""
    w = units.weight[u]
    state.size[c] += w
    for d in range(units.numbers.shape[1]):
        x = units.numbers[u, d]
        state.sums[c, d] += w * x
        state.squares[c] += w * x * x
    for j in range(units.codes.shape[1]):
        v = units.codes[u, j]
        state.counts[c, v] += w
        if state.counts[c, v] > state.top[c, j]:
            state.top[c, j] = state.counts[c, v]
    for e in range(units.sensitive_start[u], units.sensitive_start[u + 1]):
        v = units.sensitive_value[e]
        if state.seen[c, v] == 0:
            state.distinct[c, units.sensitive_attribute[v]] += 1
        state.seen[c, v] += units.sensitive_count[e]
    state.label[u] = c
    first = state.head[c]
    state.after[u] = first
    state.before[u] = -1
    if first >= 0:
        state.before[first] = u
    state.head[c] = u


@compiled
def remove(units: Units, state: State, u: int) -> None:
    """Take unit ``u`` out of its class."""
    c = state.label[u]
    w = units.weight[u]
    state.size[c] -= w
    for d in range(units.numbers.shape[1]):
        x = units.numbers[u, d]
        state.sums[c, d] -= w * x
        state.squares[c] -= w * x * x
    for j in range(units.codes.shape[1]):
        v = units.codes[u, j]
        was = state.counts[c, v]
        state.counts[c, v] = was - w
        if was == state.top[c, j]:
            best = 0
            for other in range(units.code_start[j], units.code_start[j + 1]):
                if state.counts[c, other] > best:
                    best = state.counts[c, other]
            state.top[c, j] = best
    for e in range(units.sensitive_start[u], units.sensitive_start[u + 1]):
        v = units.sensitive_value[e]
        state.seen[c, v] -= units.sensitive_count[e]
        if state.seen[c, v] == 0:
            state.distinct[c, units.sensitive_attribute[v]] -= 1
    left, right = state.before[u], state.after[u]
    if left >= 0:
        state.after[left] = right
    else:
        state.head[c] = right
    if right >= 0:
        state.before[right] = left
    state.label[u] = -1


@compiled
def cost_of_adding(units: Units, state: State, u: int, c: int) -> float:
    """By how much class ``c`` loses more once ``u`` is in it: exact."""
    size = state.size[c]
    if size == 0:
        return 0.0
    w = units.weight[u]
    cost = 0.0
    for d in range(units.numbers.shape[1]):
        gap = units.numbers[u, d] - state.sums[c, d] / size
        cost += gap * gap
    cost *= w * size / (size + w)
    for j in range(units.codes.shape[1]):
        cost += w
        over = state.counts[c, units.codes[u, j]] + w - state.top[c, j]
        if over > 0:
            cost -= over
    return cost


@compiled
def gain_of_removing(units: Units, state: State, u: int) -> float:
    """By how much the class of ``u`` loses less once ``u`` has left it: exact."""
    c = state.label[u]
    size = state.size[c]
    w = units.weight[u]
    if size == w:
        return 0.0
    gain = 0.0
    for d in range(units.numbers.shape[1]):
        gap = units.numbers[u, d] - state.sums[c, d] / size
        gain += gap * gap
    gain *= w * size / (size - w)
    for j in range(units.codes.shape[1]):
        gain += w
        v = units.codes[u, j]
        if state.counts[c, v] == state.top[c, j]:
            best = state.counts[c, v] - w
            for other in range(units.code_start[j], units.code_start[j + 1]):
                if other != v and state.counts[c, other] > best:
                    best = state.counts[c, other]
            gain -= state.top[c, j] - best
    return gain


@compiled
def loss_of_class(state: State, c: int) -> float:
    """The deviation inside class ``c``."""
    size = state.size[c]
    if size == 0:
        return 0.0
    loss = state.squares[c]
    for d in range(state.sums.shape[1]):
        loss -= state.sums[c, d] * state.sums[c, d] / size
    if loss < 0.0:
        loss = 0.0
    for j in range(state.top.shape[1]):
        loss += size - state.top[c, j]
    return loss


@compiled
def total_loss(state: State) -> float:
    """The deviation of the whole partition."""
    total = 0.0
    for c in range(len(state.size)):
        total += loss_of_class(state, c)
    return total


@compiled
def may_release(units: Units, state: State, u: int, k: int, l: int) -> bool:
    """Whether a class that satisfies k and l still does without ``u``; what it lacked before is not held against it."""
    c = state.label[u]
    if state.size[c] - units.weight[u] < k:
        return False
    vanished = 0
    attribute = -1
    for e in range(units.sensitive_start[u], units.sensitive_start[u + 1]):
        v = units.sensitive_value[e]
        if units.sensitive_attribute[v] != attribute:
            attribute = units.sensitive_attribute[v]
            vanished = 0
        if state.seen[c, v] == units.sensitive_count[e]:
            vanished += 1
            if state.distinct[c, attribute] - vanished < l:
                return False
    return True


@compiled
def satisfies(state: State, c: int, k: int, l: int) -> bool:
    """Whether class ``c`` is empty, or has k records and l values of each sensitive attribute."""
    if state.size[c] == 0:
        return True
    if state.size[c] < k:
        return False
    for j in range(state.distinct.shape[1]):  # noqa: SIM110 - numba compiles no generator here
        if state.distinct[c, j] < l:
            return False
    return True


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
def adds_value(units: Units, state: State, u: int, c: int, l: int) -> bool:
    """Whether ``u`` brings a sensitive value that class ``c`` lacks and needs."""
    for e in range(units.sensitive_start[u], units.sensitive_start[u + 1]):
        v = units.sensitive_value[e]
        if state.seen[c, v] == 0 and state.distinct[c, units.sensitive_attribute[v]] < l:
            return True
    return False


class BestMet(NamedTuple):
    """Labels that follow those of a state only when told to, at the cost of what was moved since."""

    labels: Ints
    moved: Ints  # units whose class may differ by now
    is_moved: Ints  # 1 for each of them
    number: Ints  # (1,), of them

    def __repr__(self) -> str:
        return f"BestMet({len(self.labels)})"


@compiled
def best_met(state: State) -> BestMet:
    """The partition as it is."""
    count = len(state.label)
    return BestMet(
        state.label.copy(),
        np.empty(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@compiled
def note(met: BestMet, units: Ints) -> None:
    """Some units were moved."""
    for u in units:
        if met.is_moved[u] == 0:
            met.is_moved[u] = 1
            met.moved[met.number[0]] = u
            met.number[0] += 1


@compiled
def take(met: BestMet, state: State) -> None:
    """The partition is the best by now."""
    for u in met.moved[: met.number[0]]:
        met.labels[u] = state.label[u]
        met.is_moved[u] = 0
    met.number[0] = 0
