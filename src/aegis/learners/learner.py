"""What a learner is: something that learns from the codes of a split and says what it expects of the test rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from aegis.errors import MeasureError
from aegis.learners.features import Split
from aegis.learners.machine_code import Loop
from aegis.learners.target import Floats
from aegis.registry import Registry


class Learner(Protocol):
    """Learns from the training rows of a split and answers for its test rows.

    The answer has a line per test row: the chance of each class, or one number where the label is a number. It depends
    on the training rows, the test row itself and the seed, on nothing else; `expect` never calls it for a split whose
    columns say nothing.
    """

    def predict(self, split: Split, *, seed: int) -> Floats: ...


LEARNERS: Registry[Learner] = Registry(
    "learners",
    noun="learner",
    error=MeasureError,
    modules=("aegis.learners.line", "aegis.learners.forest", "aegis.learners.boosting"),
)
"""The learners by name. All that are registered judge candidates; their mean is what models reach."""


def is_compiled(learner: Learner) -> bool:
    """Whether the loop of a learner, if it has one, was compiled on this machine before: it takes some seconds."""
    loop = getattr(learner, "loop", None)
    return not isinstance(loop, Loop) or loop.is_kept


def expect(learner: Learner, split: Split, *, seed: int) -> Floats:
    """What ``learner`` expects of the test rows; where no column says anything, what guessing would."""
    if not split.prepared:
        return guess(split)
    if split.is_of_one_class:
        return guess(split)  # nothing is left to learn
    answers = learner.predict(split.from_centre, seed=seed)
    return answers + split.target.centre if split.target.centre else answers


def guess(split: Split) -> Floats:
    """What can be said without any column: the share of each class among the training rows, or their mean."""
    target = split.target
    shares = target.shares() if target.classes else np.array([target.mean()])
    return np.tile(shares, (split.test_rows, 1))


def two_chances(second: Floats) -> Floats:
    """The chances of two classes, given that of the second."""
    chances = np.empty((len(second), 2))
    chances[:, 0], chances[:, 1] = 1.0 - second, second
    return chances
