"""The models of the exhaustive way, by name. All get the same features; none is tuned to a data set.

They are declared as data: scikit-learn is imported when one is built. The forest and the boosted trees are as the
library ships them. Their light forms are smaller and held back, for evaluations that must train thousands: what a leaf
says must rest on 10 or 40 rows, or small tables are learnt by heart (benchmarks/gold_models.py). Their small forms are
smaller still, for trying a shortlist.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import rankdata

from aegis.arrays import Codes, Floats
from aegis.errors import MeasureError, MissingExtraError

_FOREST, _BOOSTED = "ensemble.RandomForestClassifier", "ensemble.HistGradientBoostingClassifier"
_HELD_BACK = {"max_leaf_nodes": 8, "min_samples_leaf": 40, "l2_regularization": 1.0, "early_stopping": False}
GOLD_MODELS = ("logistic-regression", "random-forest", "boosted-trees")
"""Whose mean accuracy is the gold standard: a line, a forest and boosted trees."""
LIGHT_MODELS = ("logistic-regression", "light-random-forest", "light-boosted-trees")
"""The same with smaller trees."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """A class of scikit-learn as ``module.Class``, and its parameters beside the seed."""

    path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = True

    def build(self, seed: int) -> Any:
        """A fresh model."""
        module, name = self.path.split(".")
        random = {"random_state": seed} if self.seeded else {}
        return getattr(import_module(f"sklearn.{module}"), name)(**self.parameters, **random)


def check_names(names: Collection[str], known: Collection[str], *, without_library: Collection[str] = ()) -> None:
    """Raise unless every name is known, and the library is there if one of them needs it."""
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"there is no model called {', '.join(map(repr, unknown))}" if unknown else "no model is named"
        raise MeasureError(f"{problem}; use {', '.join(known)}")
    if all(name in without_library for name in names):
        return
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError(feature="training models", extra="evaluate") from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Train in one thread: models are tried in parallel, and threads that wait would count as work.

    A model that stops before its tolerance is a model too, and its figures say how good: its warnings are not shown.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        yield


_ESTIMATORS = {
    "logistic-regression": Estimator("linear_model.LogisticRegression", {"max_iter": 300}),
    "random-forest": Estimator(_FOREST, {"n_jobs": 1}),
    "boosted-trees": Estimator(_BOOSTED, {"early_stopping": False}),
    "linear-svm": Estimator("svm.LinearSVC", {"dual": False, "max_iter": 2000}),
    "kernel-svm": Estimator("svm.SVC", {"kernel": "rbf"}),
    "sgd": Estimator("linear_model.SGDClassifier", {"loss": "log_loss"}),
    "naive-bayes": Estimator("naive_bayes.GaussianNB", {"var_smoothing": 1e-3}, seeded=False),
    # The paper's network: input, two hidden layers of 100 neurons with ReLU, output.
    "mlp": Estimator(
        "neural_network.MLPClassifier", {"hidden_layer_sizes": (100, 100), "max_iter": 200, "early_stopping": True}
    ),
    "light-random-forest": Estimator(_FOREST, {"n_estimators": 100, "min_samples_leaf": 10, "n_jobs": 1}),
    "light-boosted-trees": Estimator(_BOOSTED, {"max_iter": 60, **_HELD_BACK}),
    "small-random-forest": Estimator(_FOREST, {"n_estimators": 30, "min_samples_leaf": 10, "n_jobs": 1}),
    "small-boosted-trees": Estimator(_BOOSTED, {"max_iter": 25, "learning_rate": 0.2, "max_bins": 63, **_HELD_BACK}),
}

MODELS = tuple(_ESTIMATORS)


def check_models(names: tuple[str, ...]) -> None:
    """Raise unless every name is a model and the library is there."""
    check_names(names, MODELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How good a model's answers are on rows it has not seen.

    ``accuracy`` is the share it gets right. ``auc`` is the chance that a record with a label is given a higher score
    for it than a record without, averaged over labels: it still tells models apart where all of them answer the
    commonest label. ``balanced_accuracy`` is about decisions again, every label counting alike: the share it gets right
    of each label, averaged, when it answers the label whose chance is highest *for its share of the training rows*
    (a model that gives no chances answers as ever).
    """

    accuracy: float
    auc: float
    balanced_accuracy: float


def try_model(name: str, X: Floats, y: Codes, *, training: Codes, testing: Codes, seed: int) -> Quality:
    """Train a fresh model on some rows and try it on others."""
    truth, seen = y[testing], y[training]
    if X.shape[1] == 0 or len(np.unique(seen)) < 2:
        # Nothing to learn from: the commonest label is all a model can say.
        accuracy = float((truth == np.bincount(seen).argmax()).mean())
        return Quality(accuracy=accuracy, auc=0.5, balanced_accuracy=1.0 / max(len(np.unique(truth)), 1))
    model = _ESTIMATORS[name].build(seed)
    with one_thread():
        model.fit(X[training], seen)
        by_chances = hasattr(model, "predict_proba")
        ask = model.predict_proba if by_chances else model.decision_function
        scores = np.asarray(ask(X[testing]), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    classes = model.classes_
    answers = classes[scores.argmax(axis=1)]
    shares = np.bincount(seen)[classes] / len(seen)
    balanced = classes[(scores / shares).argmax(axis=1)] if by_chances else answers
    return Quality(
        accuracy=float((answers == truth).mean()),
        auc=area_under_curve(scores, classes, truth),
        balanced_accuracy=float(np.mean([(balanced[truth == label] == label).mean() for label in np.unique(truth)])),
    )


def area_under_curve(scores: Floats, classes: Codes, truth: Codes) -> float:
    """The area under the curve of each label against the others, averaged over the labels that occur."""
    areas = []
    for place, label in enumerate(classes[:1] if len(classes) == 2 else classes):
        of_label = truth == label
        positives, negatives = int(of_label.sum()), int((~of_label).sum())
        if positives and negatives:
            ranks = rankdata(scores[:, place])[of_label].sum()
            areas.append((ranks - positives * (positives + 1) / 2) / (positives * negatives))
    return float(np.mean(areas)) if areas else 0.5
