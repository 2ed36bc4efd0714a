"""What is spent: ρ of zero-concentrated differential privacy, and the (ε, δ) that it comes to.

Every measurement adds Gaussian noise to numbers that one record (or one person) can move by at most a known length, and
costs ρ = length² / (2 σ²). Measurements add up. Values that were found in the data may show with a probability of at
most δ₀ what they should not, and those add up too. ``docs/theory/synthesis.md`` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from aegis.errors import GuaranteeError, OptionError

MOST_EPSILON = 100.0
_ROUNDING = 1e-9


def delta_of(rho: float, epsilon: float) -> float:
    """The least δ that ρ is proved to come to at ``epsilon``: Canonne, Kamath and Steinke 2020, section 2.3.

    The bound holds for every order α above 1, so that a search that misses the best order still tells the truth.

    >>> delta_of(0.0, 1.0) == 0.0, 0.9e-6 < delta_of(0.02435, 1.0) < 1.1e-6
    (True, True)
    """
    if rho <= 0:
        return 0.0
    # Near the best order of the looser bound, in ever finer steps.
    centre = max((epsilon - rho) / (2 * rho), 1e-3)
    orders = 1 + centre * np.exp(np.linspace(-3.0, 3.0, 1001))
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    return float(min(1.0, math.exp(min(float(logs.min()), 0.0))))


@lru_cache(maxsize=64)
def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ that keeps (``epsilon``, ``delta``).

    >>> round(rho_of(1.0, 1e-6), 4)
    0.0244
    """
    low, high = 0.0, epsilon
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is promised: ε and δ, and what one unit of protection is.

    ``rows_each`` is how many rows of a person count; 1 where a row is the unit.
    """

    epsilon: float
    delta: float
    person: str | None = None
    rows_each: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= MOST_EPSILON:
            raise OptionError(
                f"epsilon is more than 0 and at most {MOST_EPSILON:g}; 1 is a common choice, and beyond 10 little "
                "is promised"
            )
        if not 0 < self.delta < 0.01:
            raise OptionError(
                "delta is more than 0 and below 0.01; it is the chance that the promise does not hold, so take far "
                "less than one in the number of rows, for example 1e-6"
            )
        if self.rows_each < 1:
            raise OptionError("a person counts with one row or more")

    @property
    def unit(self) -> str:
        """One unit of protection in words."""
        if self.person is None:
            return "one row, added or removed"
        rows = "row" if self.rows_each == 1 else "rows"
        return f"all rows of one person ({self.person}), of which at most {self.rows_each} {rows} count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One entry of the account: what was measured, with which noise, for how much.

    ``marginals`` is how many times over one unit of protection can move it: 1 for a marginal, whose cells exclude each
    other, and as many as there are for numbers that it can move together. ``numbers`` is None where how many there are
    is itself a count without noise.
    """

    what: str
    columns: tuple[str, ...]
    numbers: int | None
    sigma: float
    rho: float
    delta: float = 0.0
    marginals: int = 1

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "columns": list(self.columns),
            "numbers": self.numbers,
            "sigma": self.sigma,
            "rho": self.rho,
            "delta": self.delta,
            "marginals": self.marginals,
        }


@dataclass(slots=True, kw_only=True)
class Account:
    """A budget of ρ and of δ₀ that cannot be overdrawn, and what was bought with it."""

    promise: Promise
    rho: float
    found_delta: float
    measured: list[Measured] = field(default_factory=list)

    @classmethod
    def of(cls, promise: Promise, *, finds_values: bool) -> Account:
        """The whole budget of a promise; a tenth of δ is set aside where values have to be found in the data."""
        found = promise.delta / 10 if finds_values else 0.0
        return cls(promise=promise, rho=rho_of(promise.epsilon, promise.delta - found), found_delta=found)

    @property
    def spent(self) -> float:
        return math.fsum(each.rho for each in self.measured)

    @property
    def spent_delta(self) -> float:
        return math.fsum(each.delta for each in self.measured)

    @property
    def left(self) -> float:
        return self.rho - self.spent

    def spend(self, entry: Measured) -> None:
        """Note a measurement before it is made; raise if there is no room for it."""
        if entry.rho < 0 or entry.delta < 0:
            raise ValueError("a measurement costs something")
        if self.spent + entry.rho > self.rho * (1 + _ROUNDING):
            raise GuaranteeError("the measurements would exceed the privacy budget; nothing was written")
        if self.spent_delta + entry.delta > self.found_delta * (1 + _ROUNDING):
            raise GuaranteeError("the search for values would exceed the privacy budget; nothing was written")
        self.measured.append(entry)
