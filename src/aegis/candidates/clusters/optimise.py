"""The way to a good partition: a first one that keeps k and l, then searched for as long as a budget allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.budget import Budget, past
from aegis.candidates.clusters.class_limits import ClassLimits
from aegis.candidates.clusters.entropy_stage import Admit, anneal
from aegis.candidates.clusters.every_partition import MOST_RECORDS, EveryPartition
from aegis.candidates.clusters.first_partition import Say, agglomerate, divide, repair, sweep
from aegis.candidates.clusters.information_loss import ROUNDING, Scale, divisors, total_deviation
from aegis.candidates.clusters.mixing import Goal
from aegis.candidates.clusters.neighbourhood_search import neighbours_of, search_rounds
from aegis.candidates.clusters.records import Records, Tuples
from aegis.candidates.clusters.units import State, Units, place, total_loss, units_of
from aegis.errors import AnonymizerError

MERGEABLE = 4000  # tuples up to which pairs of classes are merged; beyond, the table is divided from above
NEIGHBOURS = 40
HOT = 0.25  # starting temperature, in mean losses of a class
Report = Callable[[str, Ints, float, float, int], None]


@dataclass(slots=True, kw_only=True)
class Search:
    """One optimisation: the best labels so far are valid at any time after the first partition."""

    records: Records
    tuples: Tuples
    k: int
    l: int
    classes: int | None
    scale: Scale
    rng: np.random.Generator
    report: Report
    limits: ClassLimits  # what a policy asks of every class by itself
    labels: Ints | None = None
    deviation: float = np.inf
    start_deviation: float = np.inf
    class_price: float = 0.0
    rounds: int = 0
    admit: Admit | None = None  # makes a partition satisfy what k and l do not say
    say: Say | None = None  # what the first partition is doing, before there is anything to report
    deadline: float | None = None  # of time.monotonic; None where rounds are counted, which are the same everywhere
    every: EveryPartition | None = None  # of a small table: the first partition is the best, and nothing is searched

    def start(self) -> None:
        """The first partition that satisfies k and l; a coarser one where time is short."""
        if len(self.records) <= MOST_RECORDS and self.limits.whole:
            self._start_with_the_best()
            return
        few = len(self.tuples) <= MERGEABLE
        whole = few or 3 * len(self.tuples) <= len(self.records)
        units = self._units(whole)
        if few:
            labels = agglomerate(units, k=self.k, l=self.l, classes=self.classes)
        else:
            # what follows takes time as well, and without it the table is divided and no more
            limit = None if self.deadline is None else time.monotonic() + 0.5 * (self.deadline - time.monotonic())
            most = self.classes or len(self.records) // self.k
            labels = divide(units, k=self.k, classes=most, deadline=limit, say=self.say)
        if whole:
            labels = labels[self.tuples.tuple_of]
            units = self._units(False)
        room = max(int(labels.max()) + 1, self.classes or 0)
        state = place(units, labels, capacity=room)
        if not few:
            sweep(units, state, k=self.k, l=1, deadline=self.deadline, say=self.say)
        lacking = repair(units, state, k=self.k, l=self.l, deadline=self.deadline, say=self.say)
        if len(lacking) and self.classes is not None:
            raise AnonymizerError(
                f"{len(lacking)} of {self.classes} classes cannot be given k = {self.k} records and l = {self.l} "
                "values of every sensitive attribute at the same time: "
                f"use at most {self.classes - len(lacking)} classes, fewer sensitive attributes or a smaller l"
            )
        if len(lacking):
            labels = self._join_lacking(state.label, lacking)
            state = place(units, labels, capacity=room)
        if not few:
            sweep(units, state, k=self.k, l=self.l, deadline=self.deadline, say=self.say)
        if self.classes is not None:
            self._open_classes(units, state, self.classes)
        labels, self.start_deviation = self._admitted(state.label.copy(), float(total_loss(state)))
        self._keep(labels, self.start_deviation, "start", 0.0)

    def improve(self, budget: Budget) -> None:
        """Search until the budget is used; stages of whole tuples first where classes hold many of them."""
        assert self.labels is not None
        if self.every is not None:
            return
        coarse = self.classes is not None and 10 * len(self.tuples) <= 7 * len(self.records)
        if coarse and self._on_tuples() is not None:
            self._stage(True, 0.0, 0.7, budget)
            self._stage(False, 0.7, 1.0, budget)
        else:
            self._stage(False, 0.0, 1.0, budget)

    def mix(self, budget: Budget, *, trade_off: float, ceiling_bits: float, minimum_of_sums: bool) -> None:
        """Trade loss for entropy until the budget is used; a loss below the best known becomes the best known."""
        assert self.labels is not None
        units = self._units(False)
        goal = Goal(
            best=self.deviation,
            ceiling=ceiling_bits,
            trade_off=trade_off,
            minimum_of_sums=minimum_of_sums,
            free=self.classes is None,
            nothing=ROUNDING * total_deviation(self.records, scale=self.scale),
        )
        if self.every is not None:
            self.labels = self.every.best(goal)
            return

        def report(labels: Ints, deviation: float, rounds: int) -> None:
            self.labels = labels
            self.rounds += rounds
            self.report("entropy", labels, deviation, budget.fraction, self.rounds)

        self.deviation = anneal(
            units,
            self.labels,
            self.rng,
            budget,
            goal,
            k=self.k,
            l=self.l,
            limits=self.limits,
            report=report,
            admit=self.admit,
        )

    def _start_with_the_best(self) -> None:
        self.every = EveryPartition(self._units(False), k=self.k, l=self.l, limits=self.limits, classes=self.classes)
        self.start_deviation = self.every.least_loss
        if not np.isfinite(self.start_deviation) and self.admit is not None:
            self.admit(np.zeros(len(self.records), dtype=np.int64))  # says what one class of all records lacks
        if not np.isfinite(self.start_deviation):
            raise AnonymizerError(
                f"no partition into {self.classes} classes gives each k = {self.k} records and l = {self.l} values of "
                "every sensitive attribute: use fewer classes, fewer sensitive attributes or a smaller l"
            )
        least = Goal(
            best=self.start_deviation, ceiling=1.0, trade_off=0.0, minimum_of_sums=False, free=True, nothing=0.0
        )
        self._keep(self.every.best(least), self.start_deviation, "every partition", 1.0)

    def _open_classes(self, units: Units, state: State, classes: int) -> None:
        """Split classes, whatever it costs, until there are as many as asked for or no split is found any more."""
        used = int((state.size > 0).sum())
        if used == classes:
            return
        neighbours = neighbours_of(
            self.tuples,
            divisors(self.records, scale=self.scale),
            count=NEIGHBOURS,
            whole_tuples=False,
            deadline=self.deadline,
        )
        if neighbours is None:
            return
        bonus = np.array([-1e300])
        tries = 0
        while used < classes and tries < 60 and not past(self.deadline):
            before = used
            met = search_rounds(
                units, state, neighbours, self.rng, self.k, self.l, self.limits, classes, 0, bonus, 0.0, 100, 0.0
            )
            used = int(met.classes)
            tries = 0 if used > before else tries + 1

    def _units(self, whole: bool) -> Units:
        return units_of(self.records, self.tuples, scale=self.scale, whole_tuples=whole)

    def _on_tuples(self) -> Ints | None:
        """The labels per tuple, or None if a tuple is split."""
        assert self.labels is not None
        first = np.unique(self.tuples.tuple_of, return_index=True)[1]
        coarse = self.labels[first]
        return coarse if bool((coarse[self.tuples.tuple_of] == self.labels).all()) else None

    def _stage(self, whole: bool, begin: float, end: float, budget: Budget) -> None:
        assert self.labels is not None
        units = self._units(whole)
        labels = self._on_tuples() if whole else self.labels
        assert labels is not None
        used = int(labels.max()) + 1
        aim = self.classes or 0
        room = max(used, aim + 1) if aim else max(used, min(len(self.records) // self.k, 2 * len(self.tuples)))
        state = place(units, labels, capacity=room)
        neighbours = neighbours_of(
            self.tuples,
            divisors(self.records, scale=self.scale),
            count=NEIGHBOURS,
            whole_tuples=whole,
            deadline=self.deadline,
        )
        if neighbours is None:  # no time to know who is near whom: the first partition is the answer
            return
        here = float(total_loss(state))
        unit_price = here / used
        price = np.array([self.class_price or unit_price])
        stage = "tuples" if whole else "records"
        while begin + (end - begin) * 0.999 > budget.fraction:
            progress = (budget.fraction - begin) / (end - begin)
            hot = HOT if begin == 0.0 else HOT / 4  # a later stage polishes
            temperature = max(0.0, hot * (1 - progress / 0.9)) * min(here, self.deviation) / used
            rounds = budget.slice()
            slack = 1 if progress < 0.9 else 0
            met = search_rounds(
                units,
                state,
                neighbours,
                self.rng,
                self.k,
                self.l,
                self.limits,
                aim,
                slack,
                price,
                unit_price,
                rounds,
                temperature,
            )
            used = int(met.classes)
            budget.spent(rounds)
            self.rounds += rounds
            least = here - float(met.lowered)
            here = float(total_loss(state))
            if met.fits and (least < self.deviation or not self._complete()):
                met_labels = met.labels[self.tuples.tuple_of] if whole else met.labels
                labels, deviation = self._admitted(met_labels, least)
                if self.admit is None or deviation < self.deviation:
                    self._keep(labels, deviation, stage, budget.fraction)
                if labels is not met_labels:  # joined: it is of no use to stray farther
                    state = place(units, self.labels, capacity=room)
                    used, here = int(self.labels.max()) + 1, self.deviation
            elif self.labels is not None:
                self.report(stage, self.labels, self.deviation, budget.fraction, self.rounds)
        if aim:
            self.class_price = max(float(price[0]), 0.0)

    def _admitted(self, labels: Ints, deviation: float) -> tuple[Ints, float]:
        """The partition as the policy lets it stand, and what it loses."""
        if self.admit is None:
            return labels, deviation
        admitted = self.admit(labels)
        if int(admitted.max()) + 1 == len(np.unique(labels)):
            return labels, deviation
        return admitted, self._deviation(admitted)

    def _deviation(self, labels: Ints) -> float:
        return float(total_loss(place(self._units(False), labels, capacity=int(labels.max()) + 1)))

    def _complete(self) -> bool:
        """Whether the best labels have as many classes as were asked for."""
        return self.labels is not None and (self.classes is None or int(self.labels.max()) + 1 == self.classes)

    def _keep(self, labels: Ints, deviation: float, stage: str, fraction: float) -> None:
        self.labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        self.deviation = deviation
        self.report(stage, self.labels, deviation, fraction, self.rounds)

    def _join_lacking(self, labels: Ints, lacking: Ints) -> Ints:
        """Pour the classes that stay below k or l, and one more that has enough, into one."""
        joined = np.isin(labels, lacking)
        donor = int(np.bincount(labels[~joined]).argmax()) if (~joined).any() else int(lacking[0])
        return np.unique(np.where(joined, donor, labels), return_inverse=True)[1].astype(np.int64)
