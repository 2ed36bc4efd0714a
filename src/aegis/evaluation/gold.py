"""The exhaustive way: mask the rows, train and test models, for every configuration; or for a shortlist from counts.

It is what the advisor is measured against, and what it saves. Results are cached one by one, so that it may be stopped
at any time and goes on where it was. A shortlist is tried with cheap models on a few configurations instead of all
models on all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from aegis.arrays import Floats, Ints
from aegis.errors import MeasureError
from aegis.evaluation.coded_rows import ENCODING, CodedRows, Encoding, RowMasker, feature_matrix
from aegis.evaluation.long_work import ResultCache, in_parallel
from aegis.evaluation.models import GOLD_MODELS, Quality, check_models, try_model
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.progress import Progress

_HALVINGS = 50
_NUMBERS = ("accuracy", "auc", "balanced_accuracy", "cpu_seconds")
"""What is kept of a trained model."""
CHEAP_MODELS = ("logistic-regression", "small-random-forest", "small-boosted-trees")
"""One of each kind that the gold standard trains, the trees small."""
MOST_ROWS = 50_000
"""A shortlist is tried on a sample of at most this many rows; a split uses less than half of them."""
SECOND_OPINION = "label-probe"
"""The pair score that fills shortlists in turns with the default one: a line through all attributes, where that one
looks at decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldScore:
    """How well models trained on a configuration's masked rows predict the label of others.

    ``accuracy``, ``auc`` and ``balanced_accuracy`` are means over models and splits.
    """

    configuration: str
    id: str
    accuracy: float
    interval: tuple[float, float]
    accuracy_by_model: dict[str, float]
    accuracy_by_split: tuple[float, ...]
    auc: float
    auc_by_split: tuple[float, ...]
    balanced_accuracy: float
    balanced_accuracy_by_split: tuple[float, ...]
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldStandard:
    """The exhaustive way's answer, in the order in which the configurations were given.

    ``cpu_seconds`` is what all trainings took, those read from the cache included.
    """

    models: tuple[str, ...]
    splits: int
    training_rows: int
    test_rows: int
    scores: tuple[GoldScore, ...]
    cpu_seconds: float

    @property
    def accuracies(self) -> Floats:
        return np.array([score.accuracy for score in self.scores])

    @property
    def aucs(self) -> Floats:
        return np.array([score.auc for score in self.scores])

    @property
    def balanced_accuracies(self) -> Floats:
        return np.array([score.balanced_accuracy for score in self.scores])

    @property
    def accuracy_reliability(self) -> float:
        """`reliability` of the accuracies."""
        return reliability(np.array([score.accuracy_by_split for score in self.scores]))

    @property
    def best(self) -> GoldScore:
        return max(self.scores, key=lambda score: score.accuracy)


def reliability(by_split: Floats) -> float:
    """Which share of what differs between configurations would be found again on other splits.

    ``by_split`` has configurations down and splits across. No selector can correlate with the mean over splits by more
    than the square root of this, however good it is.

    >>> reliability(np.array([[0.8, 0.8, 0.8], [0.7, 0.7, 0.7]]))
    1.0
    """
    configurations, splits = by_split.shape
    if configurations < 2 or splits < 2:
        return float("nan")
    means = by_split.mean(axis=1, keepdims=True)
    # What a split does to all configurations alike tells nothing against their order.
    rest = by_split - means - by_split.mean(axis=0, keepdims=True) + by_split.mean()
    noise = float((rest**2).sum()) / ((configurations - 1) * (splits - 1)) / splits
    between = float(means.var(ddof=1))
    return max(0.0, 1.0 - noise / between) if between > 1e-15 else 0.0


def split_half(by_split: Floats, *, seed: int = 0) -> float:
    """The rank correlation to expect between two sets of as many splits each, never seen together.

    The splits are halved at random, the means of the halves are rank-correlated, and Spearman and Brown's formula
    says what twice as many splits in each half would give.

    >>> split_half(np.array([[0.8, 0.8], [0.7, 0.7], [0.9, 0.9]]))
    1.0
    """
    from scipy.stats import spearmanr

    configurations, splits = by_split.shape
    if configurations < 3 or splits < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    correlations = []
    for _ in range(_HALVINGS):
        order = rng.permutation(splits)
        halves = [by_split[:, part].mean(axis=1) for part in (order[: splits // 2], order[splits // 2 :])]
        told_apart = all(np.ptp(half) > 0 for half in halves)
        correlations.append(float(spearmanr(*halves).statistic) if told_apart else 0.0)
    half = float(np.mean(correlations))
    return 2.0 * half / (1.0 + half) if half > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """Models to train on one split of one configuration, with the keys of their results."""

    configuration: str
    masks: dict[str, Mask]
    split: int
    models: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trainer:
    """What a worker needs beside its task."""

    rows: CodedRows
    masker: RowMasker
    plan: SplitPlan
    encoding: Encoding

    def run(self, task: _Task) -> list[tuple[str, Quality, float]]:
        """Key, quality and CPU seconds of each model; masking and encoding are charged to the first."""
        started = time.process_time()
        training, testing = self.plan.split(self.rows.label, task.split)
        masked = self.masker.masked(task.masks, configuration=task.configuration)
        features = feature_matrix(masked.domains, masked.codes, training=training, encoding=self.encoding)
        results = []
        for model, key in zip(task.models, task.keys, strict=True):
            quality = try_model(model, features, masked.label, training=training, testing=testing, seed=task.split)
            ended = time.process_time()
            results.append((key, quality, ended - started))
            started = ended
        return results


def gold_standard(
    rows: CodedRows,
    configurations: Sequence[Configuration],
    *,
    label: str,
    models: Sequence[str] = GOLD_MODELS,
    plan: SplitPlan | None = None,
    encoding: Encoding = ENCODING,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> GoldStandard:
    """Train and test ``models`` on every configuration and split; what ``cache`` knows already is not done again."""
    names = tuple(dict.fromkeys(models))  # a model named twice would count twice
    check_models(names)
    plan = plan or SplitPlan()
    cache = cache if cache is not None else ResultCache()
    prefix = f"{rows.fingerprint}/{plan.id}-{encoding.id}"

    def key(configuration: Configuration, model: str, split: int) -> str:
        return f"{prefix}/{configuration.id}/{model}/{split}"

    tasks = []
    for split in range(plan.splits):
        for configuration in configurations:
            todo = tuple(model for model in names if not cache.holds(key(configuration, model, split), *_NUMBERS))
            if todo:
                keys = tuple(key(configuration, model, split) for model in todo)
                masks = dict(configuration.masks)
                tasks.append(_Task(configuration=configuration.name, masks=masks, split=split, models=todo, keys=keys))
    total, done = plan.splits * len(configurations), plan.splits * len(configurations) - len(tasks)
    trainer = _Trainer(rows=rows, masker=RowMasker(rows, label=label, seed=plan.seed), plan=plan, encoding=encoding)
    for task, results in in_parallel(_Trainer.run, trainer, tasks, jobs=jobs):
        for place, quality, seconds in results:
            cache.add(place, **asdict(quality), cpu_seconds=seconds)
        done += 1
        if progress is not None:
            progress(done, total, task.configuration)
    training, testing = plan.split(rows.label, 0)
    scores = tuple(_score(configuration, names, plan, cache, key) for configuration in configurations)
    return GoldStandard(
        models=names,
        splits=plan.splits,
        training_rows=len(training),
        test_rows=len(testing),
        scores=scores,
        cpu_seconds=sum(score.cpu_seconds for score in scores),
    )


def _score(
    configuration: Configuration,
    models: tuple[str, ...],
    plan: SplitPlan,
    cache: ResultCache,
    key: Callable[[Configuration, str, int], str],
) -> GoldScore:
    results = [[cache[key(configuration, model, split)] for split in range(plan.splits)] for model in models]
    rights, areas, balanced, seconds = (
        np.array([[result[name] for result in by_split] for by_split in results]) for name in _NUMBERS
    )
    low, high = plan.interval(rights.mean(axis=0).tolist())
    return GoldScore(
        configuration=configuration.name,
        id=configuration.id,
        accuracy=float(rights.mean()),
        # An accuracy is a share. A single split has no interval: its infinite edges stay.
        interval=(max(low, 0.0), min(high, 1.0)) if plan.splits > 1 else (low, high),
        accuracy_by_model={model: float(rights[i].mean()) for i, model in enumerate(models)},
        accuracy_by_split=tuple(rights.mean(axis=0).tolist()),
        auc=float(areas.mean()),
        auc_by_split=tuple(areas.mean(axis=0).tolist()),
        balanced_accuracy=float(balanced.mean()),
        balanced_accuracy_by_split=tuple(balanced.mean(axis=0).tolist()),
        cpu_seconds=float(seconds.sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """Rows and the configuration that masks them; a table that was clustered or sanitized is masked by none."""

    rows: CodedRows
    configuration: Configuration

    @property
    def name(self) -> str:
        return self.configuration.name


def gold_of(
    candidates: Sequence[Candidate],
    *,
    label: str,
    models: Sequence[str] = GOLD_MODELS,
    plan: SplitPlan | None = None,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> GoldStandard:
    """The gold standard of candidates whose rows are the same records in the same order: all see the same splits."""
    plan = plan or SplitPlan()
    tables: dict[int, list[int]] = {}
    for place, candidate in enumerate(candidates):
        tables.setdefault(id(candidate.rows), []).append(place)
    scores: dict[int, GoldScore] = {}
    gold = None
    for places in tables.values():
        done, total = plan.splits * len(scores), plan.splits * len(candidates)
        gold = gold_standard(
            candidates[places[0]].rows,
            [candidates[place].configuration for place in places],
            label=label,
            models=models,
            plan=plan,
            cache=cache,
            jobs=jobs,
            progress=None if progress is None else _further(progress, done, total),
        )
        scores.update(zip(places, gold.scores, strict=True))
    assert gold is not None, "there is at least one candidate"
    in_order = tuple(scores[place] for place in range(len(candidates)))
    return replace(gold, scores=in_order, cpu_seconds=sum(score.cpu_seconds for score in in_order))


def _further(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _, what: progress(before + done, total, what)


def cheap_plan(rows: int) -> SplitPlan:
    """Three splits; more for a small table, whose splits hold few test rows and cost little."""
    splits = 3 if rows >= 5_000 else 8
    return SplitPlan(splits=splits, test_share=1 / 3, most_training_rows=8_000, most_test_rows=8_000, seed=7)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TriedShortlist:
    """The shortlist in the order that the models found, and scores for all configurations that keep that order.

    ``scores`` puts the shortlist first, by accuracy, and leaves the others as the counts had them.
    """

    shortlist: tuple[GoldScore, ...]
    scores: Floats
    models: tuple[str, ...]
    plan: SplitPlan
    training_rows: int
    cpu_seconds: float

    @property
    def best(self) -> GoldScore:
        return self.shortlist[0]

    @property
    def like_best(self) -> tuple[bool, ...]:
        """Whose accuracy cannot be told from that of the first: split by split, the difference may be none."""
        first = np.array(self.best.accuracy_by_split)
        behind = [
            self.plan.interval((first - np.array(candidate.accuracy_by_split)).tolist()) for candidate in self.shortlist
        ]
        return tuple(low <= 0.0 for low, _ in behind)


def in_turns(first: Ints, second: Ints, size: int) -> Ints:
    """The first ``size`` different ones of two orders, taken from one and the other in turns.

    >>> in_turns(np.array([0, 1, 2, 3]), np.array([3, 0, 1, 2]), 3).tolist()
    [0, 3, 1]
    """
    woven = np.stack([first, second], axis=1).ravel()
    _, places = np.unique(woven, return_index=True)
    return woven[np.sort(places)][:size]


def try_shortlist(
    candidates: Sequence[Candidate],
    scores: ArrayLike,
    *,
    label: str,
    second: ArrayLike | None = None,
    shortlist: int = 8,
    models: Sequence[str] = CHEAP_MODELS,
    plan: SplitPlan | None = None,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> TriedShortlist:
    """Try the ``shortlist`` candidates with the highest ``scores`` and put them in order of their accuracy.

    Where a ``second`` opinion is given the two fill the shortlist in turns: what one overlooks the other may see.
    """
    counted = np.asarray(scores, dtype=np.float64)
    if shortlist < 1 or not candidates or counted.shape != (len(candidates),):
        raise MeasureError("trying a shortlist needs one score per configuration and a shortlist of at least one")
    plan = plan or cheap_plan(candidates[0].rows.rows)
    falling = np.argsort(-counted, kind="stable")
    others = falling if second is None else np.argsort(-np.asarray(second, dtype=np.float64), kind="stable")
    if len(others) != len(falling):
        raise MeasureError("a second opinion needs one score per configuration")
    places = in_turns(falling, others, shortlist)
    tried = gold_of(
        [candidates[i] for i in places],
        label=label,
        models=models,
        plan=plan,
        cache=cache,
        jobs=jobs,
        progress=progress,
    )
    # Equal accuracies stay in the order of the counts.
    order = np.argsort(-tried.accuracies, kind="stable")
    final = np.concatenate([places[order], falling[~np.isin(falling, places)]])
    ranked = np.empty(len(counted))
    ranked[final] = np.arange(len(counted), 0, -1)
    return TriedShortlist(
        shortlist=tuple(tried.scores[i] for i in order),
        scores=ranked,
        models=tried.models,
        plan=plan,
        training_rows=tried.training_rows,
        cpu_seconds=tried.cpu_seconds,
    )
