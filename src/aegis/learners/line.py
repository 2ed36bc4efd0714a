"""A regularised linear model: logistic regression, or ridge regression where the label is a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS, two_chances
from aegis.learners.line_loop import expected, fit_line, product
from aegis.learners.target import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``penalty`` weighs the squares of the weights against the sum of the rows' losses; the intercept is free."""

    penalty: float = 1.0
    most_steps: int = 12
    most_inner_steps: int = 40
    tolerance: float = 3e-3

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        numbers, centre, spread = target.numbers, 0.0, 1.0
        if not target.classes:
            # A label in its own units would make the tolerance depend on them.
            centre, spread = float(numbers.mean()), float(numbers.std()) or 1.0
            numbers = (numbers - centre) / spread
        weights = fit_line(
            split.dense(0),
            split.places(0),
            split.line_weights,
            target.labels,
            numbers,
            target.classes,
            self.penalty,
            self.most_steps,
            self.most_inner_steps,
            self.tolerance,
        )
        scores = np.empty((split.test_rows, len(weights)))
        product(scores, weights, split.dense(1), split.places(1))
        if not target.classes:
            return centre + spread * scores
        chances = np.empty_like(scores)
        # The loss that comes with it is of no use here: the labels of test rows are not known.
        unknown = np.zeros(split.test_rows, dtype=np.int64)
        expected(chances, scores, unknown, unknown.astype(np.float64), target.classes)
        return two_chances(chances[:, 0]) if target.classes == 2 else chances


LEARNERS.add("line", Line())
