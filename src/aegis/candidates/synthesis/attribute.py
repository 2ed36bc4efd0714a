"""An attribute of the model: codes of its own, how records become them, and what values are written for them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes, Flags, Floats
from aegis.counts.answer import ARROW_TYPES
from aegis.counts.cells import Listed
from aegis.counts.marginals import CodedColumn
from aegis.data.kind import Kind

_TINY = 1e-12
_FIRST_DAY = datetime.date(1, 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date(9999, 12, 31).toordinal() - datetime.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NumberCells:
    """What is drawn for one code of numbers: a cell ``[low, high)`` by its probability, then a number in it.

    ``chance`` has a column for each stratum of the rows, or one for all of them.
    """

    low: Floats
    high: Floats
    chance: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Attribute:
    """``groups[cell]`` is the code of each cell of ``column``.

    ``values`` holds what is written for each code: a value of the list, `NumberCells`, or None for a missing value.
    ``origin`` says where its values come from: declared, a hierarchy, or found. ``doubtful`` are codes that perhaps no
    record has, which is to be read off the counts when they are measured.
    """

    column: CodedColumn
    groups: Codes
    values: tuple[Any, ...]
    origin: str
    decimals: int | None = None
    doubtful: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.groups) != self.column.size or int(self.groups.max()) + 1 > len(self.values):
            raise ValueError("every cell has a code, and every code a value")

    def __repr__(self) -> str:
        return f"Attribute({self.name}, {self.size} codes, {self.origin})"

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def kind(self) -> Kind:
        return self.column.kind

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def ordered(self) -> int:
        """How many of the first codes are in an order of their own; 0 for a list."""
        return 0 if isinstance(self.column.cells, Listed) else self.size - (self.values[-1] is None)

    def pushed(self, counts: NDArray[Any], axis: int = 0) -> NDArray[Any]:
        """Counts by cells as counts by codes."""
        moved = np.moveaxis(counts, axis, 0)
        sums = np.zeros((self.size, *moved.shape[1:]), dtype=moved.dtype)
        np.add.at(sums, self.groups, moved)
        return np.moveaxis(sums, 0, axis)

    def drawn(self, codes: Codes, rng: np.random.Generator, *, strata: Codes | None = None) -> pa.Array:
        """A value for each code, of the type that the source has.

        The numbers of one code are spread evenly over what is drawn for it, within each of the ``strata`` of the rows.
        """
        if isinstance(self.column.cells, Listed):
            return pa.array(list(self.values), type=ARROW_TYPES[self.kind]).take(pa.array(codes))
        numbers = np.zeros(len(codes))
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(self.size + 1))
        for code, cells in enumerate(self.values):
            rows = order[bounds[code] : bounds[code + 1]]
            if cells is None or not len(rows):
                continue
            stratum = np.zeros(len(rows), dtype=np.int64) if strata is None else strata[rows]
            points = spread_points(stratum, rng)
            for own, chance in enumerate(cells.chance.T):
                held = stratum == own if cells.chance.shape[1] > 1 else slice(None)
                numbers[rows[held]] = self._drawn_in(cells, chance, points[held])
        missing = np.array([value is None for value in self.values])[codes]
        return _typed(numbers, self.kind, missing)

    def _drawn_in(self, cells: NumberCells, chance: Floats, points: Floats) -> Floats:
        """The numbers up to which the cells hold such shares."""
        ends = np.cumsum(chance)
        cell = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
        inside = (points - (ends[cell] - chance[cell])) / np.maximum(chance[cell], _TINY)
        return self._inside(cells.low[cell], cells.high[cell], np.clip(inside, 0.0, 1.0 - _TINY))

    def _inside(self, low: Floats, high: Floats, drawn: Floats) -> Floats:
        if self.kind is not Kind.REAL:
            first = np.ceil(low)
            whole = np.maximum(np.ceil(high) - first, 1.0)
            return np.asarray(first + np.floor(drawn * whole))
        number = low + drawn * (high - low)
        if self.decimals is not None:
            # The nearest decimal may lie on the far edge of the cell, which is the next cell's.
            step = 10.0**-self.decimals
            number = np.floor(number / step) * step
            inside = np.where(number < low, np.minimum(number + step, high), number)
            number = np.asarray(np.round(inside, self.decimals), dtype=np.float64)
        return np.asarray(number)


def spread_points(strata: Codes, rng: np.random.Generator) -> Floats:
    """A number between 0 and 1 for each row, by chance, but evenly spread within each stratum."""
    order = np.lexsort((rng.random(len(strata)), strata))
    sizes = np.bincount(strata)
    starts = np.cumsum(sizes) - sizes
    ordered = strata[order]
    points = np.empty(len(strata))
    points[order] = (np.arange(len(strata)) - starts[ordered] + rng.random(len(strata))) / sizes[ordered]
    return points


def _typed(numbers: Floats, kind: Kind, missing: Flags) -> pa.Array:
    if kind is Kind.REAL:
        return pa.array(numbers, mask=missing)
    if kind is Kind.DATE:
        days = np.clip(numbers, _FIRST_DAY, _LAST_DAY).astype(np.int32)
        return pa.array(days, type=pa.int32(), mask=missing).cast(pa.date32())
    if kind is Kind.TIMESTAMP:
        seconds = np.clip(numbers, _FIRST_DAY * 86_400.0, _LAST_DAY * 86_400.0).astype(np.int64)
        return pa.array(seconds * 1_000_000, type=pa.int64(), mask=missing).cast(pa.timestamp("us"))
    return pa.array(np.clip(numbers, -(2.0**62), 2.0**62).astype(np.int64), mask=missing)
