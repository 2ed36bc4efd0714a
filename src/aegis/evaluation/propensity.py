"""Propensity matching: for every record of a rare label the most alike records of the others, and nobody else.

It makes a rare label common enough to be learnt. What was matched on no longer tells the labels apart, so a model
cannot lose by its anonymization: weights are the fairer way, matching is the paper's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.errors import MeasureError, MissingExtraError

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


def propensity(features: Matrix, rare: NDArray[np.bool_]) -> Matrix:
    """The log-odds of the rare label given the features, by logistic regression."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError(feature="propensity matching", extra="evaluate") from None
    if not 0 < rare.sum() < len(rare):
        raise MeasureError("propensity matching needs records with the rare label and records without it")
    if features.shape[1] == 0:
        return np.zeros(len(rare))
    model = LogisticRegression(max_iter=300).fit(features, rare)
    return np.asarray(model.decision_function(features), dtype=np.float64)


def matched_rows(scores: Matrix, rare: NDArray[np.bool_], *, ratio: int, rng: np.random.Generator) -> Codes:
    """All rare rows and, for each, the ``ratio`` free others with the nearest score; none is used twice.

    >>> scores = np.array([0.0, 1.0, 5.0, 1.1, 4.9])
    >>> rare = np.array([True, False, False, False, True])
    >>> matched_rows(scores, rare, ratio=1, rng=np.random.default_rng(0)).tolist()
    [0, 1, 2, 4]
    """
    if ratio < 1:
        raise MeasureError("propensity matching takes one or more records for every rare one")
    others = np.flatnonzero(~rare)
    shuffled = rng.permutation(others)  # equal scores: any of them, not the first in the file
    ladder = shuffled[np.argsort(scores[shuffled], kind="stable")]
    rare_rows = rng.permutation(np.flatnonzero(rare))
    if ratio * len(rare_rows) >= len(ladder):
        return np.arange(len(scores), dtype=np.int64)
    levels = scores[ladder]
    # next free place to the right and to the left; taken places point on
    right, left = list(range(len(ladder) + 1)), list(range(len(ladder) + 1))
    taken = []
    targets = np.repeat(scores[rare_rows], ratio)
    for score, place in zip(targets, np.searchsorted(levels, targets).tolist(), strict=True):
        after, before = _free(right, place), _free(left, place) - 1
        if before < 0 or (after < len(ladder) and levels[after] - score <= score - levels[before]):
            chosen = after
        else:
            chosen = before
        taken.append(chosen)
        right[chosen] = chosen + 1
        left[chosen + 1] = chosen
    return np.sort(np.concatenate([rare_rows, ladder[taken]]))


def _free(links: list[int], place: int) -> int:
    """Follow the links to a free place, and shorten the way for the next."""
    path = []
    while links[place] != place:
        path.append(place)
        place = links[place]
    for passed in path:
        links[passed] = place
    return place
