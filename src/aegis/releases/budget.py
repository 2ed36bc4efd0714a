"""A privacy budget: what differentially private releases of one table spent together, and the limit they keep.

Budgets are added up in the two ways that are proved. ρ of zero-concentrated differential privacy adds (Bun and Steinke
2016, lemma 1.7); a pure ε is at most ρ = ε² / 2 (proposition 1.4), and a total of ρ is at most
ε = ρ + 2 √(ρ ln(1/δ)) at any δ (proposition 1.3). ε and δ of releases that state no ρ add as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.errors import LedgerError

ROUNDING = 1e-9
"""How far a sum of rounded parts may stray above a limit that it meets exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """ε and δ of approximate differential privacy, and ρ of the zero-concentrated kind where it is known.

    >>> Budget(epsilon=1, delta=1e-6, rho=0.02).describe()
    'ε = 1, δ = 1e-06, ρ = 0.02'
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise LedgerError("a privacy budget is an epsilon or a rho; give one of them")
        for name in ("epsilon", "delta", "rho"):
            number = getattr(self, name)
            if number is not None and not (
                isinstance(number, int | float) and math.isfinite(number) and number >= 0 and number is not True
            ):
                raise LedgerError(f"{name} of a privacy budget is a finite number from 0 up")
        if self.delta >= 1:
            raise LedgerError("delta of a privacy budget is a probability below 1")

    def describe(self) -> str:
        """The budget as people read it."""
        parts = [] if self.epsilon is None else [f"ε = {self.epsilon:.6g}"]
        parts += [f"δ = {self.delta:.3g}"] if self.delta else []
        parts += [] if self.rho is None else [f"ρ = {self.rho:.6g}"]
        return ", ".join(parts)

    def to_mapping(self) -> dict[str, Any]:
        """The budget for a JSON document."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Budget:
        """Read what `to_mapping` writes."""
        return cls(epsilon=mapping.get("epsilon"), delta=mapping.get("delta", 0.0), rho=mapping.get("rho"))

    @property
    def concentrated(self) -> float | None:
        """ρ, stated or implied by a pure ε; None where there is none."""
        if self.rho is not None:
            return self.rho
        return self.epsilon**2 / 2 if self.delta == 0 and self.epsilon is not None else None


def epsilon_of(rho: float, *, delta: float) -> float:
    """The ε at ``delta`` that a total of ``rho`` is at most.

    >>> round(epsilon_of(0.02, delta=1e-6), 4)
    1.0713
    """
    if rho == 0:
        return 0.0
    return math.inf if delta <= 0 else rho + 2 * math.sqrt(rho * math.log(1 / delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What several releases spent: the least ε that is proved, the δ that goes with it, and ρ where each has one.

    ``delta`` is the sum of theirs where ε is, and where ε comes from ρ the δ that was asked for: that ε holds at it,
    and nothing of it is used up. ε is infinite where the δ that was asked for leaves no room for what they spent.
    """

    epsilon: float
    delta: float
    rho: float | None
    is_sum: bool = True

    def describe(self) -> str:
        """The total as people read it."""
        if not self.is_sum and self.rho is not None and not math.isinf(self.epsilon):
            return f"ρ = {self.rho:.6g}, which comes to ε = {self.epsilon:.6g} at δ = {self.delta:.3g}"
        parts = [] if math.isinf(self.epsilon) else [f"ε = {self.epsilon:.6g}"]
        parts += [f"δ = {self.delta:.3g}"] if self.delta else []
        parts += [] if self.rho is None else [f"ρ = {self.rho:.6g}"]
        return ", ".join(parts)


def total(budgets: Sequence[Budget], *, delta: float) -> Total:
    """What several releases spent together, at ``delta`` at most.

    >>> spent = total([Budget(rho=0.01), Budget(rho=0.01)], delta=1e-6)
    >>> spent.rho, round(spent.epsilon, 4)
    (0.02, 1.0713)
    >>> total([Budget(epsilon=0.6, delta=1e-6)], delta=1e-5).describe()
    'ε = 0.6, δ = 1e-06'
    """
    concentrated = [part for part in (budget.concentrated for budget in budgets) if part is not None]
    plain = [budget for budget in budgets if budget.concentrated is None]
    rho = math.fsum(concentrated)
    by_rho = by_sum = math.inf
    summed = math.fsum(budget.delta for budget in budgets)
    left = delta - math.fsum(budget.delta for budget in plain)
    if left >= -ROUNDING * delta:
        by_rho = epsilon_of(rho, delta=max(left, 0.0)) + math.fsum(budget.epsilon or 0.0 for budget in plain)
    each_states_it = all(budget.epsilon is not None for budget in budgets)
    if each_states_it and summed <= delta * (1 + ROUNDING):
        by_sum = math.fsum(budget.epsilon or 0.0 for budget in budgets)
    is_sum = by_sum <= by_rho and not math.isinf(by_sum)
    return Total(
        epsilon=min(by_rho, by_sum),
        delta=summed if is_sum else delta,
        rho=None if plain else rho,
        is_sum=is_sum,
    )


def left_of(limit: Budget, spent: Sequence[Budget]) -> str:
    """What a limit still has room for, in words: ε and δ as they add, or ρ where that leaves more.

    >>> left_of(Budget(epsilon=1, delta=1e-5), [Budget(epsilon=0.6, delta=1e-6)])
    'ε = 0.4, δ = 9e-06'
    """
    so_far = total(spent, delta=limit.delta)
    parts = []
    if limit.epsilon is not None:
        if so_far.is_sum:
            epsilon, delta = limit.epsilon - so_far.epsilon, limit.delta - so_far.delta
            parts += [f"ε = {epsilon:.6g}"] if epsilon > ROUNDING * limit.epsilon else []
            parts += [f"δ = {delta:.3g}"] if parts and delta > ROUNDING * limit.delta else []
        elif not math.isinf(so_far.epsilon):
            plain = [budget for budget in spent if budget.concentrated is None]
            epsilon = limit.epsilon - math.fsum(budget.epsilon or 0.0 for budget in plain)
            delta = limit.delta - math.fsum(budget.delta for budget in plain)
            rho = _rho_of(epsilon, delta=delta) - math.fsum(budget.concentrated or 0.0 for budget in spent)
            parts += [f"ρ = {rho:.6g}"] if rho > ROUNDING else []
    if limit.rho is not None and so_far.rho is not None and (parts or limit.epsilon is None):
        rho = limit.rho - so_far.rho
        parts = [*parts, f"ρ = {rho:.6g}"] if rho > ROUNDING * limit.rho else []
    return ", ".join(parts) or "nothing"


def _rho_of(epsilon: float, *, delta: float) -> float:
    """The ρ that comes to ``epsilon`` at ``delta``: the inverse of `epsilon_of`."""
    if epsilon <= 0 or delta <= 0:
        return 0.0
    log = math.log(1 / delta)
    return float((math.sqrt(log + epsilon) - math.sqrt(log)) ** 2)


def check_within(limit: Budget, spent: Sequence[Budget], asked: Budget) -> None:
    """Raise unless ``asked`` can be spent after ``spent`` without exceeding ``limit``."""
    together = total([*spent, asked], delta=limit.delta)
    if limit.epsilon is not None and math.isinf(together.epsilon) and asked.delta > 0:
        raise LedgerError(
            f"the privacy budget of this table is ε = {limit.epsilon:.6g} at δ = {limit.delta:.3g}, which leaves no "
            f"room for a release at δ = {asked.delta:.3g}; set the limit again with a larger --delta and a reason"
        )
    over = []
    if limit.rho is not None and (together.rho is None or together.rho > limit.rho * (1 + ROUNDING)):
        over.append("ρ")
    if limit.epsilon is not None and together.epsilon > limit.epsilon * (1 + ROUNDING):
        over.append("ε")
    if over:
        raise LedgerError(
            f"the privacy budget of this table is {limit.describe()}; spent: "
            f"{total(spent, delta=limit.delta).describe() if spent else 'nothing'}; left: {left_of(limit, spent)}; "
            f"with {asked.describe()} more {' and '.join(over)} would exceed it; ask for less, or release nothing more"
        )
