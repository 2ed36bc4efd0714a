"""A forest of trees, each on rows drawn at random and on a few columns drawn at every cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.learners.features import Split
from aegis.learners.learner import LEARNERS
from aegis.learners.machine_code import Loop
from aegis.learners.target import Floats

DRAW = Loop(
    name="draw_rows",
    module="aegis.learners.forest_draw",
    sources=("aegis.learners.compiled",),
    takes=("u4*", "i8*", "i8", "i8", "i8", "i8"),
)
GROW = Loop(
    name="grow_forest",
    module="aegis.learners.forest_loop",
    sources=(
        "aegis.learners.compiled",
        "aegis.learners.forest_cuts",
        "aegis.learners.forest_draw",
        "aegis.learners.parting",
    ),
    takes=(
        *("u4*", "i8*", "u1*", "u2*", "i8*", "b1*", "i8*", "f8*", "u1*", "f8*", "i4*", "i8*", "f8*", "f8*", "f8*"),
        *("i8*", "u4*", "i8*", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8", "i8"),
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
        drawn = max(1, round(self.share * rows))
        answers = np.zeros((asked, sums))
        counts = np.zeros((4, most_bins * sums), dtype=np.int32)
        pairs = counts if target.classes == 2 else np.zeros((4, 2), dtype=np.int32)
        GROW(
            *_drawn(rows, self.trees, drawn, seed),
            training,
            np.empty(training.shape, dtype=np.uint16),  # at most 128 bins of 50 classes
            split.bin_counts,
            split.ordered,
            target.labels,
            target.numbers,
            testing,
            answers,
            counts,
            pairs.view(np.int64),
            np.zeros(most_bins),
            np.empty((3, sums)),
            np.empty((rows + 2, sums)),
            np.empty((6, rows + 2), dtype=np.int64),
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
            drawn,
        )
        return answers


@lru_cache(maxsize=2)
def _drawn(rows: int, trees: int, drawn: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The rows that each tree grows on and its random state: the same for all candidates that are tried on a part."""
    order_of, states = np.empty((trees, rows), dtype=np.uint32), np.empty(trees, dtype=np.int64)
    DRAW(order_of, states, rows, trees, drawn, seed)
    return order_of, states


LEARNERS.add("forest", Forest())
