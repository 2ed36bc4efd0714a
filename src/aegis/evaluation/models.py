"""The models of the exhaustive way, by name. All get the same features; none is tuned to a data set.

The forest and the boosted trees are as the library ships them. Their light forms are smaller and held back, for
evaluations that must train thousands: what a leaf says must rest on 10 or 40 rows, or small tables are learnt by heart
(benchmarks/gold_models.py). Their small forms are smaller still, for trying a shortlist.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from aegis.arrays import Codes
from aegis.errors import MeasureError, MissingExtraError

Matrix = NDArray[np.float64]


def _logistic_regression(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300, random_state=seed)


def _random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=seed)


def _light_random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=10, n_jobs=1, random_state=seed)


def _small_random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=30, min_samples_leaf=10, n_jobs=1, random_state=seed)


def _boosted_trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(early_stopping=False, random_state=seed)


def _light_boosted_trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )


def _small_boosted_trees(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=25,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        l2_regularization=1.0,
        learning_rate=0.2,
        max_bins=63,
        early_stopping=False,
        random_state=seed,
    )


def _linear_svm(seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=False, max_iter=2000, random_state=seed)


def _kernel_svm(seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(kernel="rbf", random_state=seed)


def _sgd(seed: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", random_state=seed)


def _naive_bayes(seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-3)


def _mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    # The paper's network: input, two hidden layers of 100 neurons with ReLU, output.
    return MLPClassifier(hidden_layer_sizes=(100, 100), max_iter=200, early_stopping=True, random_state=seed)


_BUILDERS: dict[str, Callable[[int], Any]] = {
    "logistic-regression": _logistic_regression,
    "random-forest": _random_forest,
    "boosted-trees": _boosted_trees,
    "linear-svm": _linear_svm,
    "kernel-svm": _kernel_svm,
    "sgd": _sgd,
    "naive-bayes": _naive_bayes,
    "mlp": _mlp,
    "light-random-forest": _light_random_forest,
    "light-boosted-trees": _light_boosted_trees,
    "small-random-forest": _small_random_forest,
    "small-boosted-trees": _small_boosted_trees,
}

MODELS = tuple(_BUILDERS)
GOLD_MODELS = ("logistic-regression", "random-forest", "boosted-trees")
"""Whose mean accuracy is the gold standard: a line, a forest and boosted trees."""
LIGHT_MODELS = ("logistic-regression", "light-random-forest", "light-boosted-trees")
"""The same with smaller trees."""


def check_models(names: tuple[str, ...]) -> None:
    """Raise unless every name is a model and the library is there."""
    unknown = [name for name in names if name not in _BUILDERS]
    if unknown or not names:
        raise MeasureError(f"there is no model called {', '.join(unknown) or '(none given)'}; use {', '.join(MODELS)}")
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError(feature="training models", extra="evaluate") from None


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


def try_model(name: str, X: Matrix, y: Codes, *, training: Codes, testing: Codes, seed: int) -> Quality:
    """Train a fresh model on some rows and try it on others."""
    truth, seen = y[testing], y[training]
    if X.shape[1] == 0 or len(np.unique(seen)) < 2:
        # Nothing to learn from: the commonest label is all a model can say.
        accuracy = float((truth == np.bincount(seen).argmax()).mean())
        return Quality(accuracy=accuracy, auc=0.5, balanced_accuracy=1.0 / max(len(np.unique(truth)), 1))
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    model = _BUILDERS[name](seed)
    # One thread each: configurations are tried in parallel, and waiting threads would count as work.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        # A model that stops before its tolerance is still a model; its quality says how good.
        warnings.simplefilter("ignore")
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


def area_under_curve(scores: Matrix, classes: Codes, truth: Codes) -> float:
    """The area under the curve of each label against the others, averaged over the labels that occur."""
    areas = []
    for place, label in enumerate(classes[:1] if len(classes) == 2 else classes):
        of_label = truth == label
        positives, negatives = int(of_label.sum()), int((~of_label).sum())
        if positives and negatives:
            ranks = rankdata(scores[:, place])[of_label].sum()
            areas.append((ranks - positives * (positives + 1) / 2) / (positives * negatives))
    return float(np.mean(areas)) if areas else 0.5
