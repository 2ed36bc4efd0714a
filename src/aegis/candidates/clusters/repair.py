"""Give every class its k records and l values by borrowing single units from classes that can spare them."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Ints
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


def repair(units: Units, state: State, *, k: int, l: int) -> Ints:  # noqa: E741 - l as in l-diversity
    """Borrow until all classes satisfy k and l, or nobody can spare; gives the classes that still do not."""
    unit = np.repeat(np.arange(len(units.weight)), np.diff(units.sensitive_start))
    order = np.argsort(units.sensitive_value, kind="stable")
    holders = unit[order].astype(np.int64)
    start = np.searchsorted(units.sensitive_value[order], np.arange(len(units.sensitive_attribute) + 1))
    _repair(units, state, holders, start.astype(np.int64), k, l)
    return np.array([c for c in range(len(state.size)) if not satisfies(state, c, k, l)], dtype=np.int64)


@compiled
def _repair(units: Units, state: State, holders: Ints, start: Ints, k: int, l: int) -> None:  # noqa: E741
    for c in range(len(state.size)):
        while state.size[c] > 0 and state.size[c] < k:
            if not _borrow(units, state, np.arange(len(state.label)), c, k, l):
                break
    for v in range(len(units.sensitive_attribute)):
        attribute = units.sensitive_attribute[v]
        for c in range(len(state.size)):
            if state.size[c] > 0 and state.distinct[c, attribute] < l and state.seen[c, v] == 0:
                _borrow(units, state, holders[start[v] : start[v + 1]], c, k, l)


@compiled
def _borrow(units: Units, state: State, candidates: Ints, c: int, k: int, l: int) -> bool:  # noqa: E741
    """Move the candidate into ``c`` that costs least and can be spared where it is."""
    best, chosen = np.inf, -1
    for u in candidates:
        if state.label[u] == c:
            continue
        cost = cost_of_adding(units, state, u, c)
        if cost < best:  # the cheap test first
            cost -= gain_of_removing(units, state, u)
            if cost < best and may_leave(units, state, u, k, l):
                best, chosen = cost, u
    if chosen < 0:
        return False
    remove(units, state, chosen)
    add(units, state, chosen, c)
    return True
