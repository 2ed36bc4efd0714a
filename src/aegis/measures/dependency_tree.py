"""How well more than two attributes would predict together, from pairs: the best pair, grown along a tree.

Attributes are added one at a time. Each is taken to depend on the label and on one attribute that is there already,
the one that makes it most redundant, so that pair tables are all it takes: P(c | label, the others) becomes
P(c | label, parent). The cells of the tree are followed with their probabilities, and its accuracy is what deciding for
the likeliest label in every cell gets right. Which attribute comes next is decided by the information it adds beyond
the most redundant partner, records left out; one that adds nothing is not added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.measures.leave_one_out import PRIOR_RECORDS, leave_one_out_gain
from aegis.measures.pair_ground import Key, PairGround, put_together

LARGEST = 5
"""Attributes in the largest tree."""

_LEVELS = 12  # of an attribute in a tree; more are put together, or a cell would hold no records
_CELLS = 512  # that are followed; the others are represented by some of them, none preferred
_CHUNK = 2_000  # configurations whose pairs are laid out at a time

Places = NDArray[np.int64]
Node = tuple[int, Key]
"""An attribute, by its place, under a mask."""


def label_weights(counts: Floats) -> Floats:
    """Weights with which every label that occurs counts alike, labels last; weighted, as many records as before.

    >>> label_weights(np.array([30.0, 10.0, 0.0])).tolist()
    [0.6666666666666666, 2.0, 0.0]
    """
    occurring = counts > 0
    share = counts.sum(axis=-1, keepdims=True) / np.maximum(occurring.sum(axis=-1, keepdims=True), 1)
    weights: Floats = np.divide(share, counts, out=np.zeros_like(counts, dtype=np.float64), where=occurring)
    return weights


def tree_accuracies(ground: PairGround, bits: Floats, accuracies: Floats, *, balanced: bool = False) -> Floats:
    """Accuracies of trees of 3, 4, … attributes: configurations down, sizes across.

    ``bits`` and ``accuracies`` are those of the pairs: configurations down, pairs across. ``balanced`` lets every
    label count alike.
    """
    grower = _Grower(ground=ground, balanced=balanced)
    by_size = np.empty((len(bits), LARGEST - 2))
    for begin in range(0, len(bits), _CHUNK):
        part = slice(begin, min(begin + _CHUNK, len(bits)))
        for row, branches in enumerate(_planned(grower, bits[part], accuracies[part], begin), start=begin):
            by_size[row] = grower.grown(branches)
    return by_size


def _planned(grower: _Grower, bits: Floats, accuracies: Floats, begin: int) -> list[tuple[tuple[Node, Node], ...]]:
    """For each configuration its best pair and what is added to it, each as (parent, attribute)."""
    ground = grower.ground
    m, n = len(ground.names), len(bits)
    pairs = np.array(list(combinations(range(m), 2)))
    together = np.zeros((n, m, m))
    together[:, pairs[:, 0], pairs[:, 1]] = together[:, pairs[:, 1], pairs[:, 0]] = bits
    configurations = ground.summary.configurations[begin : begin + n]
    keys = [[(c.masks[name], c.label_mask) for name in ground.names] for c in configurations]
    alone = np.array([[grower.alone(place, key) for place, key in enumerate(row)] for row in keys])
    # Equal accuracies are common where one label dominates: the pair that knows more goes first.
    start = pairs[np.argmax(accuracies + 1e-6 * bits, axis=1)]
    rows = np.arange(n)
    used = np.zeros((n, m), dtype=bool)
    used[rows, start[:, 0]] = used[rows, start[:, 1]] = True
    plans = [[((a, keys[i][a]), (b, keys[i][b]))] for i, (a, b) in enumerate(start.tolist())]
    growing = np.ones(n, dtype=bool)
    for _ in range(LARGEST - 2):
        beyond = np.where(used[:, None, :], together - alone[:, None, :], np.inf)
        gains = np.where(used, -np.inf, beyond.min(axis=2))
        added = gains.argmax(axis=1)
        growing &= gains[rows, added] > 0
        parents = beyond[rows, added].argmin(axis=1)
        used[rows, added] = True
        for i in np.flatnonzero(growing):
            a, b = int(parents[i]), int(added[i])
            plans[i].append(((a, keys[i][a]), (b, keys[i][b])))
    return [tuple(plan) for plan in plans]


@dataclass(slots=True, kw_only=True, eq=False)
class _Grower:
    """Grows trees; what configurations share is worked out once."""

    ground: PairGround
    balanced: bool = False
    _counts: dict[tuple[int, int], Floats] = field(default_factory=dict)
    _levels: dict[Node, Floats] = field(default_factory=dict)
    _alone: dict[Node, float] = field(default_factory=dict)
    _grown: dict[tuple[tuple[Node, Node], ...], Floats] = field(default_factory=dict)

    def alone(self, place: int, key: Key) -> float:
        """The bits that one attribute tells, records left out."""
        if (place, key) not in self._alone:
            own = self._own((place, key))
            self._alone[place, key] = max(float(leave_one_out_gain(own.T)), 0.0)
        return self._alone[place, key]

    def grown(self, branches: tuple[tuple[Node, Node], ...]) -> Floats:
        """The accuracy of the tree after each branch but the first; where it stops growing it stays."""
        if branches not in self._grown:
            self._grown[branches] = self._grow(branches)
        return self._grown[branches]

    def _grow(self, branches: tuple[tuple[Node, Node], ...]) -> Floats:
        (first, second), rest = branches[0], branches[1:]
        counts = self._table(first, second)
        labels, records = len(counts), counts.sum()
        prior = PRIOR_RECORDS * counts.sum(axis=(1, 2)) / records
        cells = counts.reshape(labels, -1)
        shrunk = cells + prior[:, None]
        chances = cells.sum(axis=0) / records * (shrunk / shrunk.sum(axis=0))
        where = dict(zip((first[0], second[0]), np.indices(counts.shape[1:]).reshape(2, -1), strict=True))
        worth = label_weights(counts.sum(axis=(1, 2)))[:, None] if self.balanced else None
        accuracies = [_right(chances, worth)]
        for parent, added in rest:
            chances, where = _represented(chances, where)
            conditional = _conditional(self._table(parent, added))[:, where[parent[0]]]
            chances = (chances[:, :, None] * conditional).reshape(labels, -1)
            levels = conditional.shape[2]
            where = {place: np.repeat(level, levels) for place, level in where.items()}
            where[added[0]] = np.tile(np.arange(levels), chances.shape[1] // levels)
            accuracies.append(_right(chances, worth))
        return np.array((accuracies + accuracies[-1:] * LARGEST)[1 : LARGEST - 1])

    def _table(self, first: Node, second: Node) -> Floats:
        """Labels × levels × levels of two attributes under their masks."""
        if first[0] > second[0]:
            return self._table(second, first).swapaxes(1, 2)
        places = first[0], second[0]
        if places not in self._counts:
            dense = self.ground.table(*(self.ground.names[place] for place in places))
            self._counts[places] = np.ascontiguousarray(np.moveaxis(dense, 2, 0))
        return self._onto(first).T @ self._labelled(self._counts[places], first[1]) @ self._onto(second)

    def _onto(self, node: Node) -> Floats:
        """Which share of each group of values becomes each level."""
        if node not in self._levels:
            name = self.ground.names[node[0]]
            onto = self.ground.onto(name, node[1])
            shares = np.eye(self.ground.pairs.groups[name].size) if onto is None else onto
            mass = self._labelled(self._sample(name), node[1]).sum(axis=0) @ shares
            shares, mass = shares[:, mass > 0], mass[mass > 0]
            if len(mass) > _LEVELS:
                shares = put_together(shares, mass, most=_LEVELS, ordered=self.ground.ordered(name))
            self._levels[node] = shares
        return self._levels[node]

    def _own(self, node: Node) -> Floats:
        """Labels × levels of one attribute."""
        return self._labelled(self._sample(self.ground.names[node[0]]), node[1]) @ self._onto(node)

    def _sample(self, name: str) -> Floats:
        """Labels × groups of one attribute in the sample."""
        return np.asarray(self.ground.pairs.parts[name].sum(axis=0).T, dtype=np.float64)

    def _labelled(self, counts: Floats, key: Key) -> Floats:
        change = None if key[1] is None else self.ground.summary.label_masks[key[1]][1]
        return counts if change is None else np.asarray(change.push(counts, axis=0), dtype=np.float64)


def _right(chances: Floats, worth: Floats | None) -> float:
    """What deciding for the likeliest label in every cell gets right, labels weighted by what they are worth."""
    return float((chances if worth is None else chances * worth).max(axis=0).sum())


def _conditional(counts: Floats) -> Floats:
    """P(added | label, parent) from labels × parent × added, shrunken to what it is without the label."""
    both = counts.sum(axis=0)
    overall = both.sum(axis=0) / both.sum()
    plain = (both + overall) / (both.sum(axis=1, keepdims=True) + 1.0)
    conditional: Floats = (counts + PRIOR_RECORDS * plain) / (counts.sum(axis=2, keepdims=True) + PRIOR_RECORDS)
    return conditional


def _represented(chances: Floats, where: dict[int, Places]) -> tuple[Floats, dict[int, Places]]:
    """At most `_CELLS` cells in place of all, each drawn as often as its mass asks for (systematic sampling)."""
    mass = chances.sum(axis=0)
    if len(mass) <= _CELLS:
        return chances, where
    reached = np.cumsum(mass)
    drawn = np.searchsorted(reached, (np.arange(_CELLS) + 0.5) * (reached[-1] / _CELLS))
    cells, times = np.unique(np.minimum(drawn, len(mass) - 1), return_counts=True)
    weights = times * (reached[-1] / _CELLS) / mass[cells]
    return chances[:, cells] * weights, {place: level[cells] for place, level in where.items()}
