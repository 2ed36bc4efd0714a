"""What is asked of a release under caps: the law, what errors cost, how much each group may err, and the caps."""

from __future__ import annotations

from dataclasses import dataclass

from aegis.arrays import Floats
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.costs import Cost, bayes
from aegis.candidates.sanitizers.law import Law
from aegis.errors import SanitizerError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CappedProblem:
    """A law, what errors cost each side, how much each authorised group may err, and the caps."""

    law: Law
    authorized_costs: tuple[Cost, ...]
    adversary_cost: Cost
    distortions: tuple[float, ...]
    caps: Caps

    def __post_init__(self) -> None:
        if not self.law.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        if len(self.distortions) != len(self.law.authorized) or len(self.authorized_costs) != len(self.law.authorized):
            raise SanitizerError("give each authorised group its own distortion and its own cost")
        if min(self.distortions) < 0:
            raise SanitizerError("a distortion is zero or more")

    @property
    def silent_distortions(self) -> tuple[float, ...]:
        """What each group errs by without a release; allowing more changes nothing."""
        return tuple(
            float(bayes(cost, table.T).sum())
            for cost, table in zip(self.authorized_costs, self.law.authorized, strict=True)
        )

    @property
    def silent_losses(self) -> tuple[float, ...]:
        """What each adversary is left with when nothing is released."""
        return tuple(float(bayes(self.adversary_cost, table.T).sum()) for table in self.law.adversaries)

    def distortions_of(self, release: Floats) -> tuple[float, ...]:
        """What each group errs by with a release."""
        return tuple(
            released_loss(table, release, cost)
            for cost, table in zip(self.authorized_costs, self.law.authorized, strict=True)
        )

    def losses_of(self, release: Floats) -> tuple[float, ...]:
        """What each adversary is left with after a release."""
        return tuple(released_loss(table, release, self.adversary_cost) for table in self.law.adversaries)


def released_loss(table: Floats, release: Floats, cost: Cost) -> float:
    """The smallest expected cost of guessing from a cell and a symbol; ``table[x, cell]`` are joint shares.

    The joint shares need not add up to 1: the loss of part of a law is linear in it.
    """
    return float(bayes(cost, table.T[:, None, :] * release.T[None, :, :]).sum())
