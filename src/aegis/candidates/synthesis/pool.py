"""The model: a large pool of tuples drawn from a tree, weighted so that every measured marginal comes out.

A tree of attributes, each with one parent, given the context (the label), is the distribution of most entropy with the
marginals of its edges. The pool is a draw from it; the weights move it by iterative proportional fitting to all other
marginals too, which gives the distribution nearest to the tree (in relative entropy) that has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.estimating import Floats

Codes = NDArray[np.int64]
Pair = tuple[int, int]

_FACTOR = 10.0  # how far one step may move a weight
_TINY = 1e-6


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
