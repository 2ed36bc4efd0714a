"""Shortlist from counts, then try the shortlist: cheap models on a few configurations instead of all models on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.errors import MeasureError
from aegis.evaluation.coded_rows import CodedRows
from aegis.evaluation.gold import GoldScore, Progress, gold_standard
from aegis.evaluation.result_cache import ResultCache
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration

CHEAP_MODELS = ("logistic-regression", "small-boosted-trees")


def cheap_plan(rows: int) -> SplitPlan:
    """Three splits; more for a small table, whose splits hold few test rows and cost little."""
    splits = 3 if rows >= 5_000 else 8
    return SplitPlan(splits=splits, test_share=1 / 3, most_training_rows=8_000, most_test_rows=8_000, seed=7)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verified:
    """The shortlist in the order that the models found, and scores for all configurations that keep that order.

    ``scores`` puts the shortlist first, by accuracy, and leaves the others as the counts had them.
    """

    shortlist: tuple[GoldScore, ...]
    scores: NDArray[np.float64]
    cpu_seconds: float

    @property
    def best(self) -> GoldScore:
        return self.shortlist[0]


def verify(
    rows: CodedRows,
    configurations: Sequence[Configuration],
    scores: ArrayLike,
    *,
    label: str,
    shortlist: int = 8,
    models: Sequence[str] = CHEAP_MODELS,
    plan: SplitPlan | None = None,
    cache: ResultCache | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verified:
    """Try the ``shortlist`` configurations with the highest ``scores`` and put them in order of their accuracy."""
    counted = np.asarray(scores, dtype=np.float64)
    if shortlist < 1 or counted.shape != (len(configurations),):
        raise MeasureError("verifying needs one score per configuration and a shortlist of at least one")
    falling = np.argsort(-counted, kind="stable")
    places = falling[:shortlist]
    tried = gold_standard(
        rows,
        [configurations[i] for i in places],
        label=label,
        models=models,
        plan=plan or cheap_plan(rows.rows),
        cache=cache,
        jobs=jobs,
        progress=progress,
    )
    # Equal accuracies stay in the order of the counts.
    order = np.argsort(-tried.accuracies, kind="stable")
    final = np.concatenate([places[order], falling[shortlist:]])
    ranked = np.empty(len(counted))
    ranked[final] = np.arange(len(counted), 0, -1)
    return Verified(shortlist=tuple(tried.scores[i] for i in order), scores=ranked, cpu_seconds=tried.cpu_seconds)
