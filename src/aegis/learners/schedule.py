"""How many rows each stage of a race looks at: many candidates get few rows each, few candidates get many."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from aegis.learners.candidate import Part
from aegis.learners.target import Places, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """What the next stage looks at: so many ``rows``, cut into ``folds`` parts, ``repeats`` times over, of the
    ``candidates`` likeliest to be best."""

    rows: int
    folds: int
    repeats: int
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How much is tried, in cells: rows times columns times candidates, more of them where there are many classes.

    The first stage gives all candidates as many rows as ``first_cells`` allow, but at least ``least_rows``. A later
    stage shares half of what is left of ``cells`` among those that are left, and has at least ``growth`` times the rows
    of the one before; when all rows are in they are parted anew, up to ``most_repeats`` times. Where what is left is
    too little for all, the likeliest to be best go on. Where less than ``reliable`` of what the first stage saw would
    be seen again, all candidates get more rows once, for ``second_cells`` beside the others. When a ``few`` are left,
    there are ``last_cells`` more for them: one parting of all rows leaves chance enough to put the wrong one first.
    Where there was no such look, those that were out first get one in the end, for ``order_cells``: few rows put them
    in order. A table of at most ``small_rows`` rows is split into more parts when all its rows are in, one of at most
    ``medium_rows`` when so few candidates are left that this can be paid: models then learn from three quarters of the
    rows instead of half, which is nearer to what the whole table gives. `for_labels_alike` is the plan for a goal that
    counts labels alike.
    """

    first_cells: int = 3_000_000
    cells: int = 6_000_000
    second_cells: int = 6_500_000
    few: int = 8
    last_cells: int = 4_000_000
    order_cells: int = 4_500_000
    least_rows: int = 700
    growth: float = 1.5
    small_rows: int = 3_000
    medium_rows: int = 10_000
    most_repeats: int = 20
    reliable: float = 0.95
    alike: float = 1.4
    scarcest: float = 3.0

    def for_labels_alike(self, target: Target) -> Self:
        """The same for a goal that counts labels alike: ``alike`` times as much, and more where a label is rare.

        As much as rows of two equally common labels would show, but at most ``scarcest`` times as many.
        """
        times = self.alike
        if target.classes == 2:
            rarest = max(float(target.shares().min()), 1e-9)
            times *= min(max(1.0, 1.0 / (4.0 * rarest * (1.0 - rarest))), self.scarcest)
        return replace(
            self,
            first_cells=int(times * self.first_cells),
            cells=int(times * self.cells),
            second_cells=int(times * self.second_cells),
            last_cells=int(times * self.last_cells),
            order_cells=int(times * self.order_cells),
        )

    def sparing(self) -> Schedule:
        """The plan while candidates are left that are made anew for every part, which costs more than cells say."""
        return replace(self, last_cells=0, medium_rows=self.small_rows, most_repeats=min(self.most_repeats, 12))

    def first(self, candidates: int, width: float, rows: int) -> Leg:
        """The first stage, of all candidates; ``width`` is what one row of one candidate costs."""
        wanted = min(max(self.least_rows, int(self.first_cells / (candidates * width))), rows)
        folds = self.folds(wanted, rows)
        affordable = int(self.cells / self._cost(candidates, width, wanted, folds))
        repeats = min(max(1, affordable), 4) if folds > 2 else 1
        return Leg(rows=wanted, folds=folds, repeats=repeats, candidates=candidates)

    def later(self, candidates: int, width: float, rows: int, *, before: Leg, repeated: int, left: float) -> Leg | None:
        """The next stage; None where nothing is left to spend, or all ``repeated`` so often that more tells no more."""
        if candidates < 2:
            return None
        if candidates <= self.few:
            left += self.last_cells
        more_parts = rows <= self.medium_rows and self._cost(candidates, width, rows, 4) <= left
        if before.rows < rows:
            wanted = self._more_rows(candidates, width, rows, before=before.rows, left=left)
            folds = 4 if wanted == rows and more_parts else self.folds(wanted, rows)
            affordable = int(left / self._cost(1, width, wanted, folds))
            going_on = min(candidates, affordable)
            return Leg(rows=wanted, folds=folds, repeats=1, candidates=going_on) if going_on > 1 else None
        if before.folds == 2 and more_parts:
            return Leg(rows=rows, folds=4, repeats=1, candidates=candidates)
        each = self._cost(1, width, rows, before.folds)
        repeats_left = self.most_repeats - repeated
        going_on = min(candidates, int(left / each))
        if going_on < 2 or repeats_left < 1:
            return None
        repeats = min(max(1, int(0.5 * left / (going_on * each))), max(1, repeated), repeats_left)
        return Leg(rows=rows, folds=before.folds, repeats=repeats, candidates=going_on)

    def _more_rows(self, candidates: int, width: float, rows: int, *, before: int, left: float) -> int:
        """Half of what is left for all of them; the least step where that is too little."""
        affordable = 0.5 * left / (candidates * width)
        wanted = rows if affordable >= 0.8 * rows else int(affordable)
        return max(wanted, min(math.ceil(self.growth * before), rows))

    def second(self, candidates: int, width: float, rows: int, *, before: int, reliability: float) -> Leg | None:
        """All are looked at again, where the order of the first stage is mostly noise; else None."""
        if reliability >= self.reliable or candidates * width * before > 1.5 * self.first_cells or before >= rows:
            return None  # so many candidates must become fewer first
        odds = self.reliable / (1.0 - self.reliable)
        needed = before * odds * (1.0 - reliability) / max(reliability, 0.01)
        affordable = self.second_cells / (candidates * width)
        wanted = int(min(needed, affordable, rows))
        if wanted < self.growth * before:
            return None
        return Leg(rows=wanted, folds=2, repeats=1, candidates=candidates)

    def for_order(self, candidates: int, width: float, rows: int, *, before: Leg) -> Leg | None:
        """The second look at ``candidates`` whose order rests on the leg ``before``; None where it tells too little."""
        if candidates < 3:
            return None
        if before.rows < rows:
            wanted = min(int(self.order_cells / (candidates * width)), rows)
            if wanted < self.growth * before.rows:
                return None
            return Leg(rows=wanted, folds=2, repeats=1, candidates=candidates)
        repeats = int(self.order_cells / self._cost(candidates, width, rows, before.folds))
        repeats = min(repeats, self.most_repeats - before.repeats)
        return Leg(rows=rows, folds=before.folds, repeats=repeats, candidates=candidates) if repeats > 0 else None

    def allowance(self, candidates: int, width: float, rows: int) -> float:
        """What all stages may cost: where candidates are so many that the first is dear, twice what that costs."""
        first = self.first(candidates, width, rows)
        return max(self.cells, 2.0 * self.cost(first, width))

    def folds(self, rows: int, table_rows: int) -> int:
        """How many parts the rows are cut into: more where a table is so small that every training row counts."""
        return 4 if rows == table_rows and rows <= self.small_rows else 2

    def cost(self, leg: Leg, width: float) -> float:
        """The cells of a stage."""
        return leg.repeats * self._cost(leg.candidates, width, leg.rows, leg.folds)

    def _cost(self, candidates: int, width: float, rows: int, folds: int) -> float:
        return candidates * width * rows * (folds - 1)


def width_of(columns: int, classes: int) -> float:
    """What one row of one candidate costs: its columns; some learners learn each class on its own."""
    outputs = classes if classes > 2 else 1
    return columns * (1 + outputs) / 2


def parts(
    target: Target,
    rows: int,
    *,
    folds: int,
    repeats: int,
    seed: int,
    after: int = 0,
    further: Places | None = None,
) -> list[Part]:
    """The first ``rows`` rows cut into parts that are tested in turn, every label having its share in each.

    ``after`` so many repeats that were made before, others are made. Rows that are ``further`` ones are tested with a
    part each, and nothing is learnt from them.
    """
    some = target.labels[:rows]
    tested_only = np.empty(0, dtype=np.int64) if further is None else further
    made: list[Part] = []
    for repeat in range(after, after + repeats):
        order = np.random.default_rng([seed, rows, repeat]).permutation(rows)
        if target.classes:
            order = order[np.argsort(some[order], kind="stable")]
        fold = np.empty(rows, dtype=np.int64)
        fold[order] = np.arange(rows) % folds
        mixed = tested_only[np.random.default_rng([seed, rows, repeat, 1]).permutation(len(tested_only))]
        mixed = mixed[np.argsort(target.labels[mixed], kind="stable")]
        for number in range(folds):
            made.append(_part(target, fold, number, after * folds + len(made), also=np.sort(mixed[number::folds])))
    return made


def _part(target: Target, fold: Places, number: int, name: int, *, also: Places) -> Part:
    training, testing = np.flatnonzero(fold != number), np.concatenate([np.flatnonzero(fold == number), also])
    return Part(
        number=name,
        training=training,
        testing=testing,
        training_target=target.at(training),
        testing_target=target.at(testing),
    )
