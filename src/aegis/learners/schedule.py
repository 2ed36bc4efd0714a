"""How many rows each stage of a race looks at: many candidates get few rows each, few candidates get many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from aegis.learners.candidate import Part
from aegis.learners.target import Places, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How much is tried, in cells: rows times columns times candidates, more of them where there are many classes.

    The first stage gives all candidates as many rows as ``first_cells`` allow, but at least ``least_rows``. A later
    stage shares half of what is left of ``cells`` among those that are left, and has at least ``growth`` times the rows
    of the one before. Where less than ``reliable`` of what the first stage saw would be seen again, all candidates get
    more rows once, for at most ``cells`` more. A table of at most ``small_rows`` rows is split into more parts and more
    than once when all its rows are in: that is all there is to learn from. `for_rare` is the plan for a rare label.
    """

    first_cells: int = 2_500_000
    cells: int = 5_500_000
    least_rows: int = 700
    growth: float = 1.5
    small_rows: int = 3_000
    most_repeats: int = 4
    reliable: float = 0.95
    scarcest: float = 3.0

    def for_rare(self, target: Target) -> Self:
        """The same for a goal that counts labels alike: where one is rare, more rows are needed to see as much.

        As much as rows of two equally common labels would show, but at most ``scarcest`` times as many.
        """
        if target.classes != 2:
            return self
        rarest = max(float(target.shares().min()), 1e-9)
        times = min(max(1.0, 1.0 / (4.0 * rarest * (1.0 - rarest))), self.scarcest)
        return replace(self, first_cells=int(times * self.first_cells), cells=int(times * self.cells))

    def first(self, candidates: int, width: float, rows: int) -> int:
        """The rows of the first stage; ``width`` is what one row of one candidate costs."""
        return min(max(self.least_rows, int(self.first_cells / (candidates * width))), rows)

    def later(self, candidates: int, width: float, rows: int, *, before: int, left: float) -> int | None:
        """The rows of the next stage; None where there are no more rows or nothing is left to spend."""
        each = left / (candidates * width)
        for affordable in (each / 2, each):  # half of what is left, all of it if that is too little to go on with
            wanted = rows if affordable >= 0.8 * rows else int(affordable)
            if wanted >= min(self.growth * before, rows) and wanted > before:
                return wanted
        return None

    def second(
        self, candidates: int, width: float, rows: int, *, before: int, left: float, reliability: float
    ) -> int | None:
        """The rows on which all are looked at again, where the order of the first stage is mostly noise; else None."""
        if reliability >= self.reliable or candidates * width * before > 1.5 * self.first_cells:
            return None  # so many candidates must become fewer first
        odds = self.reliable / (1.0 - self.reliable)
        needed = before * odds * (1.0 - reliability) / max(reliability, 0.01)
        affordable = (left + self.cells) / (candidates * width)
        wanted = int(min(needed, affordable, rows))
        return wanted if wanted >= self.growth * before else None

    def allowance(self, candidates: int, width: float, rows: int) -> float:
        """What all stages may cost: where candidates are so many that the first is dear, twice what that costs."""
        return max(self.cells, 2.0 * candidates * width * self.first(candidates, width, rows))

    def folds(self, candidates: int, width: float, rows: int, table_rows: int, *, left: float) -> tuple[int, int]:
        """How many parts the rows are cut into, and how often: a small table can be tested over and over."""
        if rows < table_rows or rows > self.small_rows:
            return 2, 1
        times = int(2.0 * left / (candidates * width * rows))  # there is no later stage to save for
        if times < 3:
            return 2, 1
        return 4, min(times // 3, self.most_repeats)


def width_of(columns: int, classes: int) -> float:
    """What one row of one candidate costs: its columns; some learners learn each class on its own."""
    outputs = classes if classes > 2 else 1
    return columns * (1 + outputs) / 2


def parts(target: Target, rows: int, *, folds: int, repeats: int, seed: int) -> list[Part]:
    """The first ``rows`` rows cut into parts that are tested in turn, every label having its share in each."""
    some = target.labels[:rows]
    made: list[Part] = []
    for repeat in range(repeats):
        order = np.random.default_rng([seed, rows, repeat]).permutation(rows)
        if target.classes:
            order = order[np.argsort(some[order], kind="stable")]
        fold = np.empty(rows, dtype=np.int64)
        fold[order] = np.arange(rows) % folds
        for number in range(folds):
            made.append(_part(target, fold, number, len(made)))
    return made


def _part(target: Target, fold: Places, number: int, name: int) -> Part:
    training, testing = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
    return Part(
        number=name,
        training=training,
        testing=testing,
        training_target=target.at(training),
        testing_target=target.at(testing),
    )
