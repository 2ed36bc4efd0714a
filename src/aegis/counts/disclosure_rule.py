"""What may be shown of a table's values and counts: the one rule, for every door.

1. A value that fewer than `FEWEST` people or records have is named nowhere: not in a preview, a distribution, a
   hierarchy, a certificate, nor in a list of values that a mask puts together. A door may ask for more people, never
   for fewer.
2. A count that others see is a multiple of `STEP`, so that no difference of two counts is one person. Fewer than
   `FEWEST` are shown as 0, which reads "fewer than 5".

Pages, certificates and the catalog ask here (docs/concepts/threat-model.md). What a provider sees of its own table on
its own terminal is no disclosure; what it sees on a page is drawn by this rule, because pages are passed on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 5
"""The fewest people or records whose value may be named."""
STEP = 5
"""Counts are shown as multiples of this."""


def may_name(counts: ArrayLike, *, at_least: int = FEWEST) -> NDArray[np.bool_]:
    """Whether each value may be named, by how many people or records have it.

    >>> may_name([1, 4, 5, 300]).tolist(), may_name([1, 4, 5, 300], at_least=2).tolist()
    ([False, False, True, True], [False, False, True, True])
    """
    return np.asarray(np.asarray(counts) >= max(at_least, FEWEST), dtype=np.bool_)


def named(labels: Sequence[str], counts: ArrayLike, *, at_least: int = FEWEST) -> list[str | None]:
    """The labels that may be named, None in place of the others.

    >>> named(["flu", "plague"], [12, 1])
    ['flu', None]
    """
    allowed = may_name(counts, at_least=at_least).tolist()
    return [label if shown else None for label, shown in zip(labels, allowed, strict=True)]


def shown_count(records: float) -> int:
    """A number of records as others see it.

    >>> [shown_count(n) for n in (0, 1, 4, 5, 7, 8, 300, 301)]
    [0, 0, 0, 5, 5, 10, 300, 300]
    """
    return 0 if records < FEWEST else max(FEWEST, STEP * round(records / STEP))


def count_words(records: float) -> str:
    """The same in words.

    >>> count_words(3), count_words(1203)
    ('fewer than 5', '1,205')
    """
    return f"{shown_count(records):,}" if records >= FEWEST else f"fewer than {FEWEST}"
