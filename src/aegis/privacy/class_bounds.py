"""What a model asks of every class by itself, as bounds on numbers that a search can keep of a class while it goes.

To judge a whole table takes thousands of times as long as to try one change of it. A search therefore refuses at once
what breaks one of these bounds; a model that has none is asked about whole tables, now and then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SecretShares:
    """A sensitive attribute of the whole table: its values and the share of the records that have each."""

    domain: Domain
    shares: NDArray[np.float64]  # a missing value comes last, as in the domain

    @property
    def in_order(self) -> bool:
        """Whether the values have an order and no record lacks one."""
        missing = bool(self.shares[len(self.domain.values) :].any())
        return (self.domain.kind.is_ordered or self.domain.kind is Kind.BOOLEAN) and not missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outweighed:
    """The largest count of a class is below ``times`` the sum of all from the ``first``-th largest on."""

    times: float
    first: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassBounds:
    """Bounds on a class of records; as made, they ask for nothing.

    All but ``records`` are about one sensitive attribute. A share is one of the class, given for each value in the
    order of the domain. Bounds may be met exactly: whoever must stay below one gives the next smaller number.
    """

    attribute: str | None = None
    records: int = 1
    distinct: int = 1  # values in the class
    nats: float = 0.0  # of entropy, at least
    apart: float = np.inf  # Σ max(q − p, 0) over the values, q of the class and p of the table
    steps_apart: float = np.inf  # the mean over the steps of the order of |Σ q − Σ p|
    least: NDArray[np.float64] | None = None
    least_held: NDArray[np.float64] | None = None  # of the values that the class holds
    most: NDArray[np.float64] | None = None
    outweighed: Outweighed | None = None
