"""How well a model would predict the label from a released table, from its class table alone.

Records with the same released tuple and label are alike, so a fold of a cross-validation is a share of every count: a
logistic regression on the distinct tuples, weighted by counts, is the one that rows would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.errors import MissingExtraError


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleAccuracy:
    """Mean accuracy over repeated cross-validations, with a 95 % interval of the mean over records."""

    accuracy: float
    interval: tuple[float, float]
    folds: int
    repeats: int


def tuple_accuracy(table: ClassTable, *, label: str, folds: int = 5, repeats: int = 3, seed: int = 0) -> TupleAccuracy:
    """Cross-validated accuracy of one-hot logistic regression on the tuples of ``table``, the starred one included."""
    try:
        from scipy.sparse import csr_array
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError(feature="training a model", extra="evaluate") from None
    counts = table.contents[label].dense()
    known = counts.sum(axis=0) > 0
    counts = counts[:, known]
    features = csr_array(_one_hot(table))
    cells = np.argwhere(counts > 0)
    records = counts[cells[:, 0], cells[:, 1]]
    rng = np.random.default_rng(seed)
    hits = []
    for _ in range(repeats):
        held = rng.multinomial(records, np.full(folds, 1.0 / folds))
        right = 0
        for fold in range(folds):
            weights = records - held[:, fold]
            used = weights > 0
            model: Any = LogisticRegression(max_iter=200)
            if len(np.unique(cells[used, 1])) < 2:
                guessed = np.full(table.classes, cells[used, 1][0])
            else:
                model.fit(features[cells[used, 0]], cells[used, 1], sample_weight=weights[used])
                guessed = model.predict(features)
            right += int(held[guessed[cells[:, 0]] == cells[:, 1], fold].sum())
        hits.append(right / records.sum())
    mean = float(np.mean(hits))
    half = 1.96 * float(np.sqrt(mean * (1 - mean) / records.sum()))
    return TupleAccuracy(accuracy=mean, interval=(mean - half, mean + half), folds=folds, repeats=repeats)


def _one_hot(table: ClassTable) -> NDArray[np.float64]:
    """A column per released value that occurs, the star of suppressed records included."""
    parts = []
    for codes in table.codes.T:
        _, value = np.unique(codes, return_inverse=True)
        hot = np.zeros((len(codes), int(value.max()) + 1))
        hot[np.arange(len(codes)), value] = 1.0
        parts.append(hot)
    return np.hstack(parts)
