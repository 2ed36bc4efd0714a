"""Boosted trees: small trees, each on what the ones before left unexplained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS, two_chances
from aegis.learners.machine_code import Loop
from aegis.learners.target import Floats

MOST_ROWS = 2**15 - 1
"""Beyond this the count of rows would not fit into its bits of a packed sum."""

BOOST = Loop(
    name="boost",
    module="aegis.learners.boosting_loop",
    sources=("aegis.learners.boosting_cuts", "aegis.learners.compiled", "aegis.learners.parting"),
    takes=(
        *("u1*", "u4*", "i8*", "b1*", "i8*", "f8*", "u1*", "f8*", "f8*", "f8*", "i8*", "i8*", "i8*", "f8*", "f8*"),
        *("u4*", "u1*", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "f8", "f8"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosting:
    """So many ``trees`` of at most ``leaves`` leaves, each resting on ``least_rows`` rows; ``penalty`` holds back what
    a leaf says, ``rate`` what a tree adds. More than two classes have a tree each in every round. At most 32,767 rows
    are learnt from."""

    trees: int = 20
    rate: float = 0.3
    leaves: int = 8
    least_rows: int = 20
    penalty: float = 1.0

    loop: ClassVar[Loop] = BOOST

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        training, testing = split.bins
        if len(target) > MOST_ROWS:  # rows come in random order, so the first ones are a sample
            target = target.at(np.arange(MOST_ROWS))
            training = np.ascontiguousarray(training[:, :MOST_ROWS])
        starts = np.concatenate([[0], np.cumsum(split.bin_counts)])
        (columns, rows), asked = training.shape, split.test_rows
        outputs = target.classes if target.classes > 2 else 1
        answers = np.empty((outputs, asked))
        BOOST(
            training,
            np.empty((rows, columns), dtype=np.uint32),
            starts,
            split.ordered,
            target.labels,
            target.numbers,
            testing,
            answers,
            np.empty((2, outputs, rows)),
            np.empty((2, rows)),
            np.empty(rows, dtype=np.int64),
            np.empty((self.leaves + 1, int(starts[-1])), dtype=np.int64),
            np.empty((2, self.leaves), dtype=np.int64),
            np.empty((self.leaves, 4)),
            np.empty(self.leaves),
            np.empty((2, rows), dtype=np.uint32),
            np.empty(asked, dtype=np.uint8),
            columns,
            rows,
            asked,
            int(starts[-1]),
            target.classes,
            self.trees,
            self.leaves,
            self.least_rows,
            self.rate,
            self.penalty,
        )
        if target.classes == 0:
            return answers.T
        if target.classes == 2:
            return two_chances(1.0 / (1.0 + np.exp(-answers[0])))
        raised = np.exp(answers - answers.max(axis=0))
        return (raised / raised.sum(axis=0)).T


LEARNERS.add("boosting", Boosting())
