"""Noise whose budget is on the record before any of it is drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.synthesis.noise import Noise


class NoiseOnRecord:
    """Draws what ``noise`` draws; before the first time ``begin`` writes the budget down and answers its entry.

    Whatever stops a run before that has told nothing of the counts, and costs nothing.
    """

    def __init__(self, noise: Noise, begin: Callable[[], int]) -> None:
        self._noise, self._begin = noise, begin
        self.entry: int | None = None

    @property
    def private(self) -> bool:
        return self._noise.private

    def on_counts(self, counts: NDArray[np.int64], *, sigma: float) -> NDArray[np.float64]:
        """Counts with noise."""
        self._note()
        return self._noise.on_counts(counts, sigma=sigma)

    def on_numbers(self, numbers: NDArray[np.float64], *, sigma: float) -> NDArray[np.float64]:
        """Numbers with noise."""
        self._note()
        return self._noise.on_numbers(numbers, sigma=sigma)

    def _note(self) -> None:
        if self.entry is None:
            self.entry = self._begin()
