"""A forest of trees, each on rows drawn with replacement and on a few columns drawn at every cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aegis.learners.features import Split
from aegis.learners.forest_loop import grow_forest
from aegis.learners.learner import LEARNERS
from aegis.learners.target import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """``least_rows`` a leaf must rest on; the root of the number of columns is tried at every cut, a third of them
    where the label is a number."""

    trees: int = 30
    least_rows: int = 10

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
            seed,
        )


LEARNERS.add("forest", Forest())
