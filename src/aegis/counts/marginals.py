"""Marginals: how often combinations of cells occur, counted by an engine or from codes in memory.

Both counters answer the same questions; everything that is synthesized is made of their answers and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import ibis
import numpy as np
from numpy.typing import NDArray

from aegis.counts.answer import NO_LIMIT, ask, grouped, plain
from aegis.counts.cells import Cells
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind

if TYPE_CHECKING:
    import ibis.expr.types as ir

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """A column seen through cells."""

    name: str
    kind: Kind
    cells: Cells

    @property
    def size(self) -> int:
        return self.cells.size


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Frequent:
    """Values that so many records or more have, with how many; in no order that means anything."""

    values: tuple[Any, ...]
    counts: Counts


class Counter(Protocol):
    """What can be asked of a table."""

    def count(self, columns: Sequence[CodedColumn]) -> Counts:
        """How often each combination of cells occurs: an array with an axis for each column."""
        ...

    def frequent(self, name: str, kind: Kind, *, at_least: int) -> Frequent:
        """The values of a column that at least so many records have; never a missing one."""
        ...

    def prepared(self, columns: Sequence[CodedColumn]) -> Counter:
        """A counter that answers quickly about these columns seen through these cells."""
        ...


_MOST_SMALL = 2**15


class TableCounter:
    """Counts that an engine makes; rows stay in it."""

    def __init__(self, table: ir.Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return "TableCounter()"

    def count(self, columns: Sequence[CodedColumn]) -> Counts:
        queries = {
            f"c{i}": column.cells.expression(self._table[column.name], column.kind) for i, column in _each(columns)
        }
        return _spread(grouped(self._table, queries, limit=NO_LIMIT), [column.size for column in columns])

    def frequent(self, name: str, kind: Kind, *, at_least: int) -> Frequent:
        counted = self._table.select(a=self._table[name]).group_by("a").aggregate(n=ibis._.count())
        answer = ask(counted.filter(counted.a.notnull() & (counted.n >= at_least)))
        return Frequent(values=tuple(answer["a"].to_pylist()), counts=plain(answer["n"]).astype(np.int64))

    def prepared(self, columns: Sequence[CodedColumn]) -> Counter:
        coded = {
            f"c{i}": column.cells.expression(self._table[column.name], column.kind) for i, column in _each(columns)
        }
        # Two bytes a code: a hundred million rows are kept in a gigabyte for every five columns, not in four.
        small = {
            name: code.cast("int16")
            for (name, code), column in zip(coded.items(), columns, strict=True)
            if column.size < _MOST_SMALL
        }
        codes = self._table.select(**{**coded, **small}).cache()
        return _HeldCodes(codes, {column.name: (f"c{i}", column) for i, column in _each(columns)})


class _HeldCodes:
    """Codes that an engine keeps, to be counted in many combinations."""

    def __init__(self, table: Any, places: Mapping[str, tuple[str, CodedColumn]]) -> None:
        self._table, self._places = table, dict(places)

    def count(self, columns: Sequence[CodedColumn]) -> Counts:
        queries = {}
        for i, column in _each(columns):
            place, prepared = self._places[column.name]
            if prepared.cells is not column.cells:
                raise ValueError("a prepared counter answers about the cells that it was prepared for")
            queries[f"k{i}"] = self._table[place]
        return _spread(grouped(self._table, queries, limit=NO_LIMIT), [column.size for column in columns], mark="k")

    def frequent(self, name: str, kind: Kind, *, at_least: int) -> Frequent:
        raise NotImplementedError("codes are counted, not values")

    def prepared(self, columns: Sequence[CodedColumn]) -> Counter:
        raise NotImplementedError("codes are prepared once")


class CodesCounter:
    """Counts of rows that are codes of domains in memory: the sample of a race, or a test."""

    def __init__(self, columns: Mapping[str, tuple[Domain, NDArray[Any]]]) -> None:
        self._columns = dict(columns)
        self._seen: dict[tuple[str, int], tuple[Cells, NDArray[np.int64]]] = {}

    def __repr__(self) -> str:
        return f"CodesCounter({len(self._columns)} columns)"

    def count(self, columns: Sequence[CodedColumn]) -> Counts:
        key: Any = 0
        for column in columns:
            key = key * column.size + self._codes(column)
        sizes = tuple(column.size for column in columns)
        return np.bincount(key, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.int64)

    def _codes(self, column: CodedColumn) -> NDArray[np.int64]:
        place = (column.name, id(column.cells))
        if place not in self._seen or self._seen[place][0] is not column.cells:
            domain, codes = self._columns[column.name]
            of_value = np.append(column.cells.codes(domain.values, domain.kind), column.size - 1)
            self._seen[place] = column.cells, of_value[codes]
        return self._seen[place][1]

    def frequent(self, name: str, kind: Kind, *, at_least: int) -> Frequent:
        domain, codes = self._columns[name]
        counts = np.bincount(codes, minlength=domain.size)[: len(domain.values)]
        common = np.flatnonzero(counts >= at_least)
        return Frequent(values=tuple(domain.values[common].tolist()), counts=counts[common].astype(np.int64))

    def prepared(self, columns: Sequence[CodedColumn]) -> Counter:
        return self


def bounded(dataset: Dataset, person: str, *, rows_each: int) -> ir.Table:
    """The table with at most ``rows_each`` rows of each person, drawn at random and kept by the engine.

    Which rows of a person are drawn depends on nobody else. Rows without a person count as those of one.
    """
    table = dataset.table
    drawn = table.mutate(aegis_draw=ibis.random()).cache()
    place = ibis.row_number().over(group_by=drawn[person], order_by=drawn.aegis_draw)
    few = drawn.mutate(aegis_place=place)
    return few.filter(few.aegis_place < rows_each).drop("aegis_draw", "aegis_place").cache()


def _each(columns: Sequence[CodedColumn]) -> list[tuple[int, CodedColumn]]:
    return list(enumerate(columns))


def _spread(answer: Any, sizes: Sequence[int], *, mark: str = "c") -> Counts:
    """An answer of groups as an array with an axis for each column."""
    counts = np.zeros(tuple(sizes), dtype=np.int64)
    codes = tuple(plain(answer[f"{mark}{i}"]).astype(np.int64) for i in range(len(sizes)))
    np.add.at(counts, codes, plain(answer["n"]).astype(np.int64))
    return counts
