"""Which rows models are trained and tested on: repeated stratified splits, and matched rows for a rare label.

Propensity matching keeps, for every record of a rare label, the most alike records of the others, and nobody else. It
makes a rare label common enough to be learnt. What was matched on no longer tells the labels apart, so a model cannot
lose by its anonymization: weights are the fairer way, matching is the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from aegis.arrays import Codes, Flags, Floats
from aegis.errors import MeasureError, MissingExtraError


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPlan:
    """How rows are split: how often, which share is for testing, and at most how many rows are trained and tested on.

    Every label keeps its share in both parts. Split i of a seed is the same whatever else is asked for.
    """

    splits: int = 4
    test_share: float = 0.25
    most_training_rows: int | None = None
    most_test_rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.splits < 1:
            raise MeasureError("an evaluation needs at least one split")
        if not 0.0 < self.test_share < 1.0:
            raise MeasureError("the share of test rows must lie between 0 and 1")
        for most in (self.most_training_rows, self.most_test_rows):
            if most is not None and most < 10:
                raise MeasureError("fewer than 10 rows to train or test on tell nothing; raise the limit")

    @property
    def id(self) -> str:
        """What a cached result depends on, apart from the number of the split."""
        return f"{self.test_share:g}-{self.most_training_rows}-{self.most_test_rows}-{self.seed}"

    def split(self, label: Codes, number: int) -> tuple[Codes, Codes]:
        """The training rows and the test rows of one split."""
        rng = np.random.default_rng([self.seed, number])
        # A row's place among the shuffled rows of its label decides, so both parts have every label's share.
        order = rng.permutation(len(label))
        by_label = order[np.argsort(label[order], kind="stable")]
        sizes = np.bincount(label)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = (np.arange(len(label)) - starts + rng.random(len(sizes)).repeat(sizes)) / sizes.repeat(sizes)
        tested = place <= self.test_share
        # Within a part the rows are put in order of place: cutting it short keeps the shares too.
        training = by_label[~tested][np.argsort(place[~tested], kind="stable")]
        testing = by_label[tested][np.argsort(place[tested], kind="stable")]
        if not len(testing) or len(np.unique(label[training])) < min(2, len(np.unique(label))):
            raise MeasureError(
                f"{len(label)} rows are too few to train models on some and test them on others; give more rows"
            )
        return np.sort(training[: self.most_training_rows]), np.sort(testing[: self.most_test_rows])

    def interval(self, values: Sequence[float]) -> tuple[float, float]:
        """The 95 % interval of the mean over splits, widened because the splits share rows (Nadeau, Bengio)."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return -math.inf, math.inf
        variance = float(np.var(values, ddof=1))
        error = math.sqrt(variance * (1.0 / len(values) + self.test_share / (1.0 - self.test_share)))
        half = float(student.ppf(0.975, len(values) - 1)) * error
        return mean - half, mean + half


def propensity(features: Floats, rare: Flags) -> Floats:
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


def matched_rows(scores: Floats, rare: Flags, *, ratio: int, rng: np.random.Generator) -> Codes:
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
