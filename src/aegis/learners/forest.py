"""A forest of trees, each on rows drawn at random and on a few columns drawn at every cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS
from aegis.learners.machine_code import Loop
from aegis.learners.target import Floats

GROW = Loop(
    name="grow_forest",
    module="aegis.learners.forest_loop",
    sources=("aegis.learners.compiled", "aegis.learners.parting"),
    takes=(
        *("u1*", "u2*", "i8*", "b1*", "i8*", "f8*", "u1*", "f8*", "i4*", "f8*", "f8*", "f8*", "i8*", "u4*", "i8*"),
        *("i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Each tree grows on ``share`` of the rows, none of them twice: as many different ones as drawing with replacement
    gives, for fewer steps. A leaf must rest on ``least_rows``. The root of the number of columns is tried at every cut,
    a third of them where the label is a number."""

    trees: int = 12
    least_rows: int = 10
    share: float = 0.632

    loop: ClassVar[Loop] = GROW

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        columns = len(split.prepared)
        tried = math.ceil(math.sqrt(columns)) if target.classes else math.ceil(columns / 3)
        training, testing = split.bins
        rows, asked, sums = len(target), split.test_rows, max(target.classes, 1)
        most_bins = int(split.bin_counts.max())
        joined = training.astype(np.uint16)  # at most 128 bins of 50 classes
        if target.classes:
            joined *= np.uint16(target.classes)
            joined += target.labels.astype(np.uint16)
        answers = np.zeros((asked, sums))
        GROW(
            training,
            joined,
            split.bin_counts,
            split.ordered,
            target.labels,
            target.numbers,
            testing,
            answers,
            np.zeros((2, most_bins * sums), dtype=np.int32),
            np.zeros(most_bins),
            np.empty((3, sums)),
            np.empty((rows + 2, sums)),
            np.empty((5, rows + 2), dtype=np.int64),
            np.empty((3, max(rows, asked)), dtype=np.uint32),
            np.empty(columns, dtype=np.int64),
            columns,
            rows,
            asked,
            most_bins,
            target.classes,
            self.trees,
            tried,
            self.least_rows,
            max(1, round(self.share * rows)),
            seed,
        )
        return answers


LEARNERS.add("forest", Forest())
