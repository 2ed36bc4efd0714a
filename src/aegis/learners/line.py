"""A regularised linear model: logistic regression, or ridge regression where the label is a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS, two_chances
from aegis.learners.machine_code import Loop
from aegis.learners.target import Floats

FIT = Loop(
    name="fit_line",
    module="aegis.learners.line_loop",
    sources=("aegis.learners.compiled",),
    takes=(
        *("f8*", "u4*", "i8*", "f8*", "f8*", "u4*", "f8*", "f8*", "f8*"),
        *("i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "f8", "f8"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``penalty`` weighs the squares of the weights against the sum of the rows' losses; the intercept is free."""

    penalty: float = 1.0
    most_steps: int = 12
    most_inner_steps: int = 40
    tolerance: float = 1e-2

    loop: ClassVar[Loop] = FIT

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        numbers, centre, spread = target.numbers, 0.0, 1.0
        if not target.classes:
            # A label in its own units would make the tolerance depend on them.
            centre, spread = float(numbers.mean()), float(numbers.std()) or 1.0
            numbers = (numbers - centre) / spread
        dense, places = split.dense(0), split.places(0)
        outputs = target.classes if target.classes > 2 else 1
        rows, asked = len(target), split.test_rows
        answers = np.empty((asked, outputs))
        FIT(
            dense,
            places,
            target.labels,
            numbers,
            split.dense(1),
            split.places(1),
            answers,
            np.empty((9, outputs, split.line_weights)),
            np.empty((4, rows, outputs)),
            rows,
            asked,
            dense.shape[1],
            places.shape[1],
            split.line_weights,
            target.classes,
            self.most_steps,
            self.most_inner_steps,
            self.penalty,
            self.tolerance,
        )
        if not target.classes:  # a number that nobody had is no guess: one wild value would outweigh all other rows
            return np.clip(centre + spread * answers, target.numbers.min(), target.numbers.max())
        return two_chances(answers[:, 0]) if target.classes == 2 else answers


LEARNERS.add("line", Line())
