"""Repeated stratified splits into training and test rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from aegis.errors import MeasureError

Codes = NDArray[np.int64]


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

    def interval(self, values: Sequence[float], *, sure: float = 0.95) -> tuple[float, float]:
        """A confidence interval of the mean over splits, widened because the splits share rows (Nadeau, Bengio)."""
        mean = float(np.mean(values))
        if len(values) < 2:
            return -math.inf, math.inf
        variance = float(np.var(values, ddof=1))
        error = math.sqrt(variance * (1.0 / len(values) + self.test_share / (1.0 - self.test_share)))
        half = float(student.ppf(0.5 + sure / 2, len(values) - 1)) * error
        return mean - half, mean + half
