"""How sure a share is that was counted on so many people."""

from __future__ import annotations

LEVEL = 0.95


def clopper_pearson(right: int, claims: int, *, level: float = LEVEL) -> tuple[float, float]:
    """The exact interval of a share: ``right`` of ``claims`` were right.

    >>> [round(end, 4) for end in clopper_pearson(0, 10)]
    [0.0, 0.3085]
    >>> clopper_pearson(0, 0)
    (0.0, 1.0)
    """
    from scipy.special import betaincinv  # slow to import, and help pages need none of it

    if not 0 <= right <= claims:
        raise ValueError("no more claims can be right than were made")
    tail = (1 - level) / 2
    low = 0.0 if right == 0 else float(betaincinv(right, claims - right + 1, tail))
    high = 1.0 if right == claims else float(betaincinv(right + 1, claims - right, 1 - tail))
    return low, high
