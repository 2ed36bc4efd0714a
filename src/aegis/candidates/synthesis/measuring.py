"""Noisy counts: the only way from a table to anything that is made of it. Each one is paid for before it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.accounting import Account, Measured
from aegis.candidates.synthesis.noise import Noise

Floats = NDArray[np.float64]


class Measurer:
    """Adds noise, and pays for it.

    One unit of protection moves a marginal by at most ``length`` (in the sense of the Euclidean norm): 1 where it is a
    row, and as many as count where it is a person, whose rows may all lie in one cell.
    """

    def __init__(self, account: Account, noise: Noise) -> None:
        self.account, self._noise = account, noise
        self.length = float(account.promise.rows_each)

    @property
    def private(self) -> bool:
        return self._noise.private

    def sigma(self, rho: float, *, marginals: int = 1) -> float:
        """The noise on each number of so many marginals that cost ``rho`` together."""
        return self.length * math.sqrt(marginals / (2 * rho))

    def counts(self, counts: NDArray[np.int64], *, rho: float, what: str, columns: Sequence[str]) -> Floats:
        """One marginal with noise."""
        sigma = self.sigma(rho)
        self.account.spend(Measured(what=what, columns=tuple(columns), numbers=counts.size, sigma=sigma, rho=rho))
        return self._noise.on_counts(counts, sigma=sigma)

    def counts_of_values(
        self, counts: NDArray[np.int64], *, rho: float, delta: float, what: str, column: str
    ) -> Floats:
        """The counts of values that only the data name, with noise; how many these are is not said to anybody."""
        sigma = self.sigma(rho)
        self.account.spend(Measured(what=what, columns=(column,), numbers=None, sigma=sigma, rho=rho, delta=delta))
        return self._noise.on_counts(counts, sigma=sigma)

    def errors(self, errors: Floats, *, rho: float, what: str) -> Floats:
        """Sums of absolute differences between counts and expected ones; each moves by ``length`` at most."""
        sigma = self.sigma(rho, marginals=errors.size)
        self.account.spend(
            Measured(what=what, columns=(), numbers=errors.size, sigma=sigma, rho=rho, marginals=errors.size)
        )
        return self._noise.on_numbers(errors, sigma=sigma)
