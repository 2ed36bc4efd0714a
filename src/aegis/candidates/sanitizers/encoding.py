"""Side information of a table as numbers: what an attacker or a reconstructor can work with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.errors import SanitizerError
from aegis.plural import count

_LARGEST = 1e100  # its square, and the sum of many, are numbers
_LEVELS = 24  # the commonest categories of a column get an indicator each; the rest share a place in the alphabet


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """How one column becomes numbers: shifted and scaled, or an indicator for each of its commonest categories."""

    name: str
    mean: float = 0.0
    std: float = 1.0
    levels: tuple[str, ...] | None = field(default=None, repr=False)  # None for a number
    indicators: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Side information as numbers, fitted on one table and applied to it or to new rows.

    >>> Encoder.fit({"age": np.array([1.0, 3.0]), "job": np.array(["a", "b"])}, party="authorised").width
    3
    """

    columns: tuple[EncodedColumn, ...]
    party: str

    @classmethod
    def fit(cls, columns: Mapping[str, NDArray[Any]], *, party: str) -> Encoder:
        """Look at each column once: numbers for their mean and spread, categories for their values."""
        encoded = []
        for name, values in columns.items():
            refuse_missing(values, name=name)
            if values.dtype.kind in "iuf":
                numbers = values.astype(np.float64)
                encoded.append(EncodedColumn(name=name, mean=float(numbers.mean()), std=float(numbers.std()) or 1.0))
                continue
            levels, counts = np.unique(values.astype(str), return_counts=True)
            common = levels[np.argsort(-counts, kind="stable")[:_LEVELS]]
            place = np.repeat(np.arange(levels.size), counts)
            encoded.append(
                EncodedColumn(
                    name=name,
                    mean=float(place.mean()),
                    std=float(place.std()) or 1.0,
                    levels=tuple(str(level) for level in levels),
                    indicators=tuple(str(level) for level in common),
                )
            )
        return cls(columns=tuple(encoded), party=party)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are needed."""
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return sum(1 if c.levels is None else len(c.indicators) + (len(c.levels) > _LEVELS) for c in self.columns)

    def matrix(self, columns: Mapping[str, NDArray[Any]], *, rows: int) -> Floats:
        """One row of numbers for each record; a category that was not there at fitting has no indicator."""
        blocks: list[Floats] = []
        for column in self.columns:
            values = columns[column.name]
            if values.shape != (rows,):
                raise SanitizerError(f"column '{column.name}' of the {self.party} side needs one value for each row")
            refuse_missing(values, name=column.name)
            if column.levels is None:
                if values.dtype.kind not in "iuf":
                    raise SanitizerError(f"column '{column.name}' holds text where numbers are expected")
                blocks.append(((values.astype(np.float64) - column.mean) / column.std)[:, None])
                continue
            if values.dtype.kind in "iuf":
                raise SanitizerError(f"column '{column.name}' holds numbers where text is expected")
            text = values.astype(str)
            blocks.append((text[:, None] == np.array(column.indicators)[None, :]).astype(np.float64))
            if len(column.levels) > _LEVELS:
                # codes such as zip codes mean something in their order, and trees can cut it anywhere
                place = np.searchsorted(np.array(column.levels), text).astype(np.float64)
                blocks.append(((place - column.mean) / column.std)[:, None])
        return np.hstack(blocks) if blocks else np.zeros((rows, 0))

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {"party": self.party, "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Encoder:
        """An encoder from what `to_json` gave."""
        encoded = [
            EncodedColumn(
                name=str(entry["name"]),
                mean=float(entry["mean"]),
                std=float(entry["std"]),
                levels=None if entry["levels"] is None else tuple(str(level) for level in entry["levels"]),
                indicators=tuple(str(level) for level in entry["indicators"]),
            )
            for entry in content["columns"]
        ]
        return cls(columns=tuple(encoded), party=str(content["party"]))


def encode_side(columns: Mapping[str, NDArray[Any]], *, rows: int, party: str) -> Floats:
    """One matrix from columns: numbers standardised, categories as indicators.

    >>> encode_side({"age": np.array([1.0, 3.0]), "job": np.array(["a", "b"])}, rows=2, party="authorized").shape
    (2, 3)
    """
    return Encoder.fit(columns, party=party).matrix(columns, rows=rows)


def refuse_missing(values: NDArray[Any], *, name: str) -> None:
    """Refuse missing and infinite values, and numbers whose squares are no numbers; say in which column they are."""
    if values.dtype.kind == "f":
        missing = int((~np.isfinite(values)).sum())
    elif values.dtype.kind == "O":
        missing = int(sum(v is None or v != v for v in values))
    else:
        missing = 0
    if missing:
        infinite = " (an infinite number counts as missing)" if values.dtype.kind == "f" else ""
        raise SanitizerError(
            f"column '{name}' has {count(missing, 'missing value')}{infinite}; drop or fill those rows first"
        )
    if values.dtype.kind == "f" and np.abs(values).max(initial=0.0) > _LARGEST:
        raise SanitizerError(
            f"column '{name}' holds numbers beyond {_LARGEST:g}, whose squares are too large to compute with; give "
            "it in a larger unit"
        )


def refuse_copies(private: NDArray[Any], columns: Mapping[str, NDArray[Any]], *, name: str) -> None:
    """Side information that determines the private column leaves nothing to protect."""
    codes = np.unique(private.astype(str), return_inverse=True)[1]
    distinct = int(codes.max()) + 1
    for side, values in columns.items():
        levels, inverse = np.unique(values.astype(str), return_inverse=True)
        if 10 * levels.size <= len(private):
            # every value repeats often enough for "one private value each" to mean something
            same = np.unique(inverse.astype(np.int64) * distinct + codes).size == levels.size
        else:
            # values that hardly repeat: a copy up to a monotone change of scale has the same order of rows
            same = values.dtype.kind in "iuf" and private.dtype.kind in "iuf" and _same_order(values, private)
        if same:
            raise SanitizerError(
                f"column '{side}' determines the private column '{name}'; leave it out of the side information"
            )


def _same_order(first: NDArray[Any], second: NDArray[Any]) -> bool:
    first_ranks, second_ranks = (
        np.unique(values, return_inverse=True)[1].astype(np.float64) for values in (first, second)
    )
    if min(first_ranks.max(), second_ranks.max()) == 0:
        return False
    return abs(float(np.corrcoef(first_ranks, second_ranks)[0, 1])) > 1 - 1e-9
