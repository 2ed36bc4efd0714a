"""How long a search may go on, in seconds or in rounds."""

from __future__ import annotations

import time

_LEAST_SLICES = 20
"""Between slices a search is cooled: of counted rounds, however few, the last ones have to be cold."""


class Budget:
    """Counts rounds and seconds, and says how large the next slice may be."""

    def __init__(self, *, seconds: float, rounds: int | None, most_at_once: int = 250) -> None:
        self._seconds = seconds
        self._most_at_once = most_at_once  # of counted rounds
        self._rounds = rounds
        self._began = time.perf_counter()
        self._size = 100.0
        self._slice_began = self._began
        self.used = 0

    @property
    def fraction(self) -> float:
        """How much of the budget is used, 0 to 1."""
        if self._rounds is not None:
            return min(1.0, self.used / self._rounds) if self._rounds else 1.0
        return min(1.0, self.seconds / self._seconds) if self._seconds > 0 else 1.0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    def slice(self) -> int:
        """Rounds to run before looking up again: about a twentieth of a second, or fixed if rounds are counted."""
        self._slice_began = time.perf_counter()
        if self._rounds is not None:
            return max(1, min(self._most_at_once, self._rounds // _LEAST_SLICES, self._rounds - self.used))
        return max(20, int(self._size))

    def spent(self, rounds: int) -> None:
        """Book a slice."""
        self.used += rounds
        took = time.perf_counter() - self._slice_began
        self._size = min(max(self._size * min(max(0.05 / max(took, 1e-5), 0.5), 2.0), 20.0), 1e6)
