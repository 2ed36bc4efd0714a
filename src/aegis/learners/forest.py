"""A forest of trees, each on rows drawn at random and on a few columns drawn at every cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aegis.learners.features import Split
from aegis.learners.forest_loop import grow_forest
from aegis.learners.learner import LEARNERS
from aegis.learners.target import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Each tree grows on ``share`` of the rows, none of them twice: as many different ones as drawing with replacement
    gives, for fewer steps. A leaf must rest on ``least_rows``. The root of the number of columns is tried at every cut,
    a third of them where the label is a number."""

    trees: int = 16
    least_rows: int = 6
    share: float = 0.632

    def predict(self, split: Split, *, seed: int) -> Floats:
        target = split.target
        columns = len(split.prepared)
        tried = math.ceil(math.sqrt(columns)) if target.classes else math.ceil(columns / 3)
        training, testing = split.bins
        return grow_forest(
            training,
            split.bin_counts,
            split.ordered,
            target.labels,
            target.numbers,
            target.classes,
            testing,
            self.trees,
            tried,
            self.least_rows,
            max(1, round(self.share * len(target))),
            seed,
        )


LEARNERS.add("forest", Forest())
