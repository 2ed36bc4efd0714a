"""Noisy counts: the only way from a table to anything that is made of it. Each one is paid for before it is made.

What is spent is ρ of zero-concentrated differential privacy. Every measurement adds Gaussian noise to numbers that one
record (or one person) can move by at most a known length, and costs ρ = length² / (2 σ²). Measurements add up. Values
that were found in the data may show with a probability of at most δ₀ what they should not, and those add up too.
``docs/theory/synthesis.md`` has the proofs.

Noise is discrete, drawn by OpenDP from the system's randomness; or drawn by a seed, for tests. Noise that can be drawn
again can be taken off again: a table made with a seed protects nobody from whoever knows or guesses the seed. It exists
so that a test can be repeated, and every certificate says where it was used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.errors import GuaranteeError, MissingExtraError, OptionError
from aegis.result import plain

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
        return plain(self)


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


class Noise(Protocol):
    """Where noise comes from."""

    @property
    def private(self) -> bool: ...

    def on_counts(self, counts: Ints, *, sigma: float) -> Floats:
        """Counts with discrete Gaussian noise."""
        ...

    def on_numbers(self, numbers: Floats, *, sigma: float) -> Floats:
        """Numbers with Gaussian noise."""
        ...


class OpenDPNoise:
    """OpenDP's vetted mechanisms, each checked to cost what it is said to."""

    private = True

    def __init__(self) -> None:
        try:
            import opendp.prelude as dp
        except ImportError:
            raise MissingExtraError(feature="synthesis", extra="synthesis") from None
        dp.enable_features("contrib")
        self._dp: Any = dp

    def on_counts(self, counts: Ints, *, sigma: float) -> Floats:
        domain = self._dp.vector_domain(self._dp.atom_domain(T="i64"))
        flat = [int(count) for count in counts.ravel()]
        return self._drawn(domain, flat, sigma).reshape(counts.shape)

    def on_numbers(self, numbers: Floats, *, sigma: float) -> Floats:
        domain = self._dp.vector_domain(self._dp.atom_domain(T="f64", nan=False))
        flat = [float(number) for number in numbers.ravel()]
        return self._drawn(domain, flat, sigma).reshape(numbers.shape)

    def _drawn(self, domain: Any, flat: list[Any], sigma: float) -> Floats:
        mechanism = self._dp.m.make_gaussian(domain, self._dp.l2_distance(T="f64"), scale=sigma)
        if mechanism.map(d_in=1.0) > (1 + _ROUNDING) / (2 * sigma**2):
            raise GuaranteeError("the noise mechanism does not keep its budget; use another version of opendp")
        return np.asarray(mechanism(flat), dtype=np.float64)


class SeededNoise:
    """Noise that can be drawn again: for tests, never for a release."""

    private = False

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def on_counts(self, counts: Ints, *, sigma: float) -> Floats:
        return np.asarray(counts + np.round(sigma * self._rng.standard_normal(counts.shape)))

    def on_numbers(self, numbers: Floats, *, sigma: float) -> Floats:
        return np.asarray(numbers + sigma * self._rng.standard_normal(numbers.shape))


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

    def counts(self, counts: Ints, *, rho: float, what: str, columns: Sequence[str]) -> Floats:
        """One marginal with noise."""
        sigma = self.sigma(rho)
        self.account.spend(Measured(what=what, columns=tuple(columns), numbers=counts.size, sigma=sigma, rho=rho))
        return self._noise.on_counts(counts, sigma=sigma)

    def counts_of_values(self, counts: Ints, *, rho: float, delta: float, what: str, column: str) -> Floats:
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
