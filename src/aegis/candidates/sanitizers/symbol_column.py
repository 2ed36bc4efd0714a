"""A private column as codes and a release of it as symbols, and what a party knows of it as one of a few cells.

A cell is every combination of a party's values, or what a model makes of them. The map from columns to cells is fitted
on rows of its own. Counts of other rows are then draws of one fixed law, which confidence sets need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.capped_problem import Cost
from aegis.candidates.sanitizers.evaluator import Drawn
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism, draw_symbols, symbol_matrix
from aegis.candidates.sanitizers.posterior import fit_category_belief

AUTHORIZED_LEVELS = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)
ADVERSARY_LEVELS = (0.02, 0.06, 0.12, 0.25, 0.5, 0.75, 0.88, 0.94, 0.98)  # where it is surest the cap binds
_MOST_EXACT = 24  # combinations of values that are cells of their own
_FEWEST = 40  # rows that a cell of its own needs, in those that choose the cells
_MOST_CLASSES = 12  # beyond, the commonest forecasts have a cell and the others share one
_TREE_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """A map from what a party knows to cells 0 … ``count`` − 1; ``exact`` where cells are all that it knows."""

    count: int
    exact: bool
    of: Callable[[Floats], Ints]


def fit_cells(side: Floats, codes: Ints, *, size: int, levels: Sequence[float], ordered: bool, fine: bool) -> Cells:
    """Cells for a column of ``size`` values, given as codes; ``ordered`` for bins of a number.

    ``fine`` divides forecasts of one value once more, by how sure they are.
    """
    combinations, counts = np.unique(np.round(side, 9), axis=0, return_counts=True)
    if len(combinations) <= _MOST_EXACT and counts.min() >= _FEWEST // 4:
        return _exact(combinations)
    model = len(codes) * 2 // 3
    learn = attackers.fit_trees if "trees" in attackers.available() else attackers.fit_neighbours
    if size == 2 or ordered:
        score = learn(side[:model][:_TREE_ROWS], codes[:model][:_TREE_ROWS].astype(np.float64), "number")
        cuts = np.unique(np.quantile(score(side[model:]), levels))
        return Cells(count=cuts.size + 1, exact=False, of=lambda rows: np.searchsorted(cuts, score(rows)))
    quick = size > _MOST_CLASSES or "trees" not in attackers.available()
    if quick:
        belief = fit_category_belief(side[:model], codes[:model], size=size, quick=True)
        shares: Callable[[Floats], Floats] = belief.prior
    else:
        shares = attackers.fit_tree_shares(side[:model][:_TREE_ROWS], codes[:model][:_TREE_ROWS], size=size)
    return _forecast(shares, side[model:], size, fine=fine)


def _exact(combinations: Floats) -> Cells:
    place = {row.tobytes(): number for number, row in enumerate(combinations + 0.0)}
    unseen = len(combinations)

    def of(rows: Floats) -> Ints:
        distinct, inverse = np.unique(np.round(rows, 9), axis=0, return_inverse=True)
        codes = np.array([place.get((row + 0.0).tobytes(), unseen) for row in distinct], dtype=np.int64)
        return np.asarray(codes[inverse.ravel()])

    return Cells(count=unseen + 1, exact=True, of=of)


def _forecast(shares: Callable[[Floats], Floats], side: Floats, size: int, *, fine: bool) -> Cells:
    """The likeliest value and, where enough rows have it, whether it is likelier than usual."""
    likely = shares(side)
    guess, top = likely.argmax(axis=1), likely.max(axis=1)
    records = np.bincount(guess, minlength=size)
    common = [
        int(value) for value in np.argsort(-records, kind="stable")[:_MOST_CLASSES] if records[value] >= _FEWEST // 2
    ]
    first: dict[int, int] = {}
    middle = np.full(size, np.inf)
    count = 0
    for value in common:
        first[value] = count
        count += 1
        if fine and records[value] >= 2 * _FEWEST:
            middle[value] = float(np.quantile(top[guess == value], 0.6))
            count += 1
    place = np.array([first.get(value, count) for value in range(size)])

    def of(rows: Floats) -> Ints:
        chances = shares(rows)
        likeliest = chances.argmax(axis=1)
        return np.asarray(place[likeliest] + (chances.max(axis=1) > middle[likeliest]))

    return Cells(count=count + 1, exact=False, of=of)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SymbolColumn:
    """The private column as codes, with the mechanism that a table of probabilities makes of it.

    ``largest_cost`` is the largest loss of an attack that loses at most ``slack`` more than the best. Where values are
    tuples, ``parts`` holds for each column the number of its value in every tuple.
    """

    codes: Ints
    size: int
    cost: Cost
    largest_cost: float
    slack: float
    mechanism_of: Callable[[Floats], CategoryMechanism | BinMechanism]
    category: bool
    parts: tuple[Ints, ...] = ()

    @property
    def partitions(self) -> tuple[Ints, ...]:
        """What may be told of a value: itself, or one column of the tuple that it is."""
        return (np.arange(self.size), *self.parts)

    @property
    def events(self) -> Floats | None:
        """The values that share a column's value, one row of zeros and ones each; None where values are no tuples."""
        sets = [np.eye(int(part.max()) + 1)[part].T for part in self.parts]
        return np.vstack(sets) if sets else None

    def drawn(self, release: Floats, rng: np.random.Generator) -> Drawn:
        """The mechanism of a table of probabilities, and symbols that it drew for every row."""
        mechanism = self.mechanism_of(release)
        return Drawn(mechanism, symbol_matrix(mechanism, draw_symbols(release, self.codes, rng)))
