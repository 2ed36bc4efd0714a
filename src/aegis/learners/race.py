"""The race: all candidates on few rows, those that cannot be best drop out, the rest get more rows.

What a candidate reaches is the mean over all learners of what each reaches on rows it was not trained on. After every
stage each candidate has a chance to be the best (`Measured.chances_to_be_best`); those that hardly have one drop out,
and the group that is stated in the end are the fewest that hold the best with the stated probability. No other score
decides who takes part: where three attributes together decide, only models see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from aegis.errors import InputError
from aegis.learners.candidate import Candidate, MaskTables, Part, unmasked
from aegis.learners.features import Split
from aegis.learners.goal import Goal, goal_for
from aegis.learners.learner import LEARNERS, Learner, expect, is_compiled
from aegis.learners.measured import Measured, RowValues, likeliest
from aegis.learners.placing import Course, above_unmasked, label_is_told, note_on_other_goals, placed, unmasked_reached
from aegis.learners.race_result import RaceResult, RaceStage
from aegis.learners.sample import Sample
from aegis.learners.schedule import Leg, Schedule, parts, width_of
from aegis.learners.target import Floats, Target
from aegis.progress import Progress

PROBABILITY = 0.95
OTHER_MODELS = 0.0075
"""By how much models of another make may change the difference of two candidates: a standard deviation, as a share of
what the unmasked table gains over guessing."""
LOOKED_UP = ("masks", "search")
"""Kinds of candidates that are looked up in tables; others are made anew for every part, as boxes are grown."""


def race(
    candidates: Sequence[Candidate],
    tables: MaskTables,
    *,
    goal: str | None = None,
    learners: Sequence[str] | None = None,
    schedule: Schedule | None = None,
    probability: float = PROBABILITY,
    doubts: Mapping[str, str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> RaceResult:
    """Let ``candidates`` of one sample race for ``goal``, which is chosen by the label's kind if not named.

    ``tables`` are the masks' lookup tables of the sample that the candidates were made for. ``doubts`` says of
    candidates why they cannot be compared: they are tried once, and come last. An interruption (Ctrl-C) ends the race
    with what is known by then; before every candidate was tried once nothing is, and it is passed on.
    """
    names = [candidate.name for candidate in candidates]
    if not names:
        raise InputError("there is nothing to race; give at least one candidate")
    taken = {"unmasked"}
    for name in names:
        if name in taken:
            raise InputError(f"candidates need names of their own, and {name!r} is that of another one; rename one")
        taken.add(name)
    if not 0.5 <= probability < 1.0:
        raise InputError("the probability that the group holds the best lies between 0.5 and 1")
    sample = tables.sample
    target = sample.target(goal)
    of_table = target.at(np.arange(sample.rows))
    measured_by, reason = goal_for(of_table, goal, kind=sample.label_domain.kind)
    known = {name: LEARNERS[name] for name in (learners or list(LEARNERS))}
    if progress is not None and not all(is_compiled(learner) for learner in known.values()):
        progress(0, None, "compiling the models, which this machine keeps for the next time")
    plan = schedule or Schedule()
    heat = _Heat(
        tables=tables,
        target=target,
        goal=measured_by,
        learners=known,
        schedule=plan.for_labels_alike(of_table) if measured_by.alike else plan,
        probability=probability,
        doubts=dict(doubts or {}),
        seed=seed,
        progress=progress,
    )
    # A library of matrix products keeps a thread per core spinning after each product, which is processor time that
    # nobody uses here, where products are small; how a sum is divided among threads also decides its last digits.
    with threadpool_limits(limits=1, user_api="blas"):
        course = heat.run(list(candidates))
        return _result(heat, list(candidates), course, sample, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Heat:
    """What all stages of a race share."""

    tables: MaskTables
    target: Target
    goal: Goal
    learners: dict[str, Learner]
    schedule: Schedule
    probability: float
    doubts: dict[str, str]
    seed: int
    progress: Progress | None

    @property
    def width(self) -> float:
        return width_of(len(self.tables.sample.codes), self.target.classes)

    def run(self, candidates: list[Candidate]) -> Course:
        """The stages, until nothing is left to spend, one candidate is left, or somebody interrupts."""
        measured: list[Measured] = []
        chances = {candidate.name: 1.0 / len(candidates) for candidate in candidates}
        doubts = dict(self.doubts)
        running = candidates
        plan, width, table_rows = self.schedule, self.width, self.tables.sample.rows
        leg: Leg | None = plan.first(len(candidates), width, table_rows)
        left = plan.allowance(len(candidates), width, table_rows)
        beside = looked_again = False
        may_look_again = all(candidate.kind in LOOKED_UP for candidate in candidates)  # others cost more than cells say
        repeated, interrupted = 0, False
        legs: list[Leg] = []
        while leg is not None and not interrupted:
            before = measured[-1] if repeated else None
            try:
                stage, interrupted = self._stage(len(measured) + 1, running, leg, before=before, after=repeated)
            except KeyboardInterrupt:
                if not measured:
                    raise
                interrupted = True
                break
            measured.append(stage)
            legs.append(leg)
            if not beside:
                left -= plan.cost(leg, width)
            doubts |= above_unmasked(stage, running, self.goal)
            comparable = [candidate for candidate in running if candidate.name not in doubts]
            chances |= self._updated(chances, stage, running, comparable)
            following = None
            if comparable and not interrupted:
                following = self._following(
                    len(measured),
                    stage,
                    comparable,
                    chances,
                    leg,
                    repeated,
                    left,
                    all_in=may_look_again and not looked_again and len(comparable) == len(candidates),
                )
            if following is None:
                break
            next_leg, names, beside = following
            looked_again = looked_again or beside
            out = tuple(candidate.name for candidate in running if candidate.name not in names)
            measured[-1] = replace(stage, stage=replace(stage.stage, out=out))
            running = [candidate for candidate in running if candidate.name in names]
            repeated = repeated + leg.repeats if (next_leg.rows, next_leg.folds) == (leg.rows, leg.folds) else 0
            leg = next_leg
        course = Course(measured=measured, chances=chances, doubts=doubts, interrupted=interrupted)
        if interrupted or looked_again or not may_look_again:
            return course
        return self._put_in_order(course, candidates, running, legs)

    def _put_in_order(
        self, course: Course, candidates: list[Candidate], running: list[Candidate], legs: list[Leg]
    ) -> Course:
        """The same after a second look at those that were out first, beside the one ahead."""
        first = next((place for place, stage in enumerate(course.measured) if stage.stage.out), None)
        if first is None:
            return course
        last, out = course.measured[-1], course.measured[first].stage.out
        ahead = max(running, key=lambda candidate: self.goal.better(last.mean(candidate.name), 0.0))
        again = [candidate for candidate in candidates if candidate.name in out or candidate is ahead]
        before = legs[first]
        leg = self.schedule.for_order(len(again), self.width, self.tables.sample.rows, before=before)
        if leg is None:
            return course
        parted = sum(other.repeats for other in legs[: first + 1] if (other.rows, other.folds) == (leg.rows, leg.folds))
        known = course.measured[first] if parted else None
        try:
            stage, interrupted = self._stage(len(legs) + 1, again, leg, before=known, after=parted, for_order=True)
        except KeyboardInterrupt:
            return replace(course, interrupted=True)
        return replace(course, order=stage, interrupted=interrupted)

    def _updated(
        self, chances: dict[str, float], stage: Measured, running: list[Candidate], comparable: list[Candidate]
    ) -> dict[str, float]:
        """What the chances of those in a stage became: together they keep what they had, the comparable ones all."""
        together = sum(chances[candidate.name] for candidate in running)
        none = {candidate.name: 0.0 for candidate in running}
        if not comparable:
            return none
        best = stage.chances_to_be_best(
            [candidate.name for candidate in comparable],
            higher_is_better=self.goal.higher_is_better,
            other_models=OTHER_MODELS * abs(stage.mean("unmasked") - stage.mean("guessing")),
            seed=self.seed,
        )
        return none | {name: together * chance for name, chance in best.items()}

    def _following(
        self,
        number: int,
        stage: Measured,
        running: list[Candidate],
        chances: dict[str, float],
        leg: Leg,
        repeated: int,
        left: float,
        *,
        all_in: bool,
    ) -> tuple[Leg, set[str], bool] | None:
        """The next stage, who is in it, and whether it is the second look, whose cells are beside the others.

        ``all_in`` says that nobody is out and that there was none yet.
        """
        plan, width, table_rows = self.schedule, self.width, self.tables.sample.rows
        names = [candidate.name for candidate in running]
        if number == 1:
            # An order that is mostly noise is worth another look at all, before anybody is out.
            again = plan.second(len(running), width, table_rows, before=leg.rows, reliability=stage.reliability(names))
            if again is not None:
                return again, set(names), True
        own = {name: chances[name] for name in names}
        in_doubt = likeliest(own, self.probability * sum(own.values()))
        if any(candidate.kind not in LOOKED_UP for candidate in running if candidate.name in in_doubt):
            plan = plan.sparing()
        following = plan.later(len(in_doubt), width, table_rows, before=leg, repeated=repeated + leg.repeats, left=left)
        if following is not None:
            return following, set(in_doubt[: following.candidates]), False
        # One is ahead of all at once: the second look tells the order of the others.
        again = plan.for_order(len(running), width, table_rows, before=leg) if all_in else None
        return None if again is None else (again, set(names), True)

    def _stage(
        self,
        number: int,
        running: list[Candidate],
        leg: Leg,
        *,
        before: Measured | None,
        after: int,
        for_order: bool = False,
    ) -> tuple[Measured, bool]:
        """Try the candidates on the rows of a leg, on top of what was measured ``before`` on the same rows."""
        rows, said = leg.rows, f"stage {number}: {leg.rows:,} rows, {len(running)} candidates"
        sample = self.tables.sample
        more = round(sample.further * rows / sample.rows) if self.goal.alike else 0
        further = sample.rows + np.arange(more, dtype=np.int64)
        whole = parts(
            self.target, rows, further=further, folds=leg.folds, repeats=leg.repeats, seed=self.seed, after=after
        )
        trying = {candidate.name: candidate for candidate in running}
        if before is None:
            reference = unmasked(self.tables)
            trying = {reference.name: reference, **trying}
            held = len(self.target) if more else rows  # further rows stand behind all others
            tested = {name: RowValues.nothing_yet(held) for name in ["guessing", *trying]}
        else:
            tested = {name: before.tested[name] for name in ["guessing", "unmasked", *trying]}
        done, total = 0, len(whole) * len(trying)
        interrupted = False
        for part in whole:
            finished: dict[str, tuple[Split, Floats, Floats]] = {}
            try:
                for name, candidate in trying.items():
                    if self.progress is not None:
                        self.progress(done, total, said)
                    finished[name] = self._tried(candidate, part)
                    done += 1
            except KeyboardInterrupt:
                if part is whole[0] and before is None:
                    raise
                interrupted = True  # what was begun is dropped: every candidate must have the same rows
                break
            for name, (split, values, by_learner) in finished.items():
                tested[name] = tested[name].with_part(part, values, by_learner=by_learner, protocol=split.protocol)
            if before is None:
                guessed = np.tile(self.goal.guess(part.training_target), (len(part.testing), 1))
                values = self.goal.by_row(guessed, part.testing_target, part.training_target)
                tested["guessing"] = tested["guessing"].with_part(part, values)
        if self.progress is not None and not interrupted:
            self.progress(total, total, said)
        stage = RaceStage(
            number=number,
            rows=rows,
            folds=leg.folds,
            repeats=after + leg.repeats,
            candidates=len(running),
            out=(),
            for_order=for_order,
        )
        return Measured.of(stage, tested), interrupted

    def _tried(self, candidate: Candidate, part: Part) -> tuple[Split, Floats, Floats]:
        """The values of a part's test rows, averaged over learners and draws, and what each learner reached
        with the variance that rows give it.

        Where a draw counts some of the rows only, what a learner expects of all of them is put together first: goals
        such as AUC are about rows side by side.
        """
        values: dict[str, Floats] = {}
        together: dict[str, Floats] = {}
        counted = np.zeros(len(part.testing), dtype=np.bool_)
        for draw in range(candidate.draws):
            split = candidate.split(part, draw=draw)
            wanted = part.testing_target if split.own_target is None else split.own_target
            for name, learner in self.learners.items():
                expected = expect(learner, split, seed=self.seed + part.number)
                if split.apart is None:
                    reached = self.goal.by_row(expected, wanted, split.target) / candidate.draws
                    values[name] = values[name] + reached if name in values else reached
                else:
                    together.setdefault(name, np.zeros_like(expected))[split.apart] = expected[split.apart]
                    counted[split.apart] = True
        assert not together or counted.all(), "every test row counts in some draw"
        values |= {name: self.goal.by_row(expected, wanted, split.target) for name, expected in together.items()}
        by_learner = np.array([[each.mean(), each.var() / max(len(each), 1)] for each in values.values()]).T
        return split, np.sum(list(values.values()), axis=0) / len(values), by_learner


def _result(
    heat: _Heat,
    candidates: list[Candidate],
    course: Course,
    sample: Sample,
    *,
    reason: str,
) -> RaceResult:
    goal, last = heat.goal, course.measured[-1]
    told = label_is_told(last, goal)
    notes = sample.notes
    further = sample.further if goal.alike else 0
    if further:
        notes = (*notes, f"{further:,} further rows of rare labels test, and nothing is learnt from them")
    if not told and not course.interrupted:
        known = {"rows": last.stage.rows, "folds": last.stage.folds, "seed": heat.seed}
        notes = (*notes, note_on_other_goals(goal, heat.tables, heat.target, heat.learners, **known))
    return RaceResult(
        goal=goal.name,
        goal_reason=reason,
        probability=heat.probability,
        label_told=told,
        unmasked=unmasked_reached(last, goal),
        guessing=last.mean("guessing"),
        ranking=placed(candidates, course, goal, probability=heat.probability),
        stages=tuple(each.stage for each in course.stages),
        learners=tuple(heat.learners),
        label=sample.label,
        sample_rows=sample.rows,
        further_rows=further,
        table_rows=sample.table_rows,
        rows_without_label=sample.rows_without_label,
        seed=heat.seed,
        notes=notes,
        interrupted=course.interrupted,
    )
