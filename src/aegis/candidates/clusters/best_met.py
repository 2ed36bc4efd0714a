"""The best partition that a search has met: a warm search leaves it again, and a copy at every step costs too much."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.units import State
from aegis.compiled import compiled


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
