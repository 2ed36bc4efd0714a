"""MDAV: maximum distance to average vector (Domingo-Ferrer and Torra), on whole tuples instead of rows.

While three groups' worth of records remain: take the record farthest from the centre of the rest with its k − 1
nearest, then the record farthest from that one with its k − 1 nearest. What remains becomes one or two classes.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from aegis.anonymizers.arrays import Floats, Ints
from aegis.anonymizers.centroids import CENTROIDS, Centroid, centers_of
from aegis.anonymizers.compiled import compiled
from aegis.anonymizers.estimator import Anonymizer
from aegis.anonymizers.feasibility import check_feasible, check_parameters
from aegis.anonymizers.information_loss import Scale, divisors, information_loss
from aegis.anonymizers.publication import Publication, publish
from aegis.anonymizers.records import Records, collapse
from aegis.anonymizers.result import Diagnosis, Listener
from aegis.errors import AnonymizerError

Metric = Literal["loss", "z-scored labels"]


class MDAV(Anonymizer):
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

    def _publication(self, records: Records, listener: Listener | None) -> Publication:
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
        labels = _mdav(np.ascontiguousarray(numbers), np.ascontiguousarray(codes), levels, order, start, self.k)
        loss = information_loss(records, centers_of(records, labels).rows(labels), scale=self.scale)
        return publish(
            records,
            labels,
            method="mdav",
            k=self.k,
            l=1,
            centroid=self.centroid,
            scale=self.scale,
            lower_bound=None,
            seconds=time.perf_counter() - began,
            diagnosis=Diagnosis(
                finished="done", rounds=int(labels.max()) + 1, start_loss=loss, best_loss=loss, stages=("mdav",)
            ),
        )


@compiled
def _away(numbers: Floats, codes: Ints, t: int, point: Floats, mode: Ints) -> float:
    total = 0.0
    for d in range(numbers.shape[1]):
        gap = numbers[t, d] - point[d]
        total += gap * gap
    for j in range(codes.shape[1]):
        if codes[t, j] != mode[j]:
            total += 1.0
    return total


@compiled
def _take(
    numbers: Floats,
    codes: Ints,
    order: Ints,
    start: Ints,
    used: Ints,
    live: Ints,
    lives: int,
    centre: int,
    k: int,
    away: Floats,
    labels: Ints,
    label: int,
) -> None:
    """Give ``label`` to the k unlabelled records nearest to tuple ``centre``; ties go to the earlier record."""
    for e in range(lives):
        away[e] = _away(numbers, codes, live[e], numbers[centre], codes[centre])
    left = k
    while left > 0:
        nearest = np.inf
        for e in range(lives):
            if used[live[e]] < start[live[e] + 1] - start[live[e]] and away[e] < nearest:
                nearest = away[e]
        # all tuples at this distance share what is left, earliest record first
        while left > 0:
            first, chosen = -1, -1
            for e in range(lives):
                t = live[e]
                if away[e] == nearest and used[t] < start[t + 1] - start[t]:
                    record = order[start[t] + used[t]]
                    if first < 0 or record < first:
                        first, chosen = record, t
            if chosen < 0:
                break
            labels[first] = label
            used[chosen] += 1
            left -= 1


@compiled
def _mdav(numbers: Floats, codes: Ints, levels: Ints, order: Ints, start: Ints, k: int) -> Ints:
    count = len(start) - 1
    labels = np.full(len(order), -1)
    used = np.zeros(count, dtype=np.int64)
    live = np.arange(count)
    lives = count
    away = np.empty(count)
    remaining = len(order)
    widest = 1
    for j in range(len(levels)):
        widest = max(widest, levels[j])
    label = 0
    mean = np.zeros(numbers.shape[1])
    mode = np.zeros(codes.shape[1], dtype=np.int64)
    while remaining >= 2 * k:
        mean[:] = 0.0
        counts = np.zeros((codes.shape[1], widest), dtype=np.int64)
        for e in range(lives):
            t = live[e]
            w = start[t + 1] - start[t] - used[t]
            for d in range(numbers.shape[1]):
                mean[d] += w * numbers[t, d]
            for j in range(codes.shape[1]):
                counts[j, codes[t, j]] += w
        mean /= remaining
        for j in range(codes.shape[1]):
            mode[j] = counts[j].argmax()
        for turn in range(2 if remaining >= 3 * k else 1):
            if turn == 0:
                far = _farthest(numbers, codes, order, start, used, live, lives, mean, mode)
                seed = far
            else:
                far = _farthest(numbers, codes, order, start, used, live, lives, numbers[seed], codes[seed])
            _take(numbers, codes, order, start, used, live, lives, far, k, away, labels, label)
            label += 1
            remaining -= k
            kept = 0
            for e in range(lives):
                t = live[e]
                if used[t] < start[t + 1] - start[t]:
                    live[kept] = t
                    kept += 1
            lives = kept
    if remaining > 0:
        for e in range(len(labels)):
            if labels[e] < 0:
                labels[e] = label
    return labels


@compiled
def _farthest(
    numbers: Floats,
    codes: Ints,
    order: Ints,
    start: Ints,
    used: Ints,
    live: Ints,
    lives: int,
    point: Floats,
    mode: Ints,
) -> int:
    """The tuple farthest from a point; among equals the one with the earliest unlabelled record."""
    best, chosen, earliest = -1.0, -1, -1
    for e in range(lives):
        t = live[e]
        away = _away(numbers, codes, t, point, mode)
        record = order[start[t] + used[t]]
        if away > best or (away == best and record < earliest):
            best, chosen, earliest = away, t, record
    return chosen
