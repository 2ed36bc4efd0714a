"""Which tuples lie near which, so that a search tries moves that can pay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.records import Tuples


class Neighbours(NamedTuple):
    """The nearest tuples of every tuple, itself first, and the units of every tuple."""

    near: Ints  # (tuples, neighbours)
    tuple_of: Ints  # (units,)
    unit_start: Ints  # (tuples + 1,)
    unit: Ints  # units sorted by tuple


def embed(tuples: Tuples, divisor: Floats) -> Floats:
    """Points whose squared distance is the sum of squared differences and of 0/1 for categories."""
    parts = [tuples.numeric / divisor]
    parts += [np.eye(int(codes.max()) + 1)[codes] / np.sqrt(2.0) for codes in tuples.categorical.T]
    return np.ascontiguousarray(np.hstack(parts))


def neighbours_of(tuples: Tuples, divisor: Floats, *, count: int, whole_tuples: bool) -> Neighbours:
    """Find the ``count`` nearest tuples of each, by the metric the loss uses."""
    points = embed(tuples, divisor)
    near = np.asarray(cKDTree(points).query(points, k=min(count, len(tuples)), workers=-1)[1], dtype=np.int64)
    tuple_of = np.arange(len(tuples), dtype=np.int64) if whole_tuples else tuples.tuple_of
    return Neighbours(
        near=near.reshape(len(tuples), -1),
        tuple_of=tuple_of,
        unit_start=np.searchsorted(np.sort(tuple_of), np.arange(len(tuples) + 1)).astype(np.int64),
        unit=np.argsort(tuple_of, kind="stable").astype(np.int64),
    )
