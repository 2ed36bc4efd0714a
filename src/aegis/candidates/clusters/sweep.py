"""Hartigan sweeps: every unit looks at the classes near its own and moves where the loss falls by most, exactly."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.compiled import compiled
from aegis.candidates.clusters.units import State, Units, add, cost_of_adding, gain_of_removing, may_leave, remove

NEAR_CLASSES = 14


def sweep(units: Units, state: State, *, k: int, l: int, most: int = 10) -> int:  # noqa: E741 - l as in l-diversity
    """Sweep until few units move; gives the number of moves. Classes keep k and l, and none disappears."""
    moves = 0
    for _ in range(most):
        moved = int(_sweep(units, state, _near_classes(units, state), k, l))
        moves += moved
        if moved * 200 < len(units.weight):
            break
    return moves


def _near_classes(units: Units, state: State) -> Ints:
    """For each class the nearest classes, by mean and mode."""
    used = np.flatnonzero(state.size)
    parts = [state.sums[used] / state.size[used, None]]
    for j in range(units.codes.shape[1]):
        low, high = int(units.code_start[j]), int(units.code_start[j + 1])
        parts.append(np.eye(high - low)[state.counts[used, low:high].argmax(axis=1)] / np.sqrt(2.0))
    points = np.hstack(parts)
    near = cKDTree(points).query(points, k=min(NEAR_CLASSES, len(used)), workers=-1)[1]
    table = np.full((len(state.size), NEAR_CLASSES), -1, dtype=np.int64)
    table[used, : min(NEAR_CLASSES, len(used))] = used[np.asarray(near).reshape(len(used), -1)]
    return table


@compiled
def _sweep(units: Units, state: State, near: Ints, k: int, l: int) -> int:  # noqa: E741
    moved = 0
    for u in range(len(state.label)):
        a = state.label[u]
        gain = gain_of_removing(units, state, u)
        if gain <= 1e-9 or not may_leave(units, state, u, k, l):
            continue
        best, b = gain - 1e-9, -1
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
