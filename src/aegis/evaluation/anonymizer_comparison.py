"""What anonymizing costs the people who train models: the same models, splits and rows on every table.

As in the MO-OBAM paper, a model is trained and tested on the released table; or it is tested on the original records,
as when it is put to use. All tables have the same rows in the same order, so split i is the same everywhere. Whether
two samples of scores differ is told by Mann–Whitney U, with Holm's correction where many pairs are asked about.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import mannwhitneyu

from aegis.arrays import Codes, Floats
from aegis.data.domain import Domain
from aegis.errors import LabelError, MeasureError
from aegis.evaluation.classifiers import CLASSIFIERS, EXPLAINED, check_models, try_classifier, try_learner
from aegis.evaluation.coded_rows import feature_matrix
from aegis.evaluation.comparison_result import ORIGINAL, Balance, ColumnImportance, Comparison, F1Difference, F1Score
from aegis.evaluation.long_work import ResultCache, in_parallel
from aegis.evaluation.model_table import ModelTable
from aegis.evaluation.splits import SplitPlan, matched_rows, propensity
from aegis.learners.learner import LEARNERS
from aegis.progress import Progress

FEWEST_RECORDS = 10  # of each label: fewer cannot be split into training and test rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    table: int
    split: int
    models: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Workshop:
    """What a worker needs beside its task."""

    tables: tuple[ModelTable, ...]
    label: Codes
    plan: SplitPlan
    positive: int | None
    balanced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    key: str
    f1: float
    importance: dict[str, float] | None
    cpu_seconds: float


def compare_tables(
    tables: Sequence[ModelTable],
    label: Codes,
    *,
    label_name: str,
    label_domain: Domain,
    quasi: Sequence[str],
    positive: int | None,
    balance: Balance = "none",
    matches: int = 1,
    models: Sequence[str] = CLASSIFIERS,
    plan: SplitPlan | None = None,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Train every model on every table and split; what ``cache`` knows already is not trained again.

    The first of ``tables`` is the original. ``positive`` is the code of the label that F1 is about, None the mean over
    labels. With ``balance="matching"`` only the rarest label's records stay, each with its ``matches`` nearest others
    by propensity given the original quasi-identifiers.
    """
    names = tuple(models)
    check_models(names)
    plan = plan or SplitPlan(splits=100)
    cache = cache if cache is not None else ResultCache()
    _check(tables, label, label_name)
    if plan.splits < 2:
        raise MeasureError("a comparison needs at least two splits: one score says nothing about chance")
    counts = np.bincount(label)
    rare_share = float(counts[counts > 0].min() / len(label))
    if balance == "matching":
        matched = _matched(tables[0], label, quasi, matches=matches, seed=plan.seed)
        tables, label = [table.take(matched) for table in tables], label[matched]
    weighted = balance == "weights"
    workshop = _Workshop(tables=tuple(tables), label=label, plan=plan, positive=positive, balanced=weighted)
    prints = [f"{table.fingerprint(label)}/{plan.id}-{positive}-{weighted}" for table in tables]

    def key(table: int, model: str, split: int) -> str:
        return f"{prints[table]}/{model}/{split}"

    tasks: list[_Task] = []
    planned: set[str] = set()  # tables with the same content share their results
    for split, table in itertools.product(range(plan.splits), range(len(tables))):
        todo = tuple(
            model
            for model in names
            if not cache.holds(place := key(table, model, split), "f1", "cpu_seconds") and place not in planned
        )
        if todo:
            keys = tuple(key(table, model, split) for model in todo)
            planned.update(keys)
            tasks.append(_Task(table=table, split=split, models=todo, keys=keys))
    total = plan.splits * len(tables)
    done, trained = total - len(tasks), 0
    for task, answers in in_parallel(_train, workshop, tasks, jobs=jobs):
        for trial in answers:
            cache.add(trial.key, f1=trial.f1, importance=trial.importance, cpu_seconds=trial.cpu_seconds)
        done, trained = done + 1, trained + len(answers)
        if progress is not None:
            progress(done, total, f"{tables[task.table].name}, split {task.split + 1}")
    scores = {
        (t, model): [float(cache[key(t, model, split)]["f1"]) for split in range(plan.splits)]
        for t in range(len(tables))
        for model in names
    }
    labels = [table.name for table in tables]
    others = range(1, len(tables))
    training, testing = plan.split(label, 0)
    return Comparison(
        label=label_name,
        positive=None if positive is None else label_domain.labels()[positive],
        balance=balance,
        tested_on="original" if any(table.tested for table in tables) else "released",
        rows=len(label),
        rare_share=rare_share,
        splits=plan.splits,
        training_rows=len(training),
        test_rows=len(testing),
        models=names,
        tables=tuple(labels),
        scores=tuple(
            F1Score(
                table=labels[t],
                model=model,
                f1=float(np.mean(values)),
                interval=plan.interval(values),
                f1_by_split=tuple(values),
            )
            for (t, model), values in scores.items()
        ),
        against_original=_differences([(t, 0) for t in others], names, labels, scores, plan),
        between=_differences(list(itertools.combinations(others, 2)), names, labels, scores, plan),
        importances=_importances(tables, quasi, names, plan, cache, key),
        trained=trained,
        cpu_seconds=sum(cache[key(*pair, split)]["cpu_seconds"] for pair in scores for split in range(plan.splits)),
    )


def _check(tables: Sequence[ModelTable], label: Codes, label_name: str) -> None:
    if not tables or tables[0].name != ORIGINAL or len({table.name for table in tables}) < len(tables):
        raise MeasureError("a comparison needs the original first and tables of different names after it")
    counts = np.bincount(label)
    if (counts > 0).sum() < 2:
        raise LabelError(f"label {label_name!r} has a single value: there is nothing to predict")
    fewest = int(counts[counts > 0].min())
    if fewest < FEWEST_RECORDS:
        raise LabelError(
            f"a value of label {label_name!r} has only {fewest} records, and training and testing need "
            f"{FEWEST_RECORDS}: merge rare labels or leave those records out"
        )


def _matched(original: ModelTable, label: Codes, quasi: Sequence[str], *, matches: int, seed: int) -> Codes:
    counts = np.bincount(label)
    if (counts > 0).sum() > 2:
        raise LabelError("propensity matching needs a label of two values; balance with weights instead")
    rare = label == np.argmin(np.where(counts > 0, counts, len(label) + 1))
    everyone = np.arange(len(label))
    features = feature_matrix(
        {name: original.domains[name] for name in quasi},
        {name: original.codes[name] for name in quasi},
        training=everyone,
    )
    return matched_rows(propensity(features, rare), rare, ratio=matches, rng=np.random.default_rng([seed, 1]))


def _train(workshop: _Workshop, task: _Task) -> list[_Done]:
    """All models of a task; making the features is charged to the first."""
    started = time.process_time()
    plan = workshop.plan
    training, testing = plan.split(workshop.label, task.split)
    table = workshop.tables[task.table].in_split(training, testing)
    features: _Features | None = None
    results = []
    for model, key in zip(task.models, task.keys, strict=True):
        if model in LEARNERS:
            trial = try_learner(
                model,
                table,
                workshop.label,
                training=training,
                testing=testing,
                positive=workshop.positive,
                balanced=workshop.balanced,
                seed=task.split,
            )
        else:
            features = features or _Features.of(table, training)
            trial = try_classifier(
                model,
                features.matrix,
                workshop.label,
                training=training,
                testing=testing,
                positive=workshop.positive,
                balanced=workshop.balanced,
                seed=task.split,
            )
        importance = None if trial.importances is None or features is None else features.by_column(trial.importances)
        ended = time.process_time()
        results.append(_Done(key=key, f1=trial.f1, importance=importance, cpu_seconds=ended - started))
        started = ended
    return results


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Features:
    """The columns of a table as one matrix, and where those of each column end."""

    matrix: Floats
    columns: tuple[str, ...]
    ends: Codes

    @classmethod
    def of(cls, table: ModelTable, training: Codes) -> _Features:
        parts = {
            name: feature_matrix({name: domain}, {name: table.codes[name]}, training=training)
            for name, domain in table.domains.items()
        }
        rows = len(next(iter(table.codes.values()))) if table.codes else 0
        return cls(
            matrix=np.hstack([np.empty((rows, 0)), *parts.values()]),
            columns=tuple(parts),
            ends=np.cumsum([part.shape[1] for part in parts.values()]),
        )

    def by_column(self, importances: Floats) -> dict[str, float]:
        """What the features of each column weigh together."""
        gained = np.diff(np.append(0.0, np.append(0.0, np.cumsum(importances))[self.ends]))
        return dict(zip(self.columns, np.round(gained, 9).tolist(), strict=True))


def _differences(
    pairs: Sequence[tuple[int, int]],
    models: tuple[str, ...],
    labels: Sequence[str],
    scores: Mapping[tuple[int, str], Sequence[float]],
    plan: SplitPlan,
) -> tuple[F1Difference, ...]:
    """One family of tests: Holm's correction runs over all of its pairs and models."""
    compared = [(first, second, model) for first, second in pairs for model in models]
    tests = [mann_whitney(scores[first, model], scores[second, model]) for first, second, model in compared]
    adjusted = holm([test.p_value for test in tests])
    differences = []
    for (first, second, model), test, p in zip(compared, tests, adjusted, strict=True):
        gaps = np.subtract(scores[first, model], scores[second, model])
        differences.append(
            F1Difference(
                first=labels[first],
                second=labels[second],
                model=model,
                f1_difference=float(gaps.mean()),
                interval=plan.interval(gaps.tolist()),
                u=test.u,
                p_value=test.p_value,
                p_adjusted=p,
            )
        )
    return tuple(differences)


def _importances(
    tables: Sequence[ModelTable],
    quasi: Sequence[str],
    models: tuple[str, ...],
    plan: SplitPlan,
    cache: ResultCache,
    key: Callable[[int, str, int], str],
) -> tuple[ColumnImportance, ...]:
    if EXPLAINED not in models:
        return ()
    weights = [
        [cache[key(t, EXPLAINED, split)].get("importance") or {} for split in range(plan.splits)]
        for t in range(len(tables))
    ]
    means = {
        name: {
            table.name: float(np.mean([by_column.get(name, 0.0) for by_column in per_split]))
            for table, per_split in zip(tables, weights, strict=True)
        }
        for name in tables[0].domains
    }
    order = sorted(means, key=lambda name: (name not in quasi, -means[name][ORIGINAL]))
    return tuple(ColumnImportance(column=name, quasi_identifying=name in quasi, by_table=means[name]) for name in order)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTest:
    """The two-sided Mann–Whitney U test of two samples; ``u`` counts the pairs that the first sample wins."""

    u: float
    p_value: float


def mann_whitney(first: ArrayLike, second: ArrayLike) -> RankTest:
    """Test whether scores of the first sample tend to be higher or lower than those of the second.

    >>> mann_whitney([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    RankTest(u=0.0, p_value=0.1)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.size < 1 or b.size < 1:
        raise MeasureError("a rank test needs at least one score on each side")
    if np.ptp(np.concatenate([a, b])) == 0:  # all tied: no evidence, and a variance of zero
        return RankTest(u=a.size * b.size / 2, p_value=1.0)
    test = mannwhitneyu(a, b, alternative="two-sided")
    return RankTest(u=float(test.statistic), p_value=float(test.pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values (Holm 1979): below α together, the chance of any false alarm is at most α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    unadjusted = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(unadjusted, kind="stable")
    steps = np.maximum.accumulate(unadjusted[order] * (len(unadjusted) - np.arange(len(unadjusted))))
    adjusted = np.empty_like(unadjusted)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted.tolist()
