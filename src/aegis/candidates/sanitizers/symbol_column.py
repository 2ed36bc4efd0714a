"""A private column as codes, and a release of it as symbols: what is drawn, and what each group makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.audited_column import Reconstruction
from aegis.candidates.sanitizers.costs import Cost
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism, draw_symbols
from aegis.candidates.sanitizers.posterior import Belief
from aegis.candidates.sanitizers.split import Split

SymbolMechanism = CategoryMechanism | BinMechanism
_FLAGS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SymbolColumn:
    """The private column as codes, with the mechanism that a table of probabilities makes of it.

    ``largest_cost`` is the largest loss of an attack that loses at most ``slack`` more than the best. Where values are
    tuples, ``parts`` holds for each column the number of its value in every tuple.
    """

    codes: Ints
    truth: Floats
    size: int
    cost: Cost
    largest_cost: float
    slack: float
    made: Callable[[Floats], SymbolMechanism]
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


def drawn(column: SymbolColumn, split: Split, release: Floats) -> tuple[SymbolMechanism, Floats]:
    """The mechanism of a table of probabilities, and symbols that it drew for every row."""
    mechanism = column.made(release)
    return mechanism, symbol_matrix(mechanism, draw_symbols(release, column.codes, split.rng))


def symbol_matrix(mechanism: SymbolMechanism, symbols: Ints) -> Floats:
    """Symbols as numbers: the code and, for a number, one flag for each symbol, as a mixture has them."""
    if isinstance(mechanism, CategoryMechanism):
        return symbols[:, None].astype(np.float64)
    flags = np.eye(max(_FLAGS, mechanism.release.shape[1]))[symbols]
    return np.hstack([symbols[:, None].astype(np.float64), flags])


def group_losses(
    column: SymbolColumn, split: Split, beliefs: Sequence[Belief], mechanism: SymbolMechanism, release: Floats
) -> list[Floats]:
    """What the reconstructor of each authorised group loses on the tuning rows."""
    return [
        split.losses(beliefs[group], mechanism, release, column.truth, split.tuned, group=group)
        for group in range(split.groups)
    ]


def reconstructions_of(
    column: SymbolColumn,
    split: Split,
    beliefs: Sequence[Belief],
    mechanism: SymbolMechanism,
    release: Floats,
    *,
    tuned_too: bool = False,
) -> tuple[Reconstruction, ...]:
    """What the reconstructor of each authorised group reaches on the measured rows, each within its distortion."""
    return tuple(
        split.reconstruction(beliefs[group], mechanism, release, column.truth, group=group, tuned_too=tuned_too)
        for group in range(split.groups)
    )
