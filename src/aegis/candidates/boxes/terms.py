"""What the compiled loops of boxes read, and the room they work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.compiled import compiled


class Terms(NamedTuple):
    """What a cut is judged by, the same for all boxes. `BoxTuples` says what the arrays are, `Growth` the numbers."""

    blocks: Ints
    scales: Floats
    ordered: Ints
    missing: Ints
    domains: Ints
    ranks: Ints
    rank_starts: Ints
    by: Ints
    depths: Ints
    weight: float
    doubt: float
    least: int
    records: float
    """Of the whole table, once for every column."""


class Held(NamedTuple):
    """Distinct tuples: a line of codes per column, and of each tuple its records and what is known of its labels."""

    columns: Ints
    sizes: Ints
    labels: Floats
    settled: Floats
    """What is uncertain about the labels of each tuple, which no cut can tell."""


class Room(NamedTuple):
    """Where one box is worked on: sums by code, the codes in line, and what a cut after each gains.

    ``seen``, ``table`` and ``goes_left`` are all zero between two uses.
    """

    seen: Ints
    table: Floats
    codes: Ints
    places: Floats
    gains: Floats
    left: Ints
    goes_left: Ints


@compiled
def room_for(terms: Terms, held: Held) -> Room:
    """Room for the column with most codes."""
    widest = 1
    for column in range(len(terms.domains)):
        widest = max(widest, terms.domains[column])
    return Room(
        np.zeros(widest, dtype=np.int64),
        np.zeros((widest, held.labels.shape[1])),
        np.empty(widest, dtype=np.int64),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest, dtype=np.int64),
        np.zeros(widest, dtype=np.int64),
    )


@compiled
def moved(held: Held, order: Ints) -> Held:
    """The tuples of ``order`` side by side: what is read together lies together."""
    columns = np.empty((len(held.columns), len(order)), dtype=np.int64)
    sizes = np.empty(len(order), dtype=np.int64)
    labels = np.empty((len(order), held.labels.shape[1]))
    settled = np.empty(len(order))
    for column in range(len(columns)):
        for at in range(len(order)):
            columns[column, at] = held.columns[column, order[at]]
    for at in range(len(order)):
        sizes[at] = held.sizes[order[at]]
        labels[at] = held.labels[order[at]]
        settled[at] = held.settled[order[at]]
    return Held(columns, sizes, labels, settled)
