"""Which models the gold standard should train: the ones that do best themselves, whatever a selector thinks of it.

Candidates for the line, the forest and the boosted trees are trained on the first heavy configurations of every table
of `advisor_selection.py` and judged by their own test results: accuracy, log loss, area under the curve and balanced
accuracy. No score of the advisor is looked at. A model that learns a small table by heart does worse than one that
is held back, and then ranks configurations by how much it overfits them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from threadpoolctl import threadpool_limits

from _result import write
from _selection_data import CASES, Case, configurations, counted
from aegis.evaluation.coded_rows import RowMasker, feature_matrix, read_rows
from aegis.evaluation.models import area_under_curve
from aegis.evaluation.splits import SplitPlan

SMALL, SMALL_SPLITS, LARGE, LARGE_SPLITS = 20, 3, 6, 1
"""Configurations and splits: a small table is cheap and its results vary more."""


def boosted(**options: Any) -> Callable[[int], Any]:
    given = {"max_iter": 60, "early_stopping": False, **options}
    return lambda seed: HistGradientBoostingClassifier(**given, random_state=seed)


def forest(least: int) -> Callable[[int], Any]:
    return lambda seed: RandomForestClassifier(100, min_samples_leaf=least, random_state=seed)


CANDIDATES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "line": ("line", lambda seed: LogisticRegression(max_iter=300, random_state=seed)),
    "line, penalty 10 times": ("line", lambda seed: LogisticRegression(C=0.1, max_iter=300, random_state=seed)),
    "line, penalty by cross-validation": (
        "line",
        lambda seed: LogisticRegressionCV(
            Cs=[0.001, 0.01, 0.1, 1, 10], cv=5, scoring="neg_log_loss", max_iter=300, random_state=seed
        ),
    ),
    "forest, 1 row a leaf": ("forest", forest(1)),
    "forest, 3 rows a leaf": ("forest", forest(3)),
    "forest, 5 rows a leaf": ("forest", forest(5)),
    "forest, 10 rows a leaf": ("forest", forest(10)),
    "forest, 20 rows a leaf": ("forest", forest(20)),
    "boosted, 100 trees of 31 leaves": ("boosted", boosted(max_iter=100, max_leaf_nodes=31)),
    "boosted, 60 trees of 15 leaves": ("boosted", boosted(max_leaf_nodes=15)),
    "boosted, 60 trees of 8 leaves": ("boosted", boosted(max_leaf_nodes=8)),
    "boosted, 60 trees of 4 leaves": ("boosted", boosted(max_leaf_nodes=4)),
    "boosted, 8 leaves, stopped early": ("boosted", boosted(max_iter=100, max_leaf_nodes=8, early_stopping=True)),
    "boosted, 8 leaves of 40 rows, l2": (
        "boosted",
        boosted(max_leaf_nodes=8, min_samples_leaf=40, l2_regularization=1.0),
    ),
}
KEPT = ("line", "forest, 10 rows a leaf", "boosted, 8 leaves of 40 rows, l2")
BEFORE = ("line", "forest, 3 rows a leaf", "boosted, 60 trees of 15 leaves")


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    cases = [case for case in CASES if not case.aside]
    with threadpool_limits(limits=1):
        by_case = {case.name: tried(case) for case in cases}
    rows = []
    for name, (kind, _) in CANDIDATES.items():
        of = {case: found[name] for case, found in by_case.items()}
        means = {key: round(float(np.mean([one[key] for one in of.values()])), 4) for key in next(iter(of.values()))}
        rows.append({"name": name, "kind": kind, **means, "by_table": of})
        print(f"{name:36s}", "  ".join(f"{key} {value:.4f}" for key, value in means.items()), flush=True)
    write(
        "gold_models",
        {"kept": KEPT, "before": BEFORE, "strength": "heavy", "candidates": rows},
    )


def tried(case: Case) -> dict[str, dict[str, float]]:
    """The mean qualities of every candidate on one table."""
    opened, known = counted(case)
    rows = read_rows(opened, known)
    small = rows.rows < 2_000
    plan = SplitPlan(splits=SMALL_SPLITS if small else LARGE_SPLITS, most_training_rows=8_000, most_test_rows=8_000)
    masker = RowMasker(rows, label=case.label)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CANDIDATES}
    chosen = configurations(known, count=40, strength="heavy", seed=0)[: SMALL if small else LARGE]
    for configuration in chosen:
        masked = masker.masked(dict(configuration.masks))
        for split in range(plan.splits):
            training, testing = plan.split(rows.label, split)
            X = feature_matrix(masked.domains, masked.codes, training=training)
            for name, (_, build) in CANDIDATES.items():
                found[name].append(
                    quality(build(split), X[training], rows.label[training], X[testing], rows.label[testing])
                )
    print(case.name, flush=True)
    return {
        name: {key: round(float(np.mean([o[key] for o in each])), 4) for key in each[0]} for name, each in found.items()
    }


def quality(model: Any, X: Any, y: Any, X_test: Any, wanted: Any) -> dict[str, float]:
    started = time.process_time()
    chances = model.fit(X, y).predict_proba(X_test)
    spent = time.process_time() - started
    classes = model.classes_
    shares = np.bincount(y)[classes] / len(y)
    balanced = classes[(chances / shares).argmax(axis=1)]
    own = chances[np.arange(len(wanted)), np.searchsorted(classes, wanted)]
    return {
        "accuracy": float((classes[chances.argmax(axis=1)] == wanted).mean()),
        "log_loss": float(-np.log(np.maximum(own, 1e-6)).mean()),
        "auc": area_under_curve(chances, classes, wanted),
        "balanced_accuracy": float(np.mean([(balanced[wanted == one] == one).mean() for one in np.unique(wanted)])),
        "cpu_seconds": spent,
    }


if __name__ == "__main__":
    main()
