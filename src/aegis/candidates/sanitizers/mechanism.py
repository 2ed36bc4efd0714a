"""A mechanism for a column of a table: applied to rows, old or new. It sees the private column alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.components import Erasure
from aegis.candidates.sanitizers.encoding import refuse_missing
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.errors import SanitizerError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberMechanism:
    """A mixture of plain releases of a number, in the column's own unit."""

    column: str
    mixture: Mixture

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The names of what `apply` gives."""
        return (f"{self.column}_released", *([f"{self.column}_component"] if len(self.mixture.components) > 1 else []))

    @property
    def silent(self) -> tuple[int, ...]:
        """The components that release nothing; their value is a blank."""
        return tuple(i for i, part in enumerate(self.mixture.components) if isinstance(part, Erasure))

    def apply(self, private: NDArray[Any], *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The sanitized columns: what was released, and which component released it."""
        values = numbers(private, self.column)
        released = self.mixture.release(values, rng=rng)
        result: dict[str, NDArray[Any]] = {f"{self.column}_released": released.value}
        if len(self.mixture.components) > 1:
            result[f"{self.column}_component"] = released.component
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMechanism:
    """A table P(symbol | value) for a column with few values."""

    column: str
    values: tuple[str, ...] = field(repr=False)
    release: Floats

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The names of what `apply` gives."""
        return (f"{self.column}_released",)

    def apply(self, private: NDArray[Any], *, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The sanitized column: one symbol for each row."""
        refuse_missing(private, name=self.column)
        codes = np.searchsorted(np.array(self.values), private.astype(str))
        codes = np.clip(codes, 0, len(self.values) - 1)
        unknown = int((np.array(self.values)[codes] != private.astype(str)).sum())
        if unknown:
            raise SanitizerError(
                f"{unknown} rows of column '{self.column}' hold values that the model has not seen; fit it again"
            )
        symbols = draw_symbols(self.release, codes, rng)
        return {f"{self.column}_released": np.array([f"s{i}" for i in range(self.release.shape[1])])[symbols]}


Mechanism = NumberMechanism | CategoryMechanism


def numbers(values: NDArray[Any], column: str) -> Floats:
    if values.dtype.kind not in "iuf":
        raise SanitizerError(f"column '{column}' holds text where the model expects numbers")
    refuse_missing(values, name=column)
    return values.astype(np.float64)


def draw_symbols(release: Floats, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    steps = np.cumsum(release, axis=1)
    steps[:, -1] = 1.0
    return np.asarray((rng.random(len(codes))[:, None] > steps[codes]).sum(axis=1))
