"""The race: all candidates on few rows, those that cannot be best drop out, the rest get more rows.

What a candidate reaches is the mean over all learners of what each reaches on rows it was not trained on. After every
stage each candidate has a chance to be the best (`Measured.chances_to_be_best`); those that hardly have one drop out,
and the group that is stated in the end are the fewest that hold the best with the stated probability. No other score
decides who takes part: where three attributes together decide, only models see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from aegis.errors import InputError
from aegis.learners.candidate import Candidate, MaskTables, Part, unmasked
from aegis.learners.features import Split
from aegis.learners.goal import Goal, goal_for
from aegis.learners.learner import LEARNERS, Learner, expect, is_compiled
from aegis.learners.measured import Measured, RowValues, likeliest
from aegis.learners.other_goals import note_on_other_goals
from aegis.learners.race_result import Raced, RaceResult, RaceStage, Reached
from aegis.learners.sample import Sample
from aegis.learners.schedule import Leg, Schedule, parts, width_of
from aegis.learners.target import Floats, Target
from aegis.progress import Progress

PROBABILITY = 0.95
OTHER_MODELS = 0.0075
"""By how much models of another make may change the difference of two candidates: a standard deviation, as a share of
what the unmasked table gains over guessing."""


def race(
    candidates: Sequence[Candidate],
    tables: MaskTables,
    *,
    goal: str | None = None,
    learners: Sequence[str] | None = None,
    schedule: Schedule | None = None,
    probability: float = PROBABILITY,
    seed: int = 0,
    progress: Progress | None = None,
) -> RaceResult:
    """Let ``candidates`` of one sample race for ``goal``, which is chosen by the label's kind if not named.

    ``tables`` are the masks' lookup tables of the sample that the candidates were made for. An interruption (Ctrl-C)
    ends the race with what is known by then; before every candidate was tried once nothing is, and it is passed on.
    """
    names = [candidate.name for candidate in candidates]
    if not names:
        raise InputError("there is nothing to race; give at least one candidate")
    if len(set(names)) < len(names) or "unmasked" in names:
        raise InputError("candidates need names of their own, and none may be called 'unmasked'; rename some")
    if not 0.5 <= probability < 1.0:
        raise InputError("the probability that the group holds the best lies between 0.5 and 1")
    sample = tables.sample
    target = sample.target(goal)
    measured_by, reason = goal_for(target, goal)
    known = {name: LEARNERS[name] for name in (learners or list(LEARNERS))}
    if progress is not None and not all(is_compiled(learner) for learner in known.values()):
        progress(0, None, "compiling the models, which this machine keeps for the next time")
    plan = schedule or Schedule()
    heat = _Heat(
        tables=tables,
        target=target,
        goal=measured_by,
        learners=known,
        schedule=plan.for_labels_alike(target) if measured_by.alike else plan,
        probability=probability,
        seed=seed,
        progress=progress,
    )
    course = heat.run(list(candidates))
    return _result(heat, list(candidates), course, sample, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Course:
    """How a race went: its stages, and each candidate's chance to be the best as the last stage it was in left it."""

    measured: list[Measured]
    chances: dict[str, float]
    interrupted: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Heat:
    """What all stages of a race share."""

    tables: MaskTables
    target: Target
    goal: Goal
    learners: dict[str, Learner]
    schedule: Schedule
    probability: float
    seed: int
    progress: Progress | None

    @property
    def width(self) -> float:
        return width_of(len(self.tables.sample.codes), self.target.classes)

    def run(self, candidates: list[Candidate]) -> _Course:
        """The stages, until nothing is left to spend, one candidate is left, or somebody interrupts."""
        measured: list[Measured] = []
        chances = {candidate.name: 1.0 / len(candidates) for candidate in candidates}
        running = candidates
        plan, width, table_rows = self.schedule, self.width, len(self.target)
        leg: Leg | None = plan.first(len(candidates), width, table_rows)
        left = plan.allowance(len(candidates), width, table_rows)
        repeated, interrupted = 0, False
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
            if len(running) < len(candidates) or len(measured) == 1:
                left -= plan.cost(leg, width)  # a second look at all is beside the others
            chances |= self._updated(chances, stage, [candidate.name for candidate in running])
            following = (
                None if interrupted else self._following(len(measured), stage, running, chances, leg, repeated, left)
            )
            if following is None:
                break
            next_leg, names = following
            out = tuple(candidate.name for candidate in running if candidate.name not in names)
            measured[-1] = replace(stage, stage=replace(stage.stage, out=out))
            running = [candidate for candidate in running if candidate.name in names]
            repeated = repeated + leg.repeats if (next_leg.rows, next_leg.folds) == (leg.rows, leg.folds) else 0
            leg = next_leg
        return _Course(measured=measured, chances=chances, interrupted=interrupted)

    def _updated(self, chances: dict[str, float], stage: Measured, names: list[str]) -> dict[str, float]:
        """What the chances of those in a stage became: together they keep what they had."""
        together = sum(chances[name] for name in names)
        found = stage.chances_to_be_best(
            names,
            higher_is_better=self.goal.higher_is_better,
            other_models=OTHER_MODELS * abs(stage.mean("unmasked") - stage.mean("guessing")),
            seed=self.seed,
        )
        return {name: together * chance for name, chance in found.items()}

    def _following(
        self,
        number: int,
        stage: Measured,
        running: list[Candidate],
        chances: dict[str, float],
        leg: Leg,
        repeated: int,
        left: float,
    ) -> tuple[Leg, set[str]] | None:
        """The next stage and who is in it."""
        plan, width, table_rows = self.schedule, self.width, len(self.target)
        names = [candidate.name for candidate in running]
        if number == 1:
            # An order that is mostly noise is worth another look at all, before anybody is out.
            again = plan.second(len(running), width, table_rows, before=leg.rows, reliability=stage.reliability(names))
            if again is not None:
                return again, set(names)
        own = {name: chances[name] for name in names}
        in_doubt = likeliest(own, self.probability * sum(own.values()))
        following = plan.later(len(in_doubt), width, table_rows, before=leg, repeated=repeated + leg.repeats, left=left)
        return None if following is None else (following, set(in_doubt[: following.candidates]))

    def _stage(
        self, number: int, running: list[Candidate], leg: Leg, *, before: Measured | None, after: int
    ) -> tuple[Measured, bool]:
        """Try the candidates on the rows of a leg, on top of what was measured ``before`` on the same rows."""
        rows, said = leg.rows, f"stage {number}: {leg.rows:,} rows, {len(running)} candidates"
        whole = parts(self.target, rows, folds=leg.folds, repeats=leg.repeats, seed=self.seed, after=after)
        trying = {candidate.name: candidate for candidate in running}
        if before is None:
            reference = unmasked(self.tables)
            trying = {reference.name: reference, **trying}
            tested = {name: RowValues.nothing_yet(rows) for name in ["guessing", *trying]}
        else:
            tested = {name: before.tested[name] for name in ["guessing", "unmasked", *trying]}
        done, total = 0, len(whole) * len(trying)
        interrupted = False
        for part in whole:
            finished: dict[str, tuple[Split, Floats]] = {}
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
            for name, (split, values) in finished.items():
                tested[name] = tested[name].with_part(part, values, paired=split.own_target is None)
            if before is None:
                guessed = np.tile(self.goal.guess(part.training_target), (len(part.testing), 1))
                values = self.goal.by_row(guessed, part.testing_target, part.training_target)
                tested["guessing"] = tested["guessing"].with_part(part, values, paired=True)
        if self.progress is not None and not interrupted:
            self.progress(total, total, said)
        stage = RaceStage(
            number=number,
            rows=rows,
            folds=leg.folds,
            repeats=after + leg.repeats,
            candidates=len(running),
            out=(),
        )
        return Measured.of(stage, tested), interrupted

    def _tried(self, candidate: Candidate, part: Part) -> tuple[Split, Floats]:
        """The values of a part's test rows, averaged over learners and draws."""
        total: Floats | None = None
        for draw in range(candidate.draws):
            split = candidate.split(part, draw=draw)
            wanted = part.testing_target if split.own_target is None else split.own_target
            for learner in self.learners.values():
                expected = expect(learner, split, seed=self.seed + part.number)
                values = self.goal.by_row(expected, wanted, split.target)
                total = values if total is None else total + values
        assert total is not None, "a candidate is tried at least once"
        return split, total / (candidate.draws * len(self.learners))


def _result(
    heat: _Heat,
    candidates: list[Candidate],
    course: _Course,
    sample: Sample,
    *,
    reason: str,
) -> RaceResult:
    goal, measured, last = heat.goal, course.measured, course.measured[-1]
    sign = 1.0 if goal.higher_is_better else -1.0
    finalists = [candidate.name for candidate in candidates if candidate.name in last.values]
    ahead = max(finalists, key=lambda name: sign * last.mean(name))
    group = {ahead, *likeliest(course.chances, heat.probability)}
    unmasked_now, guessing_now = last.mean("unmasked"), last.mean("guessing")
    raced = []
    for candidate in candidates:
        stage = max(i for i, each in enumerate(measured) if candidate.name in each.values)
        own = measured[stage]
        # What the ones that went on gained since: a candidate that was out would have gained about as much.
        gained = float(np.mean([last.mean(name) - own.mean(name) for name in finalists])) if own is not last else 0.0
        performance = own.mean(candidate.name) + gained
        if own is not last and sign * (performance - last.mean(ahead)) > 0:
            performance = last.mean(ahead)  # who was out is not put before the one that came in first
        half = NormalDist().inv_cdf(0.975) * own.error(candidate.name)
        behind = sign * (own.mean("unmasked") - own.mean(candidate.name))
        noise = NormalDist().inv_cdf(0.975) * own.difference_error("unmasked", candidate.name)
        could_gain = sign * (unmasked_now - guessing_now)
        kept = None
        if could_gain > 0:
            kept = min(max(sign * (performance - guessing_now) / could_gain, 0.0), 1.0)
        raced.append(
            Raced(
                rank=0,
                name=candidate.name,
                kind=candidate.kind,
                performance=performance,
                interval=(performance - half, performance + half),
                kept=kept,
                no_loss_found=behind <= noise,
                in_best_group=candidate.name in group,
                stage=own.stage.number,
                rows=own.stage.rows,
            )
        )
    # Equal ones stay in the order they were given.
    raced.sort(key=lambda each: (-sign * each.performance, each.name != ahead))
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate(raced, 1))
    half = NormalDist().inv_cdf(0.975) * last.error("unmasked")
    notes = sample.notes
    if goal.better(unmasked_now, guessing_now) <= half and not course.interrupted:
        known = {"rows": last.stage.rows, "folds": last.stage.folds, "seed": heat.seed}
        notes = (*notes, note_on_other_goals(goal, heat.tables, heat.target, heat.learners, **known))
    return RaceResult(
        goal=goal.name,
        goal_reason=reason,
        probability=heat.probability,
        unmasked=Reached(performance=unmasked_now, interval=(unmasked_now - half, unmasked_now + half)),
        guessing=guessing_now,
        ranking=ranked,
        stages=tuple(each.stage for each in measured),
        learners=tuple(heat.learners),
        label=sample.label,
        sample_rows=sample.rows,
        table_rows=sample.table_rows,
        rows_without_label=sample.rows_without_label,
        seed=heat.seed,
        notes=notes,
        interrupted=course.interrupted,
    )
