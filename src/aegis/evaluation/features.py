"""From masked columns to numbers that models learn from, fitted on training rows only.

==================================  =====================================================
masked column                       features
==================================  =====================================================
numbers, dates, times               one scaled number
intervals ``[a, b)``, ``3*``        one scaled number, the middle: a masked number stays ordered
anything else                       one indicator per value; rare values share one
a missing value                     an indicator of its own, and the mean where a number is due
==================================  =====================================================

Every value of a domain is described once; the rows pick their description by code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.data.domain import Domain
from aegis.learners.features import as_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How categories become indicators: a value that fewer training rows have shares an indicator with the others."""

    least_rows: int = 10
    most_levels: int = 40

    @property
    def id(self) -> str:
        """What a cached result depends on; the last number counts how often this file changed what features are."""
        return f"{self.least_rows}-{self.most_levels}-2"


ENCODING = Encoding()


def feature_matrix(
    domains: Mapping[str, Domain], codes: Mapping[str, Codes], *, training: Codes, encoding: Encoding = ENCODING
) -> Floats:
    """The features of all rows; what must be learnt of them is learnt from the rows at ``training``."""
    parts = [_column(domains[name], codes[name], training, encoding) for name in domains]
    rows = len(next(iter(codes.values()))) if codes else 0
    return np.hstack([np.empty((rows, 0), dtype=np.float64), *parts])


def _column(domain: Domain, codes: Codes, training: Codes, encoding: Encoding) -> Floats:
    counts = np.bincount(codes[training], minlength=domain.size).astype(np.float64)
    numbers = as_numbers(domain)
    values = len(domain.values)
    described: list[Floats] = []
    if numbers is not None:
        scaled = _scaled(numbers, counts[:values])
        if scaled is not None:
            described.append(np.append(scaled, [0.0] * domain.missing)[:, None])
    else:
        described.append(_indicators(counts, values, domain.size, encoding))
    if domain.missing and 0 < counts[values] < counts.sum():
        described.append(np.append(np.zeros(values), 1.0)[:, None])
    if not described:
        return np.empty((len(codes), 0))
    return np.hstack(described)[codes]


def _scaled(numbers: Floats, counts: Floats) -> Floats | None:
    total = counts.sum()
    if total <= 0:
        return None
    mean = counts @ numbers / total
    spread = np.sqrt(counts @ (numbers - mean) ** 2 / total)
    return (numbers - mean) / spread if spread > 1e-12 * max(abs(mean), 1.0) else None


def _indicators(counts: Floats, named: int, size: int, encoding: Encoding) -> Floats:
    """One column per frequent value and one for the rest; none where a single value is left."""
    falling = np.argsort(-counts[:named], kind="stable")
    frequent = falling[counts[falling] >= encoding.least_rows][: encoding.most_levels]
    rest = np.setdiff1d(np.arange(named), frequent)
    columns = [*frequent[:, None], *([rest] if counts[rest].sum() > 0 else [])]
    if len(columns) < 2:
        return np.empty((size, 0))
    indicators = np.zeros((size, len(columns)))
    for place, values in enumerate(columns):
        indicators[values, place] = 1.0
    return indicators
