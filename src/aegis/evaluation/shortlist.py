"""Shortlist from counts, then try the shortlist: cheap models on a few configurations instead of all models on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.errors import MeasureError
from aegis.evaluation.gold import Candidate, GoldScore, gold_of
from aegis.evaluation.result_cache import ResultCache
from aegis.evaluation.splits import SplitPlan
from aegis.progress import Progress

CHEAP_MODELS = ("logistic-regression", "small-random-forest", "small-boosted-trees")
"""One of each kind that the gold standard trains, the trees small."""

MOST_ROWS = 50_000
"""A shortlist is tried on a sample of at most this many rows; a split uses less than half of them."""


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
    scores: NDArray[np.float64]
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


def in_turns(first: NDArray[np.int64], second: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The first ``size`` different ones of two orders, taken from one and the other in turns.

    >>> in_turns(np.array([0, 1, 2, 3]), np.array([3, 0, 1, 2]), 3).tolist()
    [0, 3, 1]
    """
    woven = np.stack([first, second], axis=1).ravel()
    _, places = np.unique(woven, return_index=True)
    return woven[np.sort(places)][:size]


SECOND_OPINION = "label-probe"
"""The pair score that fills shortlists in turns with the default one: a line through all attributes, where that one
looks at decisions."""


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
