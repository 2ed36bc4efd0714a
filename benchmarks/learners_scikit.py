"""Our learners against scikit-learn's: the same rows, the same splits, the same settings, on every public table.

The line is held against LogisticRegression and Ridge on scaled numbers and indicators, the forest against RandomForest,
the boosted trees against HistGradientBoosting, all with the settings that are registered. Trees of scikit-learn are
tried twice: on the same indicators, as people use them, and (``same_bins``) on the numbers of our own bins, where both
see exactly the same table. Differences are ours minus theirs, paired by split; points of accuracy, or hundredths of R²
where the label is a number. A forest of twelve trees is one of many that chance could have drawn, on either side: each
split is scored by the mean of several. Being ahead is no fault: our trees may cut by the share of the label where
theirs have one indicator per category, and our forest draws each row once.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from _result import dataset, write
from _selection_data import CASES
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.evaluation.coded_rows import feature_matrix
from aegis.learners.boosting import Boosting
from aegis.learners.candidate import MaskTables, Part, unmasked
from aegis.learners.features import Split
from aegis.learners.forest import Forest
from aegis.learners.goal import GOALS
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.line import Line
from aegis.learners.sample import Sample, draw_sample

MOST_TRAINING, MOST_TESTING, SPLITS, SPLITS_OF_SMALL, SMALL = 6_000, 4_000, 5, 20, 2_000
AIM = 0.3
FORESTS = 8
"""So many forests of each side are grown on a split."""
NUMBERS = {
    "income": "hours-per-week",
    "air-quality": "CO",
    "hotel-reservations": "avg_price_per_room",
    "german": "credit_amount",
}
"""Labels that are numbers."""

Models = dict[str, Callable[[], Any]]


def theirs(*, numbers: bool, seed: int) -> Models:
    """scikit-learn's with the settings of ours."""
    line, forest, boosting = LEARNERS["line"], LEARNERS["forest"], LEARNERS["boosting"]
    assert isinstance(line, Line)
    assert isinstance(forest, Forest)
    assert isinstance(boosting, Boosting)
    grown = {"n_estimators": forest.trees, "min_samples_leaf": forest.least_rows, "random_state": seed}
    boosted = {
        "max_iter": boosting.trees,
        "learning_rate": boosting.rate,
        "max_leaf_nodes": boosting.leaves,
        "min_samples_leaf": boosting.least_rows,
        "l2_regularization": boosting.penalty,
        "early_stopping": False,
    }
    if numbers:
        return {
            "line": lambda: Ridge(alpha=line.penalty),
            "forest": lambda: RandomForestRegressor(max_features=1 / 3, **grown),
            "boosting": lambda: HistGradientBoostingRegressor(**boosted),
        }
    return {
        "line": lambda: LogisticRegression(C=1 / line.penalty, max_iter=300),
        "forest": lambda: RandomForestClassifier(**grown),
        "boosting": lambda: HistGradientBoostingClassifier(**boosted),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default="")
    chosen = [name for name in parser.parse_args().tables.split(",") if name]
    warnings.simplefilter("ignore")
    found = []
    with threadpool_limits(limits=1):
        for case in CASES:
            if not case.file or (chosen and case.name not in chosen):
                continue
            labels = [case.label, *([NUMBERS[case.name]] if case.name in NUMBERS else [])]
            for label in labels:
                roles = Roles(label=label, identifying=case.identifying)
                opened = open_dataset(dataset(case.file), roles=roles, missing=case.missing)
                found.append({"table": case.name, "label": label, **compared(draw_sample(opened, label=label))})
                for name, each in found[-1]["learners"].items():
                    print(case.name, label, name, each, flush=True)
    ends = {"most_behind_points": min, "most_ahead_points": max}
    write(
        "learners_scikit",
        {
            "aim_points": AIM,
            **{
                end: {
                    name: pick(each["learners"][name]["difference_points"] for each in found)
                    for name in found[0]["learners"]
                }
                for end, pick in ends.items()
            },
            "tables": found,
        },
    )


def compared(sample: Sample) -> dict[str, Any]:
    target = sample.target()
    goal = GOALS["accuracy" if target.classes else "r2"]
    tables = MaskTables(sample)
    splits = SPLITS_OF_SMALL if sample.rows < SMALL else SPLITS
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for number in range(splits):
        part = _part(sample, number)
        split = unmasked(tables).split(part, draw=0)
        domains = {name: histogram.domain for name, histogram in sample.histograms.items()}
        codes = {name: column.astype(np.int64) for name, column in sample.codes.items()}
        indicators = feature_matrix(domains, codes, training=part.training)
        tried: dict[str, list[tuple[float, float]]] = {}
        for draw in range(FORESTS):
            for name, build in theirs(numbers=target.classes == 0, seed=draw).items():
                if draw and name != "forest":
                    continue
                answers = {
                    f"ours {name}": _ours(name, split, number * FORESTS + draw),
                    f"theirs {name}": _fitted(build(), indicators[part.training], indicators[part.testing], part),
                }
                if name != "line":
                    training, testing = split.bins
                    answers[f"theirs {name}, same_bins"] = _fitted(build(), training.T, testing.T, part)
                for who, (expected, spent) in answers.items():
                    values = goal.by_row(expected, part.testing_target, part.training_target)
                    tried.setdefault(who, []).append((float(values.mean()), spent))
        for who, draws in tried.items():
            scores.setdefault(who, []).append(float(np.mean([score for score, _ in draws])))
            seconds.setdefault(who, []).append(float(np.median([spent for _, spent in draws])))
    learners = {}
    for name in LEARNERS:
        mine = np.array(scores[f"ours {name}"])
        apart = 100 * (mine - np.array(scores[f"theirs {name}"]))
        learners[name] = {
            "ours": round(float(mine.mean()), 4),
            "theirs": round(float(np.mean(scores[f"theirs {name}"])), 4),
            "difference_points": round(float(apart.mean()), 2),
            "standard_error": round(float(apart.std(ddof=1)) / len(apart) ** 0.5, 2),
            "our_cpu_seconds": round(float(np.median(seconds[f"ours {name}"])), 4),
            "their_cpu_seconds": round(float(np.median(seconds[f"theirs {name}"])), 4),
        }
        if name != "line":
            same = 100 * (mine - np.array(scores[f"theirs {name}, same_bins"]))
            learners[name]["same_bins_difference_points"] = round(float(same.mean()), 2)
            learners[name]["same_bins_standard_error"] = round(float(same.std(ddof=1)) / len(same) ** 0.5, 2)
    part = _part(sample, 0)
    return {
        "goal": goal.name,
        "training_rows": len(part.training),
        "test_rows": len(part.testing),
        "splits": splits,
        "learners": learners,
    }


def _part(sample: Sample, number: int) -> Part:
    target = sample.target()
    order = np.random.default_rng(number).permutation(sample.rows)
    testing = np.sort(order[: min(MOST_TESTING, sample.rows // 3)])
    training = np.sort(order[len(testing) :][:MOST_TRAINING])
    return Part(
        number=number,
        training=training,
        testing=testing,
        training_target=target.at(training),
        testing_target=target.at(testing),
    )


def _ours(name: str, split: Split, seed: int) -> tuple[NDArray[np.float64], float]:
    expect(LEARNERS[name], split, seed=seed)  # compiled and prepared before it is timed
    started = time.process_time()
    expected = expect(LEARNERS[name], split, seed=seed)
    return expected, time.process_time() - started


def _fitted(model: Any, training: Any, testing: Any, part: Part) -> tuple[NDArray[np.float64], float]:
    target = part.training_target
    started = time.process_time()
    model.fit(training, target.labels if target.classes else target.numbers)
    if not target.classes:
        return np.asarray(model.predict(testing))[:, None], time.process_time() - started
    chances = np.zeros((len(testing), target.classes))
    chances[:, model.classes_] = model.predict_proba(testing)
    return chances, time.process_time() - started


if __name__ == "__main__":
    main()
