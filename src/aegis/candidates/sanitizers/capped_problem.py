"""What is asked of a release under caps: the law, what errors cost, how much each group may err, and the caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.costs import Cost, bayes
from aegis.candidates.sanitizers.law import Law
from aegis.errors import SanitizerError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CappedProblem:
    """A law, what errors cost every party, how much each authorised group may err, and the caps."""

    law: Law
    cost: Cost
    distortions: tuple[float, ...]
    caps: Caps

    def __post_init__(self) -> None:
        if not self.law.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        if len(self.distortions) != len(self.law.authorized):
            raise SanitizerError("give each authorised group its own distortion")
        if min(self.distortions) < 0:
            raise SanitizerError("a distortion is zero or more")

    @property
    def silent_distortions(self) -> tuple[float, ...]:
        """What each group errs by without a release; allowing more changes nothing."""
        return tuple(float(bayes(self.cost, table.T).sum()) for table in self.law.authorized)

    @property
    def silent_losses(self) -> tuple[float, ...]:
        """What each adversary is left with when nothing is released."""
        return tuple(float(bayes(self.cost, table.T).sum()) for table in self.law.adversaries)

    @property
    def limits(self) -> tuple[float, ...]:
        """What each group may err by: no more than without a release, where more was allowed."""
        return tuple(map(min, self.distortions, self.silent_distortions))

    @property
    def scale(self) -> float:
        """The largest loss that any release could leave, of which rounding and gains are small shares."""
        return max(1e-12, *self.silent_losses)

    def distortions_of(self, release: Floats) -> tuple[float, ...]:
        """What each group errs by with a release."""
        return tuple(released_loss(table, release, self.cost) for table in self.law.authorized)

    def losses_of(self, release: Floats) -> tuple[float, ...]:
        """What each adversary is left with after a release."""
        return tuple(released_loss(table, release, self.cost) for table in self.law.adversaries)

    def met(self, missed: Sequence[float]) -> bool:
        """Whether what is missed of each distortion is nothing but rounding."""
        return max(missed) <= 1e-6 * max(1e-12, *self.silent_distortions)


def released_loss(table: Floats, release: Floats, cost: Cost) -> float:
    """The smallest expected cost of guessing from a cell and a symbol; ``table[x, cell]`` are joint shares.

    The joint shares need not add up to 1: the loss of part of a law is linear in it.
    """
    return float(bayes(cost, table.T[:, None, :] * release.T[None, :, :]).sum())


def symbol_losses(table: Floats, symbols: Floats, cost: Cost) -> Floats:
    """What each symbol (row) leaves whoever sees its cell: the smallest expected cost of guessing."""
    return np.asarray(bayes(cost, symbols[:, None, :] * table.T).sum(axis=1))
