"""Columns as they are counted: by value, or in bins that the engine makes of a domain too large to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.summaries.answer import ask, codes_in, encode, to_numpy

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binned:
    """A column as it is counted: by value, or by the number of the bin that starts at ``starts[number]``.

    Bins are numbered because engines write decimal results in their own ways.
    """

    column: ir.Column
    kind: Kind
    starts: Values | None = None
    discretised: bool = False

    def encoded(self, answer: pa.ChunkedArray) -> tuple[Domain, NDArray[np.int64]]:
        """The domain of what was counted, and the code of each group."""
        if self.starts is None:
            return encode(answer, self.kind, discretised=self.discretised)
        numbers, codes = encode(answer, Kind.INTEGER)
        values = self.starts[numbers.values].astype(self.kind.dtype)
        return Domain(kind=self.kind, values=values, missing=numbers.missing, discretised=True), codes

    def codes_in(self, answer: pa.ChunkedArray, domain: Domain) -> NDArray[np.int64]:
        """The code of each group in a domain that is known already."""
        if self.starts is None:
            return codes_in(answer, domain)
        present, numbers = to_numpy(answer, Kind.INTEGER)
        codes = np.full(len(answer), len(domain.values), dtype=np.int64)
        codes[present] = domain.codes(self.starts[numbers])
        return codes


def binned(dataset: Dataset, column: ir.Column, kind: Kind, bins: int) -> Binned:
    """The column by bins that hold about equally many records; dates and times by month."""
    if kind is Kind.DATE or kind is Kind.TIMESTAMP:
        month = column.cast("timestamp").truncate("M").cast("date" if kind is Kind.DATE else "timestamp")
        return Binned(column=month, kind=kind, discretised=True)
    shares = [i / bins for i in range(bins)]
    summary = dataset.table.aggregate(
        least=column.min(), **{f"q{i}": column.approx_quantile(share) for i, share in enumerate(shares) if i}
    )
    answer = ask(summary)
    starts = [v for name in answer.column_names if (v := answer[name][0].as_py()) is not None]
    if not starts:
        return Binned(column=column, kind=kind)
    edges = np.unique(np.asarray(starts, dtype=np.float64).astype(kind.dtype))
    return Binned(column=stepped(column, edges.tolist(), range(len(edges))), kind=kind, starts=edges, discretised=True)


def binned_counts(values: Values, counts: NDArray[np.int64], bins: int) -> tuple[Values, NDArray[np.int64]]:
    """Sorted ``values`` with their counts (a line each) in about ``bins`` neighbourhoods of equally many records.

    >>> starts, counts = binned_counts(np.arange(6), np.array([[1], [1], [2], [2], [1], [1]]), 2)
    >>> starts.tolist(), counts.tolist()
    ([0, 3], [[4], [4]])
    """
    each = counts.sum(axis=1)
    before = np.cumsum(each) - each
    group = np.minimum(before * bins // max(int(each.sum()), 1), bins - 1)
    heads = np.flatnonzero(np.diff(group, prepend=-1))
    return values[heads], np.add.reduceat(counts, heads, axis=0)


def stepped(column: ir.Column, edges: Sequence[Any], results: Sequence[Any]) -> Any:
    """``results[i]`` for values from ``edges[i]`` up to the next edge: a balanced tree of comparisons."""
    if len(edges) == 1:
        return column.isnull().ifelse(ibis.null(), ibis.literal(results[0]))
    half = len(edges) // 2
    return (column < edges[half]).ifelse(
        stepped(column, edges[:half], results[:half]), stepped(column, edges[half:], results[half:])
    )
