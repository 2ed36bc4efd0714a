"""The limit of top and bottom coding: a given number, or a quantile of the column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.parameter import Number, Rule

LIMIT_RULES: Mapping[str, Rule] = {"at": Number(), "quantile": Number(above=0, below=1)}
LIMITS = ("at", "quantile")


def limit_of(mask: str, at: float | None, kind: Kind, *, column: str = "", resolved: bool = False) -> Any:
    """The limit as a number of the column's kind."""
    if at is None:
        if resolved:
            raise MaskError(f"mask {mask!r} with a quantile must be resolved on a column first")
        return None
    if kind is not Kind.INTEGER:
        return float(at)
    if not float(at).is_integer():
        raise MaskError(f"mask {mask!r}: column {column!r} holds whole numbers, so at must be one too")
    return int(at)


def quantile_of(domain: Domain, counts: NDArray[Any], quantile: float) -> float:
    """The smallest value with at least this share of the records at or below it."""
    values = domain.values
    if not len(values):
        return 0
    reached = np.cumsum(np.asarray(counts[: len(values)], dtype=np.float64))
    found = int(np.searchsorted(reached, quantile * reached[-1] * (1 - 1e-12)))
    return values[min(found, len(values) - 1)].item()
