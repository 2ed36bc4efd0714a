"""Boosted trees: small trees, each on what the ones before left unexplained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.learners.boosting_loop import MOST_ROWS, boost
from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS, two_chances
from aegis.learners.target import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosting:
    """So many ``trees`` of at most ``leaves`` leaves, each resting on ``least_rows`` rows; ``penalty`` holds back what
    a leaf says, ``rate`` what a tree adds. More than two classes have a tree each in every round. At most 32,767 rows
    are learnt from."""

    trees: int = 30
    rate: float = 0.2
    leaves: int = 16
    least_rows: int = 20
    penalty: float = 1.0

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        training, testing = split.bins
        if len(target) > MOST_ROWS:  # rows come in random order, so the first ones are a sample
            target = target.at(np.arange(MOST_ROWS))
            training = np.ascontiguousarray(training[:, :MOST_ROWS])
        starts = np.concatenate([[0], np.cumsum(split.bin_counts)])
        width = np.uint16 if starts[-1] < 2**16 else np.int32
        answers = boost(
            training,
            np.ascontiguousarray((training + starts[:-1, None]).T.astype(width)),
            starts,
            split.ordered,
            target.labels,
            target.numbers,
            target.classes,
            testing,
            self.trees,
            self.rate,
            self.leaves,
            self.least_rows,
            self.penalty,
        )
        if target.classes == 0:
            return answers
        if target.classes == 2:
            return two_chances(1.0 / (1.0 + np.exp(-answers[:, 0])))
        raised = np.exp(answers - answers.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)


LEARNERS.add("boosting", Boosting())
