"""The tuples of equivalence classes, spelled out only when somebody looks at them.

Judging a policy looks at sizes and contents; a million tuples of eight columns that nobody reads cost as much to write
down as the verdicts do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aegis.counts.grouping import Codes, unpacked


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Tuples of codes, by rows: as a matrix, or as numbers that hold a tuple each with the width of every column.

    >>> import numpy as np
    >>> Tuples.packed(np.array([6, 3]), [1, 2]).codes.tolist()
    [[1, 2], [0, 3]]
    """

    _held: Codes
    _widths: tuple[int, ...] | None = None

    @classmethod
    def packed(cls, keys: Codes, widths: Sequence[int]) -> Tuples:
        return cls(keys, tuple(widths))

    @cached_property
    def codes(self) -> Codes:
        """The matrix, stored by columns."""
        return self._held if self._widths is None else unpacked(self._held, self._widths)
