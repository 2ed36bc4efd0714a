"""Fresh attackers: each learns to guess X from a release and side information, none has seen the training.

An attacker is fitted on some rows and guesses others. For numbers it minimises squared error, for categories (codes
0, 1, …) the share of wrong guesses. Those whose library is not installed are left out, and the report names who ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.components import apply_layers
from aegis.errors import SanitizerError

Guess = Callable[[Floats], Floats]
Kind = Literal["number", "category"]
_FLAGS = 6
_NEIGHBOURS, _PINNING = 40, 60  # records that a guess, or a window, is made of


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one party sees of each record: the release as numbers, and side information as numbers."""

    release: Floats
    side: Floats

    def features(self) -> Floats:
        """All of it in one matrix."""
        return np.hstack([self.release, self.side])

    def rows(self, chosen: slice | Ints) -> View:
        """Some of the records."""
        return View(release=self.release[chosen], side=self.side[chosen])


def with_flags(values: Floats, drawn: Ints, count: int) -> Floats:
    """Released values with a flag for each of ``count`` things that they were drawn from.

    There are six flags or more, so that a network that attacks one release after the other is compiled once.
    """
    return np.hstack([values[:, None], np.eye(max(_FLAGS, count))[drawn]])


def bits(stated: Floats, codes: Ints) -> Floats:
    """The logarithmic loss in bits of probabilities that were stated, one row a record, for the values ``codes``.

    >>> bits(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([1, 0])).tolist()
    [1.0, 2.0]
    """
    return np.asarray(-np.log2(np.maximum(stated[np.arange(len(codes)), codes], 1e-300)))


def stating(kind: str, features: Floats, codes: Ints, *, size: int, seed: int = 0) -> Guess:
    """An attacker that says how likely each of ``size`` values is: ``network``, ``trees`` or ``neighbours``.

    Nobody is surer than so many rows allow: two thousandths are spread as the values are among the rows.
    """
    common = (np.bincount(codes, minlength=size) + 0.5) / (len(codes) + 0.5 * size)
    if kind == "trees":
        shares = fit_tree_shares(features, codes, size=size, seed=seed)
    elif kind == "neighbours":
        shares = _neighbour_shares(features, codes, size=size)
    else:
        from aegis.candidates.sanitizers.networks import fit_layers

        layers = fit_layers(features, codes.astype(np.float64), classes=size, seed=seed)

        def shares(rows: Floats) -> Floats:
            logits = apply_layers(layers, rows)
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    return lambda rows: np.asarray(0.998 * shares(rows) + 0.002 * common)


def _neighbour_shares(features: Floats, codes: Ints, *, size: int) -> Guess:
    scale = standardized(features)
    tree = cKDTree(scale(features))
    count = min(_NEIGHBOURS, len(codes))
    common = np.bincount(codes, minlength=size) / len(codes)

    def shares(rows: Floats) -> Floats:
        near = tree.query(scale(rows), k=count, workers=-1)[1].reshape(len(rows), -1)
        votes = np.zeros((len(rows), size))
        np.add.at(votes, (np.repeat(np.arange(len(rows)), near.shape[1]), codes[near].ravel()), 1.0)
        return np.asarray((votes + common) / (count + 1.0))

    return shares


def standardized(train: Floats) -> Callable[[Floats], Floats]:
    """The shift and scale that give every column mean 0 and deviation 1 on the training rows."""
    center, spread = train.mean(axis=0), train.std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    return lambda rows: np.asarray((rows - center) / spread)


def linear_scores(side: Floats, x: Floats) -> Callable[[Floats], Floats]:
    """A least-squares summary of side information in one number."""
    design = np.hstack([np.ones((len(side), 1)), side])
    weights = np.linalg.lstsq(design, x, rcond=None)[0]
    return lambda rows: np.asarray(np.hstack([np.ones((len(rows), 1)), rows]) @ weights)


def fit_linear(features: Floats, x: Floats) -> Guess:
    """Ridge regression: where rows are few nothing is harder to beat."""
    scale = standardized(features)
    design = np.hstack([np.ones((len(x), 1)), scale(features)])
    shrink = np.diag(np.append(0.0, np.ones(features.shape[1])))
    weights = np.linalg.solve(design.T @ design + shrink, design.T @ x)
    return lambda rows: np.asarray(weights[0] + scale(rows) @ weights[1:])


def fit_neighbours(features: Floats, x: Floats, kind: Kind) -> Guess:
    """Mean, or commonest value, of the nearest records."""
    scale = standardized(features)
    tree = cKDTree(scale(features))
    count = min(_NEIGHBOURS, len(x))

    def guess(rows: Floats) -> Floats:
        near = tree.query(scale(rows), k=count, workers=-1)[1].reshape(len(rows), -1)
        if kind == "number":
            return np.asarray(x[near].mean(axis=1))
        votes = np.zeros((len(rows), int(x.max()) + 1))
        np.add.at(votes, (np.repeat(np.arange(len(rows)), near.shape[1]), x[near].astype(np.int64).ravel()), 1.0)
        return np.asarray(votes.argmax(axis=1), dtype=np.float64)

    return guess


def fit_trees(features: Floats, x: Floats, kind: Kind, *, seed: int = 0) -> Guess:
    """Boosted trees (scikit-learn)."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    if kind == "category" and len(np.unique(x)) < 2:
        constant = float(x[0])
        return lambda rows: np.full(len(rows), constant)
    model = (HistGradientBoostingRegressor if kind == "number" else HistGradientBoostingClassifier)(
        max_iter=60, max_leaf_nodes=31, learning_rate=0.15, min_samples_leaf=20, early_stopping=False, random_state=seed
    )
    # so few rows gain nothing from threads, and threads that wait for each other lose much on a busy machine
    with threadpool_limits(limits=1):
        model.fit(features, x)

    def guess(rows: Floats) -> Floats:
        with threadpool_limits(limits=1):
            return np.asarray(model.predict(rows), dtype=np.float64)

    return guess


def fit_tree_shares(features: Floats, codes: Ints, *, size: int, seed: int = 0) -> Guess:
    """How likely each of ``size`` values is for each row, by boosted trees (scikit-learn)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, learning_rate=0.15, min_samples_leaf=20, early_stopping=False, random_state=seed
    )
    if len(np.unique(codes)) < 2:
        constant = np.eye(size)[int(codes[0])]
        return lambda rows: np.tile(constant, (len(rows), 1))
    with threadpool_limits(limits=1):
        model.fit(features, codes)

    def shares(rows: Floats) -> Floats:
        chances = np.zeros((len(rows), size))
        with threadpool_limits(limits=1):
            chances[:, model.classes_.astype(np.int64)] = model.predict_proba(rows)
        return chances

    return shares


def fit_network(features: Floats, x: Floats, kind: Kind, *, seed: int = 0) -> Guess:
    """Two hidden layers, larger than any player of the training (JAX)."""
    from aegis.candidates.sanitizers.networks import fit_layers

    layers = fit_layers(features, x, classes=1 if kind == "number" else int(x.max()) + 1, seed=seed)

    def guess(rows: Floats) -> Floats:
        out = apply_layers(layers, rows)
        return out[:, 0] if kind == "number" else np.asarray(out.argmax(axis=1), dtype=np.float64)

    return guess


def fit_histogram(release: Floats, score: Floats, x: Floats) -> Callable[..., Floats]:
    """The referee for one-dimensional releases: mean of X in each cell of a grid of quantiles of (f, score).

    Sparse cells lean on their column's regression on the score, so that few rows do not make the referee wild.
    """
    cells = int(np.clip(np.sqrt(len(x) / 60.0), 4, 192))
    levels = np.arange(1, cells) / cells
    edges_f, edges_s = np.unique(np.quantile(release, levels)), np.unique(np.quantile(score, levels))

    def place(f: Floats, s: Floats) -> Ints:
        return np.asarray(np.searchsorted(edges_f, f) * (edges_s.size + 1) + np.searchsorted(edges_s, s))

    size = (edges_f.size + 1) * (edges_s.size + 1)
    where = place(release, score)
    counts = np.bincount(where, minlength=size).astype(float)
    sums = np.bincount(where, weights=x - score, minlength=size)
    # a cell of few rows is pulled towards the score alone
    table = sums / (counts + 2.0)
    return lambda f, s: np.asarray(s + table[place(f, s)])


def fit_table(release: Floats, side: Floats, x: Floats) -> Guess:
    """For a release of few symbols: the commonest X for each (symbol, cell of side information)."""
    shares = fit_table_shares(release, side, x.astype(np.int64), size=int(x.max()) + 1)
    return lambda rows: np.asarray(shares(rows).argmax(axis=1), dtype=np.float64)


def fit_table_shares(release: Floats, side: Floats, codes: Ints, *, size: int) -> Guess:
    """How likely each of ``size`` values is for each (symbol, cell of side information), by the rows that show it."""
    # side information is cut into cells by how it ranks each class, at most 12 cells a class
    levels = 12 if size == 2 else 4
    summaries = [linear_scores(side, (codes == c).astype(float)) for c in range(1 if size == 2 else size)]
    cuts = [np.unique(np.quantile(summary(side), np.arange(1, levels) / levels)) for summary in summaries]
    symbols = int(release.max()) + 2  # the last stands for all that these rows do not show

    def places(f: Floats, rows: Floats) -> Ints:
        """The symbol and the cell of side information, a number for each class: most combinations never occur."""
        shown = np.minimum(f.astype(np.int64), symbols - 1)
        return np.column_stack(
            [shown, *(np.searchsorted(cut, summary(rows)) for summary, cut in zip(summaries, cuts, strict=True))]
        )

    present, cells = np.unique(places(release[:, 0], side), axis=0, return_inverse=True)
    votes = np.zeros((len(present), size))
    np.add.at(votes, (cells.ravel(), codes), 1.0)
    # ties and combinations that these rows do not show fall back on the symbol's own values, symbols that never occur
    # on those of all rows
    by_symbol = np.zeros((symbols, size))
    np.add.at(by_symbol, (release[:, 0].astype(np.int64), codes), 1.0)
    by_symbol[by_symbol.sum(axis=1) == 0] = by_symbol.sum(axis=0)
    by_symbol += (np.bincount(codes, minlength=size) + 0.5) / (len(codes) + 0.5 * size)
    by_symbol /= by_symbol.sum(axis=1, keepdims=True)
    votes += by_symbol[present[:, 0]]
    stated = votes / votes.sum(axis=1, keepdims=True)
    place = {row.tobytes(): cell for cell, row in enumerate(present)}

    def shares(rows: Floats) -> Floats:
        # the features of a table attacker are the symbol in the first column and side information in the others
        distinct, inverse = np.unique(places(rows[:, 0], rows[:, 1:]), axis=0, return_inverse=True)
        cells = [place.get(row.tobytes()) for row in distinct]
        answers = [
            by_symbol[row[0]] if cell is None else stated[cell] for row, cell in zip(distinct, cells, strict=True)
        ]
        return np.asarray(answers)[inverse.ravel()]

    return shares


def pinning_share(train: Floats, x: Floats, rows: Floats, truth: Floats, *, epsilon: float) -> float:
    """Share of held-out records inside the densest window of width 2ε among the X of their nearest records."""
    if len(x) < _PINNING:
        raise SanitizerError("there are too few rows to measure exposure; give at least 60")
    scale = standardized(train)
    near = cKDTree(scale(train)).query(scale(rows), k=_PINNING, workers=-1)[1]
    values = np.sort(x[near], axis=1)
    # a window starts at each neighbour in turn; count how many it covers
    best = np.zeros(len(rows))
    centre = values.mean(axis=1)
    for start in range(_PINNING):
        covered = (values <= (values[:, [start]] + 2 * epsilon)).sum(axis=1) - start
        better = covered > best
        best = np.where(better, covered, best)
        centre = np.where(better, values[:, start] + epsilon, centre)
    return float((np.abs(truth - centre) <= epsilon).mean())


def available(names: Sequence[str] = ("network", "trees", "neighbours")) -> tuple[str, ...]:
    """The attackers whose libraries are installed."""
    needs = {"network": "jax", "trees": "sklearn"}
    return tuple(name for name in names if name not in needs or find_spec(needs[name]) is not None)
