"""The race: all candidates on few rows, those that cannot be best drop out, the rest get more rows.

What a candidate reaches is the mean over all learners of what each reaches on rows it was not trained on. Candidates
are compared row by row on the same test rows. The variance of such a difference is widened, because the parts that are
tested in turn share their training rows (Nadeau and Bengio, 2003): with ``J`` parts by ``1 + J / (J − 1)``. No other
score decides who takes part: where three attributes together decide, only models see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from aegis.errors import InputError
from aegis.learners.candidate import Candidate, MaskTables, Part, unmasked
from aegis.learners.features import Split
from aegis.learners.goal import Goal, goal_for
from aegis.learners.learner import LEARNERS, Learner, expect, is_compiled
from aegis.learners.race_result import Raced, RaceResult, RaceStage, Reached
from aegis.learners.sample import Sample
from aegis.learners.schedule import Schedule, parts, width_of
from aegis.learners.target import Floats, Target
from aegis.progress import Progress

PROBABILITY = 0.95
OTHER_MODELS = 0.005
"""By how much models of another make may change the difference of two candidates: a standard deviation, as a share of
what the unmasked table gains over guessing."""


@dataclass(slots=True, eq=False)
class _Runner:
    """A candidate with what was measured of it in one stage: sums over the learners, per row of the sample."""

    candidate: Candidate
    sums: Floats
    times: Floats
    unpaired: list[Floats] = field(default_factory=list)

    def mean(self) -> float:
        return float(self.values().mean())

    def values(self) -> Floats:
        if self.unpaired:
            return np.concatenate(self.unpaired)
        tested = self.times > 0
        return self.sums[tested] / self.times[tested]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """What one stage found, by name: means, the rows' values behind them, and by how much variances are widened."""

    stage: RaceStage
    values: dict[str, Floats]
    paired: dict[str, bool]
    widening: float

    def mean(self, name: str) -> float:
        return float(self.values[name].mean())

    def error(self, name: str) -> float:
        """The standard error of a mean."""
        values = self.values[name]
        return math.sqrt(self.widening * float(values.var()) / max(len(values), 1))

    def reliability(self, names: list[str]) -> float:
        """Which share of what differs between the candidates would be found again on other rows."""
        means = np.array([self.mean(name) for name in names])
        together = [self.values[name] for name in names if self.paired[name]]
        if len(together) < 2 or np.ptp(means) <= 0:
            return 1.0
        common = np.mean(together, axis=0)
        noise = float(np.mean([(values - common).var() for values in together])) / len(common)
        return max(0.0, 1.0 - noise / float(means.var(ddof=1)))

    def difference_error(self, first: str, second: str) -> float:
        """The standard error of the difference of two means, row by row where both were tested on the same rows."""
        if self.paired[first] and self.paired[second]:
            apart = self.values[first] - self.values[second]
            return math.sqrt(self.widening * float(apart.var()) / max(len(apart), 1))
        return math.hypot(self.error(first), self.error(second))


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
        schedule=plan.for_rare(target) if measured_by.alike else plan,
        probability=probability,
        seed=seed,
        progress=progress,
    )
    measured, interrupted = heat.run(list(candidates))
    return _result(heat, list(candidates), measured, sample, reason=reason, interrupted=interrupted)


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

    def run(self, candidates: list[Candidate]) -> tuple[list[_Measured], bool]:
        """The stages, and whether they were interrupted."""
        measured: list[_Measured] = []
        running = candidates
        plan, width, table_rows = self.schedule, self.width, len(self.target)
        rows: int | None = plan.first(len(candidates), width, table_rows)
        left = plan.allowance(len(candidates), width, table_rows)
        while rows is not None:
            try:
                folds, repeats = plan.folds(len(running), width, rows, table_rows, left=left)
                stage, interrupted = self._stage(len(measured) + 1, running, rows, folds=folds, repeats=repeats)
            except KeyboardInterrupt:
                if not measured:
                    raise
                return measured, True
            names = [candidate.name for candidate in running]
            left -= len(running) * rows * (folds - 1) * repeats * width
            following = None
            if not measured:
                # An order that is mostly noise is worth another look at all, before anybody is out.
                following = plan.second(
                    len(running), width, table_rows, before=rows, left=left, reliability=stage.reliability(names)
                )
            group = set(names) if following is not None else self.group(stage, names, early=True)
            out = tuple(name for name in names if name not in group)
            running = [candidate for candidate in running if candidate.name in group]
            if following is None:
                following = plan.later(len(running), width, table_rows, before=rows, left=left)
            last = interrupted or following is None
            measured.append(replace(stage, stage=replace(stage.stage, out=() if last else out)))
            if interrupted:
                return measured, True
            rows = None if last else following
        return measured, False

    def group(self, stage: _Measured, names: list[str], *, early: bool) -> set[str]:
        """The candidates that may be the best: those not worse than the one ahead by more than chance allows.

        What matters is one comparison, that of the best with the one ahead; an early stage may spend half of the doubt.
        """
        sign = 1.0 if self.goal.higher_is_better else -1.0
        ahead = max(names, key=lambda name: sign * stage.mean(name))
        doubt = (1.0 - self.probability) / (2 if early else 1)
        width = NormalDist().inv_cdf(1.0 - doubt)
        other_models = OTHER_MODELS * abs(stage.mean("unmasked") - stage.mean("guessing"))
        kept = {ahead}
        for name in names:
            behind = sign * (stage.mean(ahead) - stage.mean(name))
            if behind <= width * math.hypot(stage.difference_error(ahead, name), other_models):
                kept.add(name)
        return kept

    def _stage(
        self, number: int, running: list[Candidate], rows: int, *, folds: int, repeats: int
    ) -> tuple[_Measured, bool]:
        whole = parts(self.target, rows, folds=folds, repeats=repeats, seed=self.seed)
        reference = unmasked(self.tables)
        runners = [_Runner(each, np.zeros(rows), np.zeros(rows)) for each in [reference, *running]]
        guessing = _Runner(reference, np.zeros(rows), np.zeros(rows))
        done, total = 0, len(whole) * len(runners)
        interrupted = False
        for part in whole:
            finished: list[tuple[Split, Floats]] = []
            try:
                for runner in runners:
                    if self.progress is not None:
                        self.progress(done, total, f"stage {number}: {rows:,} rows, {len(running)} candidates")
                    finished.append(self._tried(runner.candidate, part))
                    done += 1
            except KeyboardInterrupt:
                if part is whole[0]:
                    raise
                interrupted = True  # what was begun is dropped: every candidate must have the same rows
                break
            for runner, (split, values) in zip(runners, finished, strict=True):
                if split.own_target is None:
                    runner.sums[part.testing] += values
                    runner.times[part.testing] += 1.0
                else:
                    runner.unpaired.append(values)
            guessed = np.tile(self.goal.guess(part.training_target), (len(part.testing), 1))
            values = self.goal.by_row(guessed, part.testing_target, part.training_target)
            guessing.sums[part.testing] += values
            guessing.times[part.testing] += 1.0
        if self.progress is not None and not interrupted:
            self.progress(total, total, f"stage {number}: {rows:,} rows, {len(running)} candidates")
        by_name = {"guessing": guessing, **{runner.candidate.name: runner for runner in runners}}
        stage = RaceStage(number=number, rows=rows, folds=folds, repeats=repeats, candidates=len(running), out=())
        return (
            _Measured(
                stage=stage,
                values={name: runner.values() for name, runner in by_name.items()},
                paired={name: not runner.unpaired for name, runner in by_name.items()},
                widening=1.0 + folds / (folds - 1.0),
            ),
            interrupted,
        )

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
    measured: list[_Measured],
    sample: Sample,
    *,
    reason: str,
    interrupted: bool,
) -> RaceResult:
    goal, last = heat.goal, measured[-1]
    sign = 1.0 if goal.higher_is_better else -1.0
    finalists = [candidate.name for candidate in candidates if candidate.name in last.values]
    group = heat.group(last, finalists, early=False)
    unmasked_now, guessing_now = last.mean("unmasked"), last.mean("guessing")
    raced = []
    for candidate in candidates:
        stage = max(i for i, each in enumerate(measured) if candidate.name in each.values)
        own = measured[stage]
        # What the ones that went on gained since: a candidate that was out would have gained about as much.
        gained = float(np.mean([last.mean(name) - own.mean(name) for name in finalists])) if own is not last else 0.0
        performance = own.mean(candidate.name) + gained
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
    raced.sort(key=lambda each: -sign * each.performance)  # equal ones stay in the order they were given
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate(raced, 1))
    half = NormalDist().inv_cdf(0.975) * last.error("unmasked")
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
        notes=sample.notes,
        interrupted=interrupted,
    )
