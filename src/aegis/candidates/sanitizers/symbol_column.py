"""A private column as codes, and a release of it as symbols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import with_flags
from aegis.candidates.sanitizers.costs import Cost
from aegis.candidates.sanitizers.evaluator import Drawn
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism, draw_symbols


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


def symbol_matrix(mechanism: CategoryMechanism | BinMechanism, symbols: Ints) -> Floats:
    """Symbols as numbers: the code and, for a number, one flag for each symbol, as a mixture has them."""
    if isinstance(mechanism, CategoryMechanism):
        return symbols[:, None].astype(np.float64)
    return with_flags(symbols.astype(np.float64), symbols, mechanism.release.shape[1])
