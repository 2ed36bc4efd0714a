"""From noisy counts to counts that could be (not negative, with the right sums, without mere noise), and the model.

The model is a large pool of tuples drawn from a tree, weighted so that every measured marginal comes out. A tree of
attributes, each with one parent, given the context (the label), is the distribution of most entropy with the marginals
of its edges. The pool is a draw from it; the weights move it by iterative proportional fitting to all other marginals
too, which gives the distribution nearest to the tree (in relative entropy) that has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aegis.arrays import Codes, Floats

_LEAST = 1e-9
Pair = tuple[int, int]
_FACTOR = 10.0  # how far one step may move a weight
_TINY = 1e-6


def nearest(noisy: Floats, totals: Floats) -> Floats:
    """The nearest counts (in squares) that are not negative, each column (the last axis) summing to its total.

    >>> nearest(np.array([[7.0], [2.0], [-3.0]]), np.array([6.0])).ravel().tolist()
    [5.5, 0.5, 0.0]
    """
    flat = noisy.reshape(-1, noisy.shape[-1])
    ordered = np.sort(flat, axis=0)[::-1]
    places = np.arange(1, len(flat) + 1)[:, None]
    excess = (np.cumsum(ordered, axis=0) - totals) / places
    above = np.maximum((ordered > excess).sum(axis=0) - 1, 0)
    moved = np.maximum(flat - excess[above, np.arange(flat.shape[1])], 0.0)
    return np.asarray(moved.reshape(noisy.shape))


def totals_of(noisy: list[Floats], sigmas: list[float]) -> Floats:
    """The counts of the contexts: the mean of what all marginals say, those of little noise counting for more."""
    weights = [1 / (table.shape[0] * sigma**2) for table, sigma in zip(noisy, sigmas, strict=True)]
    sums = np.average([table.sum(axis=0) for table in noisy], axis=0, weights=weights)
    return np.maximum(sums, 1.0)


def denoised(noisy: Floats, *expectations: Floats, sigma: float) -> Floats:
    """What is expected, moved towards what was measured where the difference stands out of the noise.

    Differences are shrunk by the garrote (Gao 1998), which leaves large ones as they are, with the threshold that
    Stein's unbiased estimate of its risk prefers, never above the universal one. Of several expectations the one of the
    least risk is taken.
    """
    chosen = [_threshold(noisy - expected, sigma) for expected in expectations]
    place = min(range(len(chosen)), key=lambda place: chosen[place].risk)
    expected = expectations[place]
    apart = noisy - expected
    room = np.maximum(np.abs(apart) / sigma, _LEAST)
    moved = expected + apart * np.maximum(1.0 - (chosen[place].threshold / room) ** 2, 0.0)
    return np.asarray(np.maximum(moved, 0.0))


class _Chosen(NamedTuple):
    """A threshold in deviations of the noise, and the risk that is estimated of it."""

    threshold: float
    risk: float


def _threshold(apart: Floats, sigma: float) -> _Chosen:
    scaled = np.sort(np.abs(apart).ravel() / sigma)
    size = scaled.size
    squares = scaled**2
    below = np.append(0.0, np.cumsum(squares))
    inverse = np.append(0.0, np.cumsum(1 / np.maximum(squares, _LEAST)[::-1]))[::-1]
    rank = np.arange(size + 1)
    threshold = np.append(0.0, scaled)
    # Differences up to the threshold t become 0; a larger one, x, becomes x - t^2 / x.
    risk = size + below - 2 * rank + (threshold**4 + 2 * threshold**2) * inverse
    allowed = threshold <= math.sqrt(2 * math.log(max(size, 2)))
    best = int(np.argmin(np.where(allowed, risk, np.inf)))
    return _Chosen(threshold=float(threshold[best]), risk=float(risk[best]))


def with_margins(table: Floats, first: Floats, second: Floats, *, rounds: int = 8) -> Floats:
    """The table (first × second × context) fitted to two margins by iterative proportional fitting."""
    fitted = table + _LEAST
    for _ in range(rounds):
        fitted = fitted * (first / np.maximum(fitted.sum(axis=1), _LEAST))[:, None]
        fitted = fitted * (second / np.maximum(fitted.sum(axis=0), _LEAST))[None]
    return fitted


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Pool:
    """``codes[i]`` are the codes of attribute i, ``context`` that of the label, ``weights`` how many records it is."""

    sizes: tuple[int, ...]
    contexts: int
    codes: list[Codes]
    context: Codes
    weights: Floats

    def cells(self, pair: Pair) -> Codes:
        """The cell of each tuple in the marginal of two attributes and the context."""
        first, second = pair
        return (self.codes[first] * self.sizes[second] + self.codes[second]) * self.contexts + self.context

    def marginal(self, pair: Pair) -> Floats:
        """What the model expects of two attributes and the context."""
        shape = (self.sizes[pair[0]], self.sizes[pair[1]], self.contexts)
        return self._summed(self.cells(pair), int(np.prod(shape))).reshape(shape)

    def _summed(self, cells: Codes, size: int) -> Floats:
        return np.asarray(np.bincount(cells, weights=self.weights, minlength=size), dtype=np.float64)

    def fit(self, pairs: Mapping[Pair, Floats], singles: Sequence[Floats], *, rounds: int) -> float:
        """Weigh the tuples until the marginals are as given; answers how far they are off, as a share of all records.

        Marginals that contradict each other cannot all be met: the rounds end where they balance.
        """
        cells = {pair: self.cells(pair) for pair in pairs}
        alone = [codes * self.contexts + self.context for codes in self.codes]
        for _ in range(rounds):
            for pair, wanted in pairs.items():
                self._step(cells[pair], wanted.ravel(), _FACTOR)
            for codes, wanted in zip(alone, singles, strict=True):
                self._step(codes, wanted.ravel(), _FACTOR**2)
        total = max(float(self.weights.sum()), _TINY)
        off = [np.abs(self._summed(cells[p], wanted.size) - wanted.ravel()).sum() for p, wanted in pairs.items()]
        return float(np.mean(off)) / total if off else 0.0

    def _step(self, cells: Codes, wanted: Floats, most: float) -> None:
        now = self._summed(cells, wanted.size)
        factor = np.where(now > _TINY, wanted / np.maximum(now, _TINY), 1.0)
        self.weights *= np.clip(factor, 1 / most, most)[cells]

    @property
    def effective(self) -> float:
        """How many tuples of equal weight would say as much."""
        return float(self.weights.sum() ** 2 / np.maximum((self.weights**2).sum(), _TINY))

    def drawn(self, rows: int, rng: np.random.Generator) -> Codes:
        """Which tuples to take: each about as often as its weight says, and no more often than that plus one."""
        share = self.weights / self.weights.sum() * rows
        ends = np.cumsum(share)
        points = np.arange(rows) + rng.random()
        taken = np.searchsorted(ends, np.minimum(points, ends[-1] * (1 - 1e-12)), side="right")
        return rng.permutation(np.minimum(taken, len(share) - 1)).astype(np.int64)


def draw_pool(
    singles: Sequence[Floats], edges: Sequence[Pair], tables: Mapping[Pair, Floats], size: int, rng: np.random.Generator
) -> Pool:
    """A pool of about ``size`` tuples from a tree: ``edges`` lead from a parent to its child, roots have none.

    ``tables`` holds the marginal of each edge in the order of its ends.
    """
    contexts = singles[0].shape[1]
    totals = singles[0].sum(axis=0)
    each = np.maximum(np.round(size * totals / totals.sum()), 1).astype(np.int64)
    context = np.repeat(np.arange(contexts), each)
    codes: list[Codes | None] = [None] * len(singles)
    children = {child for _, child in edges}
    for attribute, table in enumerate(singles):
        if attribute not in children:
            codes[attribute] = draw_given(table, context, rng)
    for parent, child in edges:
        parent_codes = codes[parent]
        assert parent_codes is not None, "edges come after the parent's own"
        table = tables[parent, child]
        by_parent = np.moveaxis(table, 0, 1).reshape(table.shape[1], -1)
        codes[child] = draw_given(by_parent, parent_codes * contexts + context, rng)
    weights = np.repeat(totals / each, each)
    return Pool(
        sizes=tuple(len(table) for table in singles),
        contexts=contexts,
        codes=[code for code in codes if code is not None],
        context=context,
        weights=weights,
    )


def draw_given(table: Floats, columns: Codes, rng: np.random.Generator) -> Codes:
    """A code for each entry of ``columns``, by the column of ``table`` that it names."""
    sums = np.cumsum(np.maximum(table, 0.0), axis=0)
    empty = sums[-1] <= 0
    sums[:, empty] = np.arange(1, len(table) + 1)[:, None]
    sums /= sums[-1]
    drawn = np.empty(len(columns), dtype=np.int64)
    order = np.argsort(columns, kind="stable")
    bounds = np.searchsorted(columns[order], np.arange(table.shape[1] + 1))
    points = rng.random(len(columns))
    for column in range(table.shape[1]):
        rows = order[bounds[column] : bounds[column + 1]]
        drawn[rows] = np.searchsorted(sums[:, column], points[rows], side="right")
    return np.minimum(drawn, len(table) - 1)


def evened(codes: Codes, context: Codes, wanted: Floats, rng: np.random.Generator) -> Codes:
    """The codes, of which as few as possible are changed so that each context has as many of each as ``wanted``.

    Drawn one by one, the codes of a few hundred rows would depart from the model by chance, and an attribute would seem
    to tell something of the label that it does not.
    """
    moved = codes.copy()
    for place in range(wanted.shape[1]):
        rows = rng.permutation(np.flatnonzero(context == place))
        counts = np.maximum(wanted[:, place], 0.0)
        if not len(rows) or counts.sum() <= 0:
            continue
        rows = rows[np.argsort(codes[rows], kind="stable")]
        ends = np.round(np.cumsum(counts / counts.sum()) * len(rows) + rng.random() - 0.5).astype(np.int64)
        target = np.diff(np.clip(np.append(0, ends), 0, len(rows)))
        target[int(np.argmax(target))] += len(rows) - int(target.sum())
        held = np.bincount(codes[rows], minlength=len(counts))
        first = np.cumsum(held) - held
        spare = np.arange(len(rows)) - first[codes[rows]] >= target[codes[rows]]
        moved[rows[spare]] = np.repeat(np.arange(len(counts)), np.maximum(target - held, 0))
    return moved
