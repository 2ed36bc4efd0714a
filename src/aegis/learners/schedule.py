"""How many rows each stage of a race looks at: many candidates get few rows each, few candidates get many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.learners.candidate import Part
from aegis.learners.target import Places, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The first stage gives every candidate ``first_rows``, fewer (``least_rows``) where candidates are so many that
    ``first_effort``, candidates times rows, would be exceeded. A later stage shares half of what is left of ``effort``
    among those that are left, and has at least ``growth`` times the rows of the one before. A small table is split
    more than once instead, until its rows, counted as often as they are tested, are about ``first_rows``.
    """

    first_rows: int = 4_000
    least_rows: int = 1_000
    first_effort: int = 200_000
    growth: float = 1.5
    effort: int = 500_000
    most_repeats: int = 6

    def first(self, candidates: int, rows: int) -> int:
        wanted = min(self.first_rows, max(self.least_rows, self.first_effort // max(candidates, 1)))
        return min(wanted, rows)

    def later(self, candidates: int, rows: int, *, before: int, spent: int) -> int | None:
        """The rows of the next stage; None where there are no more rows or the effort is spent."""
        left = (self.effort - spent) // max(candidates, 1)
        for affordable in (left // 2, left):  # half of what is left, all of it if that is too little to go on with
            wanted = rows if affordable >= 0.8 * rows else affordable
            if wanted >= min(self.growth * before, rows) and wanted > before:
                return wanted
        return None

    def folds(self, rows: int, table_rows: int) -> tuple[int, int]:
        """How many parts the rows are cut into, and how often: a small table can be tested over and over."""
        if rows < table_rows or rows >= self.first_rows:
            return 2, 1
        repeats = min(max(self.first_rows // (2 * rows), 1), self.most_repeats)
        return 4 if rows <= self.first_rows // 2 else 3, repeats


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
