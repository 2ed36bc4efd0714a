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
        *("f8*", "u1*", "i8*", "f8*", "f8*", "u1*", "f8*", "i8*", "u4*", "f8*", "f8*"),
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
        dense, levels = split.dense(0), split.levels(0)
        outputs = target.classes if target.classes > 2 else 1
        rows, asked, indicators = len(target), split.test_rows, len(levels)
        counts = split.level_counts
        starts = 1 + len(dense) + np.cumsum(counts) - counts
        weights = 1 + len(dense) + int(counts.sum())
        answers = np.empty((outputs, asked))
        FIT(
            dense,
            levels,
            target.labels,
            numbers,
            split.dense(1),
            split.levels(1),
            answers,
            starts,
            np.empty((rows, indicators), dtype=np.uint32),
            np.empty((9, outputs, weights)),
            np.empty((5, outputs, rows)),
            rows,
            asked,
            len(dense),
            indicators,
            weights,
            target.classes,
            self.most_steps,
            self.most_inner_steps,
            self.penalty,
            self.tolerance,
        )
        if not target.classes:  # a number that nobody had is no guess: one wild value would outweigh all other rows
            return np.clip(centre + spread * answers.T, target.numbers.min(), target.numbers.max())
        return two_chances(answers[0]) if target.classes == 2 else answers.T


LEARNERS.add("line", Line())
