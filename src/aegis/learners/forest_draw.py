"""Which rows each tree of the forest grows on, and the random numbers of its compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled


def draw_rows(drawn_at: Any, states_at: Any, rows: int, trees: int, drawn: int, seed: int) -> None:
    """Draw the rows that each tree grows on, and leave the random state that it begins with."""
    draw(at(drawn_at, (trees, rows)), at(states_at, (trees,)), drawn, seed)


@compiled
def draw(order_of: NDArray[np.uint32], states: NDArray[np.int64], drawn: int, seed: int) -> None:
    """The first ``drawn`` of each line are the rows of a tree."""
    trees, rows = order_of.shape
    for tree in range(trees):
        order = order_of[tree]
        state = mixed(np.uint64(seed) * np.uint64(1_000_003) + np.uint64(tree))
        for i in range(rows):
            order[i] = i
        for i in range(drawn):
            state = mixed(state)
            swap = i + below(state, rows - i)
            row = order[swap]
            order[swap] = order[i]
            order[i] = row
        states[tree] = np.int64(mixed(state))


@compiled
def mixed(state: Any) -> Any:
    """The next state of a generator that needs no other memory than its last number (splitmix64)."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    word = state
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def below(state: Any, limit: Any) -> Any:
    """A number from 0 up to ``limit`` that a state stands for."""
    return np.int64((state >> np.uint64(11)) % np.uint64(limit))
