"""Round numbers for widths and steps: 1, 2 and 5 times a power of ten."""

from __future__ import annotations

import math

_SMALLEST, _LARGEST = 1e-9, 1e12  # beyond these a width is no longer exact in every engine


def nice_numbers(*, least: float, most: float) -> list[float]:
    """The nice numbers from ``least`` to ``most``, rising; whole ones as integers.

    >>> nice_numbers(least=0.3, most=12)
    [0.5, 1, 2, 5, 10]
    """
    least, most = max(least, _SMALLEST), min(most, _LARGEST)
    if not least <= most:
        return []
    powers = range(math.floor(math.log10(least)), math.floor(math.log10(most)) + 1)
    found = [float(f"{lead}e{power}") for power in powers for lead in (1, 2, 5)]
    return [int(n) if n.is_integer() else n for n in found if least <= n <= most]
