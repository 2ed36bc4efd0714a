"""Least-squares concept erasure in closed form: the smallest change of columns after which no line tells a concept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def erased(features: Floats, concept: Floats, *, fitted: slice) -> Floats:
    """``features`` without what is linear in ``concept`` (one column a value, or the number), fitted on some rows.

    Whitened features are projected away from the directions in which they go with the concept, and unwhitened again.
    """
    middle = features[fitted].mean(axis=0)
    centred = features[fitted] - middle
    told = concept[fitted] - concept[fitted].mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    kept = values > 1e-9 * values.max()
    values, vectors = values[kept], vectors[:, kept]
    whiten = (vectors / np.sqrt(values)) @ vectors.T
    unwhiten = (vectors * np.sqrt(values)) @ vectors.T
    directions, sizes, _ = np.linalg.svd(whiten @ (centred.T @ told / len(centred)), full_matrices=False)
    directions = directions[:, sizes > 1e-9 * max(float(sizes.max()), 1e-300)]
    removed = (features - middle) @ (unwhiten @ directions @ directions.T @ whiten).T
    return np.asarray(features - removed)
