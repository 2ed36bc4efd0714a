"""How long a search may go on, in seconds or in rounds; and the nearest points of each point, as long as there is time.

With many categories the points have hundreds of dimensions, and a tree looks at nearly all of them: for a hundred
thousand points that takes many minutes. What it will take is known after the first few.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.spatial import cKDTree

from aegis.arrays import Floats, Ints

_LEAST_SLICES = 20
"""Between slices a search is cooled: of counted rounds, however few, the last ones have to be cold."""
_FIRST = 32
_ABOUT_SECONDS = 0.1


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


def nearest(points: Floats, *, count: int, deadline: float | None = None) -> tuple[Floats, Ints] | None:
    """The distances and the places of the ``count`` nearest of each point, itself among them.

    None where that would end after ``deadline`` (of `time.monotonic`); without one it takes what it takes.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), count=2)[1].tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    rows, count = len(points), min(count, len(points))
    tree = cKDTree(points)
    away = np.empty((rows, count))
    near = np.empty((rows, count), dtype=np.int64)
    done, step = 0, rows if deadline is None else _FIRST
    while done < rows:
        began = time.monotonic()
        part = slice(done, min(done + step, rows))
        found_away, found_near = tree.query(points[part], k=count, workers=-1)
        away[part] = np.asarray(found_away).reshape(-1, count)
        near[part] = np.asarray(found_near).reshape(-1, count)
        taken = part.stop - part.start
        done = part.stop
        if deadline is None:
            continue
        now = time.monotonic()
        took = max(now - began, 1e-6)
        ahead = took / taken * (rows - done)
        if now > deadline or now + ahead / 2 > deadline:  # half: small parts are slower than large ones
            return None
        step = int(min(max(step * _ABOUT_SECONDS / took, _FIRST), 4 * step))
    return away, near


def past(deadline: float | None) -> bool:
    """Whether a deadline (of `time.monotonic`) is over; one that is not set never is."""
    return deadline is not None and time.monotonic() > deadline
