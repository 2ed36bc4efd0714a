"""MDAV: maximum distance to average vector (Domingo-Ferrer and Torra), on whole tuples instead of rows.

While three groups' worth of records remain: take the record farthest from the centre of the rest with its k − 1
nearest, then the record farthest from that one with its k − 1 nearest. What remains becomes one or two classes.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.anonymizer import (
    Microaggregation,
    Publication,
    check_feasible,
    check_parameters,
)
from aegis.candidates.clusters.information_loss import CENTROIDS, Centroid, Scale, divisors
from aegis.candidates.clusters.records import Records, collapse
from aegis.compiled import NONE_YET, ZERO, compiled
from aegis.errors import AnonymizerError
from aegis.progress import Progress

Metric = Literal["loss", "z-scored labels"]


class MDAV(Microaggregation):
    """Classes of k to 2k − 1 records by MDAV.

    ``metric="loss"`` measures distance as the information loss does, on the given scale. ``"z-scored labels"`` numbers
    the categories alphabetically and z-scores every column, as in the MO-OBAM paper's comparison: it is offered to
    reproduce those rows, not because distances between label numbers mean anything.

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0])
    >>> MDAV(k=2).fit(records).labels_.tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, *, k: int, metric: Metric = "loss", scale: Scale = "raw", centroid: Centroid = "mean") -> None:
        check_parameters(k=k, l=1)
        if metric not in ("loss", "z-scored labels") or centroid not in CENTROIDS:
            raise AnonymizerError(
                "MDAV knows the metrics 'loss' and 'z-scored labels' and the centroids of centroids.py"
            )
        self.k = k
        self.metric = metric
        self.scale = scale
        self.centroid = centroid

    def _publication(self, records: Records, progress: Progress | None) -> Publication:
        began = time.perf_counter()
        tuples = collapse(records)
        check_feasible(records, tuples, k=self.k, l=1, classes=None)
        numbers, codes = tuples.numeric / divisors(records, scale=self.scale), tuples.categorical
        if self.metric == "z-scored labels":
            labelled = np.column_stack([records.numeric, records.categorical.astype(np.float64)])
            spread = np.where(labelled.std(axis=0) > 0, labelled.std(axis=0), 1.0)
            first = np.unique(tuples.tuple_of, return_index=True)[1]
            numbers = ((labelled - labelled.mean(axis=0)) / spread)[first]
            codes = np.empty((len(tuples), 0), dtype=np.int64)
        order = np.argsort(tuples.tuple_of, kind="stable").astype(np.int64)
        start = np.concatenate([[0], np.cumsum(tuples.weight)]).astype(np.int64)
        levels = np.array([int(column.max()) + 1 for column in codes.T], dtype=np.int64)
        labels = _mdav(numbers.T.copy(), codes.T.copy(), levels, order, start, self.k)
        return self._published(records, labels, method="mdav", k=self.k, began=began)


@compiled
def _distances(points: Floats, codes: Ints, lives: int, point: Floats, mode: Ints, away: Floats) -> None:
    """How far each live tuple is from a point; attribute by attribute, so that the machine can do several at once."""
    away[:lives] = 0.0
    for d in range(len(points)):
        for e in range(lives):
            gap = points[d, e] - point[d]
            away[e] += gap * gap
    for j in range(len(codes)):
        for e in range(lives):
            if codes[j, e] != mode[j]:
                away[e] += 1.0


@compiled
def _farthest(order: Ints, next_record: Ints, left: Ints, lives: int, away: Floats) -> int:
    """The place of the live tuple farthest away; among equals the one with the earliest unlabelled record."""
    best, chosen, earliest = -1.0, NONE_YET, NONE_YET
    for e in range(lives):
        if away[e] >= best and left[e] > 0:
            record = order[next_record[e]]
            if away[e] > best or record < earliest:
                best, chosen, earliest = away[e], e, record
    return chosen


@compiled
def _take(
    order: Ints, next_record: Ints, left: Ints, lives: int, away: Floats, k: int, labels: Ints, label: int
) -> None:
    """Give ``label`` to the k nearest unlabelled records; ties go to the earlier record.

    One pass: the k nearest so far stand in a short sorted list, and hardly any tuple gets into it.
    """
    nearest = np.empty(k)
    record = np.empty(k, dtype=np.int64)
    home = np.empty(k, dtype=np.int64)
    held = 0
    for e in range(lives):
        if held == k and away[e] > nearest[k - 1]:
            continue
        for r in range(next_record[e], next_record[e] + left[e]):  # a tuple's records come in the table's order
            if held == k and (away[e] > nearest[k - 1] or (away[e] == nearest[k - 1] and order[r] > record[k - 1])):
                break
            at = held if held < k else k - 1
            while at > 0 and (away[e] < nearest[at - 1] or (away[e] == nearest[at - 1] and order[r] < record[at - 1])):
                nearest[at], record[at], home[at] = nearest[at - 1], record[at - 1], home[at - 1]
                at -= 1
            nearest[at], record[at], home[at] = away[e], order[r], e
            held = min(held + 1, k)
    for at in range(held):
        labels[record[at]] = label
        next_record[home[at]] += 1
        left[home[at]] -= 1


@compiled
def _mdav(points: Floats, codes: Ints, levels: Ints, order: Ints, start: Ints, k: int) -> Ints:
    """Labels per record. ``points`` and ``codes`` have a row per attribute and a column per tuple; both are used up."""
    lives = len(start) - 1
    labels = np.full(len(order), -1)
    next_record = start[:-1].copy()
    left = start[1:] - start[:-1]
    away = np.empty(lives)
    remaining = len(order)
    widest = 1
    for j in range(len(levels)):
        widest = max(widest, levels[j])
    label = ZERO
    mean = np.zeros(len(points))
    mode = np.zeros(len(codes), dtype=np.int64)
    while remaining >= 2 * k:
        mean[:] = 0.0
        counts = np.zeros((len(codes), widest), dtype=np.int64)
        for e in range(lives):
            for d in range(len(points)):
                mean[d] += left[e] * points[d, e]
            for j in range(len(codes)):
                counts[j, codes[j, e]] += left[e]
        mean /= remaining
        for j in range(len(codes)):
            mode[j] = counts[j].argmax()
        _distances(points, codes, lives, mean, mode, away)
        for turn in range(2 if remaining >= 3 * k else 1):  # noqa: B007 - numba needs a name
            far = _farthest(order, next_record, left, lives, away)
            _distances(points, codes, lives, points[:, far].copy(), codes[:, far].copy(), away)
            _take(order, next_record, left, lives, away, k, labels, label)
            label += 1
            remaining -= k
        empty = 0
        for e in range(lives):
            empty += left[e] == 0
        if empty * 16 > lives:  # close the gaps now and then, not after every class
            lives = _close_gaps(points, codes, next_record, left, lives)
    if remaining > 0:
        for r in range(len(labels)):
            if labels[r] < 0:
                labels[r] = label
    return labels


@compiled
def _close_gaps(points: Floats, codes: Ints, next_record: Ints, left: Ints, lives: int) -> int:
    """Move the tuples that still have records together, in their order; gives how many they are."""
    placed = 0
    for e in range(lives):
        if left[e] > 0:
            points[:, placed] = points[:, e]
            codes[:, placed] = codes[:, e]
            next_record[placed] = next_record[e]
            left[placed] = left[e]
            placed += 1
    return placed
