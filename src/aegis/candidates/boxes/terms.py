"""How boxes are grown: what a cut has to gain, how far it looks, where it stops, and what compiled loops read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.compiled import compiled
from aegis.errors import AnonymizerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How boxes are grown.

    ``label_weight`` is how much the label counts against the width of intervals and sets, 0 to 1. With
    ``expected_labels`` a cut is judged by what learners, trained on other records of the table, expect of the label,
    where at least 100 records have one; otherwise by the labels of the box's own records. ``doubt_nats`` is
    what a cut must tell about those before that counts at all: the best of many cuts tells something by chance, and
    boxes that follow chance teach models nothing. Where no cut tells more, width decides. ``least_records`` is
    the size below which no box is cut off; the policy's own k unless given. A smaller one than k makes boxes that the
    policy suppresses, which helps where it allows that. ``most_cuts`` limits the cuts on the way to a box. With
    ``look_ahead`` of 2 or more, the best cuts of so many columns are compared by what they gain together with the best
    cut of each of their parts: where attributes decide together, no first cut tells anything alone. Boxes whose
    cuts may tell less than a nat about the label are cut without that. With ``joins`` the records are cut into parts of
    five, and those that tell the same of the expected labels are published together as one box, wherever that
    tells more than boxes that are cut alone.
    """

    label_weight: float = 0.99
    doubt_nats: float = 6.0
    least_records: int | None = None
    most_cuts: int | None = None
    look_ahead: int = 3
    expected_labels: bool = True
    joins: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.label_weight <= 1.0:
            raise AnonymizerError("the weight of the label lies between 0 and 1")
        if self.doubt_nats < 0.0 or (self.least_records or 1) < 1 or (self.most_cuts or 0) < 0 or self.look_ahead < 0:
            raise AnonymizerError("doubt, records and cuts of boxes cannot be negative; a box has at least one record")


GREEDY = Growth(label_weight=1.0, doubt_nats=0.0, look_ahead=0, expected_labels=False, joins=False)
"""Cut wherever the label gains anything, as LeFevre, DeWitt and Ramakrishnan do."""


class Terms(NamedTuple):
    """What a cut is judged by, the same for all boxes; `gains` says how. `Growth` has the numbers."""

    blocks: Ints
    scales: Floats
    ordered: Ints
    missing: Ints
    domains: Ints
    ranks: Ints
    rank_starts: Ints
    by: Ints
    depths: Ints  # for each rank how far down a hierarchy it and the next one part
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
