"""Gaussian noise for counts: discrete, drawn by OpenDP from the system's randomness; or by a seed, for tests.

Noise that can be drawn again can be taken off again: a table made with a seed protects nobody from whoever knows or
guesses the seed. It exists so that a test can be repeated, and every certificate says where it was used.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aegis.errors import GuaranteeError, MissingExtraError

_ROUNDING = 1e-9


class Noise(Protocol):
    """Where noise comes from."""

    @property
    def private(self) -> bool: ...

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        """Counts with discrete Gaussian noise."""
        ...

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
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

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        domain = self._dp.vector_domain(self._dp.atom_domain(T="i64"))
        flat = [int(count) for count in counts.ravel()]
        return self._drawn(domain, flat, sigma).reshape(counts.shape)

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
        domain = self._dp.vector_domain(self._dp.atom_domain(T="f64", nan=False))
        flat = [float(number) for number in numbers.ravel()]
        return self._drawn(domain, flat, sigma).reshape(numbers.shape)

    def _drawn(self, domain: Any, flat: list[Any], sigma: float) -> NDArray[np.float64]:
        mechanism = self._dp.m.make_gaussian(domain, self._dp.l2_distance(T="f64"), scale=sigma)
        if mechanism.map(d_in=1.0) > (1 + _ROUNDING) / (2 * sigma**2):
            raise GuaranteeError("the noise mechanism does not keep its budget; use another version of opendp")
        return np.asarray(mechanism(flat), dtype=np.float64)


class SeededNoise:
    """Noise that can be drawn again: for tests, never for a release."""

    private = False

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        return np.asarray(counts + np.round(sigma * self._rng.standard_normal(counts.shape)))

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
        return np.asarray(numbers + sigma * self._rng.standard_normal(numbers.shape))
