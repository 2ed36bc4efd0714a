"""l-diverse k-member clustering, in the spirit of Zheng, Ma, Wang, Jia and Li: grow one class at a time, greedily.

Start far from the class before, take in whatever raises the loss least until k records are there, then only what
brings a missing sensitive value until there are l; what remains at the end goes where it costs least.
"""

from __future__ import annotations

import time

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.anonymizer import (
    Microaggregation,
    Publication,
    check_feasible,
    check_parameters,
)
from aegis.candidates.clusters.information_loss import CENTROIDS, Centroid, Scale
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import (
    State,
    Units,
    add,
    adds_value,
    cost_of_adding,
    distance,
    empty_state,
    remove,
    satisfies,
    units_of,
)
from aegis.compiled import NONE_YET, ZERO, compiled
from aegis.errors import AnonymizerError
from aegis.progress import Progress


class KMember(Microaggregation):
    """Greedy classes of at least k records and l values of every sensitive attribute.

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0], sensitive=["a", "b", "a", "b"])
    >>> KMember(k=2, l=2).fit(records).labels_.tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self, *, k: int, l: int = 1, scale: Scale = "raw", centroid: Centroid = "mean", random_state: int = 0
    ) -> None:
        check_parameters(k=k, l=l)
        if centroid not in CENTROIDS:
            raise AnonymizerError("the centroid is 'mean', 'rounded' or 'medoid'")
        self.k = k
        self.l = l
        self.scale = scale
        self.centroid = centroid
        self.random_state = random_state

    def _publication(self, records: Records, progress: Progress | None) -> Publication:
        began = time.perf_counter()
        tuples = collapse(records)
        check_feasible(records, tuples, k=self.k, l=self.l, classes=None)
        units = units_of(records, tuples, scale=self.scale, whole_tuples=False)
        state = empty_state(units, capacity=len(records) // self.k + 1)
        # records that agree in everything are interchangeable: only the first of each kind is looked at
        kinds = np.unique(np.column_stack([tuples.tuple_of, records.sensitive]), axis=0, return_inverse=True)[1]
        kind_of = kinds.reshape(-1).astype(np.int64)
        order = np.argsort(kind_of, kind="stable").astype(np.int64)
        start = np.searchsorted(kind_of[order], np.arange(int(kind_of.max()) + 2)).astype(np.int64)
        # kinds are sorted by tuple, so a tuple's kinds stand together
        tuple_of_kind = tuples.tuple_of[order[start[:-1]]]
        kind_start = np.searchsorted(tuple_of_kind, np.arange(len(tuples) + 1)).astype(np.int64)
        seed = int(np.random.default_rng(self.random_state).integers(len(start) - 1))
        _grow(units, state, order, start, kind_start, seed, self.k, self.l)
        labels = np.unique(state.label, return_inverse=True)[1].astype(np.int64)
        return self._published(records, labels, method="k-member", k=self.k, l=self.l, began=began)


@compiled
def _first_kind(start: Ints, kind_start: Ints, used: Ints, t: int) -> int:
    """The first kind of a tuple that still has a record."""
    kind = kind_start[t]
    while used[kind] == start[kind + 1] - start[kind]:
        kind += 1
    return kind


@compiled
def _new_value(
    units: Units,
    state: State,
    order: Ints,
    start: Ints,
    kind_start: Ints,
    used: Ints,
    live: Ints,
    lives: int,
    c: int,
    l: int,
) -> int:
    """The kind that costs class ``c`` least among those that bring a value it lacks; -1 if none does."""
    best, chosen = np.inf, NONE_YET
    for e in range(lives):
        for kind in range(kind_start[live[e]], kind_start[live[e] + 1]):
            if used[kind] == start[kind + 1] - start[kind]:
                continue
            candidate = order[start[kind] + used[kind]]
            if adds_value(units, state, candidate, c, l):
                cost = cost_of_adding(units, state, candidate, c)
                if cost < best:
                    best, chosen = cost, kind
    return chosen


@compiled
def _grow(units: Units, state: State, order: Ints, start: Ints, kind_start: Ints, seed: int, k: int, l: int) -> None:
    used = np.zeros(len(start) - 1, dtype=np.int64)
    live = np.arange(len(kind_start) - 1)  # tuples: until a class is full only they matter, not their secrets
    lives = len(live)
    left = start[kind_start[1:]] - start[kind_start[:-1]]
    remaining = len(order)
    last = order[start[seed]]
    c = ZERO
    while remaining >= k and c < len(state.size):
        far, chosen = -1.0, NONE_YET
        for e in range(lives):
            away = distance(units, order[start[kind_start[live[e]]]], last)
            if away > far:
                far, chosen = away, live[e]
        kind = _first_kind(start, kind_start, used, chosen)
        last = order[start[kind] + used[kind]]
        add(units, state, last, c)
        used[kind] += 1
        left[chosen] -= 1
        remaining -= 1
        while not satisfies(state, c, k, l):
            if state.size[c] >= k:
                kind = _new_value(units, state, order, start, kind_start, used, live, lives, c, l)
                if kind < 0:
                    break
                chosen = int(np.searchsorted(kind_start, kind, side="right")) - 1
            else:
                best, chosen = np.inf, NONE_YET
                for e in range(lives):
                    t = live[e]
                    if left[t] > 0:
                        cost = cost_of_adding(units, state, order[start[kind_start[t]]], c)
                        if cost < best:
                            best, chosen = cost, t
                if chosen < 0:
                    break
                kind = _first_kind(start, kind_start, used, chosen)
            add(units, state, order[start[kind] + used[kind]], c)
            used[kind] += 1
            left[chosen] -= 1
            remaining -= 1
        placed = 0
        for e in range(lives):
            if left[live[e]] > 0:
                live[placed] = live[e]
                placed += 1
        lives = placed
        if not satisfies(state, c, k, l):
            break
        c += 1
    # the last class may have stayed short: with the other leftovers it joins the finished ones
    if c < len(state.size) and state.size[c] > 0 and not satisfies(state, c, k, l) and c > 0:
        while state.head[c] >= 0:
            remove(units, state, state.head[c])
    finished = max(c, 1)
    for e in range(len(order)):
        u = order[e]
        if state.label[u] >= 0:
            continue
        best, chosen = np.inf, ZERO
        for other in range(finished):
            cost = cost_of_adding(units, state, u, other)
            if cost < best:
                best, chosen = cost, other
        add(units, state, u, chosen)
