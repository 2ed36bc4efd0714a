"""The models that anonymizers are compared with, by name. None is tuned to a data set.

The learners of the race are taken where no others are asked for. The six classifiers are those of the MO-OBAM paper and
all accept weights of rows, which the models of the exhaustive way do not need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.counts.joint import divisor
from aegis.evaluation.model_table import ModelTable
from aegis.evaluation.models import Estimator, check_names, one_thread
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target

_ESTIMATORS = {
    "decision-tree": Estimator("tree.DecisionTreeClassifier", {"min_samples_leaf": 5}),
    "logistic-regression": Estimator("linear_model.LogisticRegression", {"max_iter": 300}),
    "naive-bayes": Estimator("naive_bayes.GaussianNB", {"var_smoothing": 1e-3}, seeded=False),
    "random-forest": Estimator(
        "ensemble.RandomForestClassifier", {"n_estimators": 100, "min_samples_leaf": 2, "n_jobs": 1}
    ),
    "neural-network": Estimator(
        "neural_network.MLPClassifier", {"hidden_layer_sizes": (32,), "alpha": 1e-2, "max_iter": 60}
    ),
    "svm": Estimator("svm.SVC", {"kernel": "rbf"}),
}

CLASSIFIERS = tuple(_ESTIMATORS)
EXPLAINED = "decision-tree"
"""Whose feature importance is followed, as in the paper."""


def check_models(names: tuple[str, ...]) -> None:
    """Raise unless every name is a learner of the race or a classifier, and the library of the classifiers is there."""
    check_names(names, (*LEARNERS, *CLASSIFIERS), without_library=tuple(LEARNERS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """The F1 score of one model on rows it has not seen, and the weight it gave each feature (trees only)."""

    f1: float
    importances: Floats | None


def try_classifier(
    name: str, X: Floats, y: Codes, *, training: Codes, testing: Codes, positive: int | None, balanced: bool, seed: int
) -> Trial:
    """Train a fresh model on some rows and score its answers on others; ``balanced`` gives every label equal weight."""
    seen, truth = y[training], y[testing]
    if X.shape[1] == 0:  # nothing to learn from: the commonest label is all a model can say
        answers = np.full(len(truth), np.bincount(seen).argmax())
        return Trial(f1=f1_score(truth, answers, positive=positive), importances=None)
    model = _ESTIMATORS[name].build(seed)
    with one_thread():
        model.fit(X[training], seen, **({"sample_weight": balanced_weights(seen)} if balanced else {}))
        answers = model.predict(X[testing])
    importances = getattr(model, "feature_importances_", None) if name == EXPLAINED else None
    return Trial(f1=f1_score(truth, answers, positive=positive), importances=importances)


def try_learner(
    name: str,
    table: ModelTable,
    label: Codes,
    *,
    training: Codes,
    testing: Codes,
    positive: int | None,
    balanced: bool,
    seed: int,
) -> Trial:
    """Train a learner of the race on some rows of ``table``, on its codes as they are, and score its answers on others.

    The answer is the likeliest label; ``balanced``, the one whose chance is highest for its share of the training rows.
    """
    columns = tuple(
        SplitColumn(
            CodedColumn.of(domain),
            training=table.codes[column][training].astype(np.int32),
            testing=table.codes[column][testing].astype(np.int32),
        )
        for column, domain in table.domains.items()
    )
    target = Target.of_classes(label[training], max(2, int(label.max()) + 1))
    split = Split(columns=columns, target=target, test_rows=len(testing))
    chances = expect(LEARNERS[name], split, seed=seed)
    if balanced:
        shares = target.shares()
        chances = np.where(shares > 0, chances / divisor(shares), 0.0)
    return Trial(f1=f1_score(label[testing], chances.argmax(axis=1), positive=positive), importances=None)


def balanced_weights(labels: Codes) -> Floats:
    """Weights that give every label the same sum, and all rows together their number.

    >>> balanced_weights(np.array([0, 0, 0, 1])).tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    counts = np.bincount(labels)
    return np.asarray(len(labels) / ((counts > 0).sum() * np.maximum(counts, 1)))[labels]


def f1_score(truth: Codes, answers: Codes, *, positive: int | None) -> float:
    """The harmonic mean of precision and recall of one label, or the mean of that over all labels.

    >>> f1_score(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]), positive=1)
    0.5
    """
    labels = np.unique(np.concatenate([truth, answers])) if positive is None else np.array([positive])
    right = ((answers == truth)[:, None] & (truth[:, None] == labels)).sum(axis=0)
    named = (answers[:, None] == labels).sum(axis=0) + (truth[:, None] == labels).sum(axis=0)
    return float(np.mean(2 * right / np.maximum(named, 1)))
