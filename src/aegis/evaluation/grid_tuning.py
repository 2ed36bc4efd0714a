"""The paper's grid over classes, trade-off and k in worker processes, a search beside it, and what both recommend."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.candidates.clusters.outcome import Risk, risk_before
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.tuning import (
    PAPER_K,
    Attempts,
    Setting,
    Trial,
    advise,
    paper_classes,
    paper_grid,
    paper_trade_offs,
    pareto_front,
    recommend,
    search_classes,
)
from aegis.errors import AnonymizerError
from aegis.evaluation.long_work import in_parallel
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTuning:
    """All that was tried, the front of loss against entropy, and a recommendation, over all k and for each."""

    rows: int
    unique_tuples: int
    l: int
    ks: tuple[int, ...]
    classes: tuple[int, ...]
    trade_offs: tuple[float, ...]
    seconds_each: float
    left_out: int  # combinations that break k ≤ records / classes
    grid: tuple[Trial, ...]
    search: tuple[Trial, ...]
    front: tuple[Trial, ...]
    recommended: Trial
    advice: str
    by_k: dict[int, Trial]
    before: Risk
    interrupted: bool
    seconds: float

    def cell(self, *, classes: int, trade_off: float, k: int) -> Trial | None:
        """The trial at one point of the grid, if it was tried."""
        setting = Setting(classes=classes, trade_off=trade_off, k=k)
        return next((trial for trial in self.grid if trial.setting == setting), None)

    def to_json(self) -> dict[str, Any]:
        """As ``aegis tune --json`` prints it."""
        return {
            "rows": self.rows,
            "unique_tuples": self.unique_tuples,
            "l": self.l,
            "k_values": list(self.ks),
            "classes_values": list(self.classes),
            "lambda_values": list(self.trade_offs),
            "seconds_each": self.seconds_each,
            "left_out": self.left_out,
            "interrupted": self.interrupted,
            "before": {**self.before.to_json(), "classes": self.before.classes},
            "grid": [trial.to_json() for trial in self.grid],
            "search": [trial.to_json() for trial in self.search],
            "front": [trial.to_json() for trial in self.front],
            "recommended": self.recommended.to_json(),
            "recommended_by_k": {str(k): trial.to_json() for k, trial in self.by_k.items()},
            "advice": self.advice,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> GridTuning:
        """What `to_json` wrote."""
        before = Risk.from_json(content["before"])

        def trials(name: str) -> tuple[Trial, ...]:
            return tuple(Trial.from_json(trial, before=before) for trial in content[name])

        return cls(
            rows=content["rows"],
            unique_tuples=content["unique_tuples"],
            l=content["l"],
            ks=tuple(content["k_values"]),
            classes=tuple(content["classes_values"]),
            trade_offs=tuple(content["lambda_values"]),
            seconds_each=content["seconds_each"],
            left_out=content["left_out"],
            grid=trials("grid"),
            search=trials("search"),
            front=trials("front"),
            recommended=Trial.from_json(content["recommended"], before=before),
            advice=content["advice"],
            by_k={int(k): Trial.from_json(trial, before=before) for k, trial in content["recommended_by_k"].items()},
            before=before,
            interrupted=content["interrupted"],
            seconds=content["seconds"],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Job:
    """What a worker needs beside its task."""

    records: Records
    attempts: Attempts
    trade_offs: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """The task of searching the number of classes for one k."""

    k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """The trials of a task, and whether it was cut short."""

    trials: tuple[Trial, ...]
    interrupted: bool = False


def tune_records(
    records: Records,
    *,
    method: str = "mo-obam",
    ks: Sequence[int] = PAPER_K,
    classes: Sequence[int] | None = None,
    trade_offs: Sequence[float] | None = None,
    l: int = 1,
    seconds_each: float = 2.0,
    rounds: int | None = None,
    search: bool = True,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> GridTuning:
    """Try a grid, the paper's by default, and a search for each k. Ctrl-C keeps the trials that are done."""
    began = time.perf_counter()
    attempts = Attempts(method=method, l=l, seconds=seconds_each, rounds=rounds, seed=seed)
    counts = tuple(sorted(set(classes or paper_classes(records))))
    offs = tuple(sorted(set(trade_offs or paper_trade_offs(records))))
    sizes = tuple(sorted(set(ks)))
    _check(sizes, counts, offs, seconds_each)
    settings = paper_grid(records, classes=counts, trade_offs=offs, ks=sizes)
    left_out = len(counts) * len(offs) * len(sizes) - len(settings)
    if not settings:
        raise AnonymizerError(
            f"the grid is empty: with {len(records)} records the smallest k = {sizes[0]} allows at most "
            f"{len(records) // sizes[0]} classes; ask for fewer classes or a smaller k"
        )
    job = _Job(records=records, attempts=attempts, trade_offs=offs)
    # The long ones first, so that no core waits for them at the end.
    tasks: list[Setting | _Search] = [_Search(k=k) for k in sizes if search and k <= len(records)]
    tasks += settings
    grid: dict[Setting, Trial] = {}
    trial_of: dict[Setting, Trial] = {}
    interrupted = False
    try:
        for done, (task, outcome) in enumerate(in_parallel(_run, job, tasks, jobs=jobs), start=1):
            finished = {trial.setting: trial for trial in outcome.trials if not _cut_short(trial)}
            (trial_of if isinstance(task, _Search) else grid).update(finished)
            interrupted = interrupted or outcome.interrupted
            if outcome.interrupted and jobs == 1:  # the estimator took Ctrl-C for the end of its time
                break
            if progress is not None:
                progress(done, len(tasks), _words(task))
    except KeyboardInterrupt:
        interrupted = True
    trials = tuple(trial for trial in (*grid.values(), *trial_of.values()) if trial.result is not None)
    if not trials:
        if interrupted:
            raise KeyboardInterrupt
        first = next(iter(grid.values()))
        raise AnonymizerError(f"every setting was refused; the first reason: {first.refusal}")
    front = pareto_front(trials)
    best = recommend(front)
    per_k = {k: [trial for trial in trials if trial.setting.k == k] for k in sizes}
    by_k = {k: recommend(pareto_front(trials_of_k)) for k, trials_of_k in per_k.items() if trials_of_k}
    by_k[best.setting.k] = best  # one answer for its k, not two: it lies on that front as well
    return GridTuning(
        rows=len(records),
        unique_tuples=len(collapse(records)),
        l=l,
        ks=sizes,
        classes=counts,
        trade_offs=offs,
        seconds_each=seconds_each,
        left_out=left_out,
        grid=tuple(grid[setting] for setting in sorted(grid)),
        search=tuple(trial_of[setting] for setting in sorted(trial_of)),
        front=front,
        recommended=best,
        advice=advise(best, front),
        by_k=by_k,
        before=risk_before(records),
        interrupted=interrupted,
        seconds=time.perf_counter() - began,
    )


def _check(ks: Sequence[int], classes: Sequence[int], trade_offs: Sequence[float], seconds_each: float) -> None:
    if not ks or ks[0] < 2:
        raise AnonymizerError("k starts at 2: a class of one record is the record itself")
    if classes[0] < 1:
        raise AnonymizerError("a number of classes is at least 1")
    if not all(0 <= off <= 1 for off in trade_offs):
        raise AnonymizerError("a trade-off lies between 0 (loss only) and 1 (mixed secrets matter as much)")
    if not seconds_each >= 0:
        raise AnonymizerError("the seconds for each setting must not be negative")


def _cut_short(trial: Trial) -> bool:
    return trial.result is not None and trial.result.diagnosis.finished == "interrupted"


def _run(job: _Job, task: Setting | _Search) -> _Outcome:
    if isinstance(task, Setting):
        trial = job.attempts.trial(job.records, task)
        return _Outcome(trials=(trial,), interrupted=_cut_short(trial))
    trials: list[Trial] = []
    try:
        for trial in search_classes(job.records, job.attempts, k=task.k, trade_offs=job.trade_offs):
            trials.append(trial)
    except KeyboardInterrupt:
        return _Outcome(trials=tuple(trials), interrupted=True)
    return _Outcome(trials=tuple(trials))


def _words(task: Setting | _Search) -> str:
    if isinstance(task, _Search):
        return f"search at k {task.k}"
    return f"{task.classes} classes, λ {task.trade_off:g}, k {task.k}"
