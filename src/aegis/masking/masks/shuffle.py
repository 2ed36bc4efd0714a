"""Permute the column at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.masking.mask import MASKS, PermutingMask
from aegis.masking.partition import Channel


@MASKS.register("shuffle")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(PermutingMask):
    """Hand the values of the column, missing ones included, to the rows in random order.

    The histogram stays as it is. Its expectation is scored: every row may get every value, in proportion to how often
    it occurs, so nothing is left of the relation with the label.

    >>> Shuffle().describe()
    'shuffled'
    """

    name: ClassVar[str] = "shuffle"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"permute": {}}
    covers_missing: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("43", "27 (of another row)")

    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        weights = np.asarray(counts, dtype=np.float64)
        total = weights.sum()
        shares = weights / total if total > 0 else np.full(domain.size, 1 / max(domain.size, 1))
        return Channel(matrix=np.tile(shares, (domain.size, 1)), target=domain)

    def describe(self) -> str:
        return "shuffled"
