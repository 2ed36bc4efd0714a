"""Which columns go together, in one number for each pair, read off the first rows as codes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes

_MOST_VALUES = 64
_FEWEST_ROWS = 50
WORTH_SAYING = 0.3
"""Weaker associations are ordinary, and are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Two columns and how strongly they go together: 0 not at all, 1 each tells the other (Cramér's V, corrected)."""

    left: str
    right: str
    strength: float


def associations(columns: Mapping[str, Codes], *, most: int = 12) -> tuple[Association, ...]:
    """The strongest associations of a table, at most so many; columns with a value for every other row are left out.

    Cramér's V with Bergsma's correction: without it, columns of many values would seem to go together by chance.
    """
    few = {name: coded for name, codes in columns.items() if (coded := _few(codes)) is not None}
    pairs = [
        Association(left=left, right=right, strength=round(strength, 3))
        for left, right in itertools.combinations(few, 2)
        if (strength := cramers_v(few[left], few[right])) >= WORTH_SAYING
    ]
    return tuple(sorted(pairs, key=lambda association: -association.strength)[:most])


def cramers_v(left: Codes, right: Codes) -> float:
    """Cramér's V of two columns of codes from 0 on, with Bergsma's correction for chance.

    >>> ones = np.arange(100) % 2
    >>> round(cramers_v(ones, ones), 3), cramers_v(ones, np.arange(100) // 50)
    (1.0, 0.0)
    """
    rows = len(left)
    wide, high = int(right.max(initial=0)) + 1, int(left.max(initial=0)) + 1
    counts = np.bincount(left * wide + right, minlength=wide * high).reshape(high, wide).astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    square = float((counts**2 / expected).sum() - 1.0)
    height, width = counts.shape
    square = max(0.0, square - (height - 1) * (width - 1) / (rows - 1))
    room = min(side - (side - 1) ** 2 / (rows - 1) for side in (height, width)) - 1
    return 0.0 if room <= 0 else float(np.sqrt(min(1.0, square / room)))


def _few(codes: Codes) -> Codes | None:
    """The codes of the commonest values, the others as one; None where it says nothing or names rows."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(codes) < _FEWEST_ROWS or len(values) < 2 or 2 * len(values) > len(codes):
        return None
    if len(values) <= _MOST_VALUES:
        return places.astype(np.int64)
    order = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.minimum(order[places], _MOST_VALUES).astype(np.int64)
