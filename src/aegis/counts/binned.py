"""Columns as they are counted: by value, or in bins that the engine makes of a domain too large to list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import NO_LIMIT, ask, codes_in, encode, grouped, to_numpy, without_quotes
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binned:
    """A column as it is counted: by value, or by the number of the bin that starts at ``starts[number]``.

    Bins are numbered because engines write decimal results in their own ways. What lies below the first start is in
    the first bin. A column that is counted by value is named; one in bins is an expression.
    """

    source: ir.Column | str
    kind: Kind
    starts: Values | None = None
    discretised: bool = False

    @property
    def column(self) -> ir.Column | str:
        """What to group by."""
        if self.starts is None:
            return self.source
        assert not isinstance(self.source, str), "a column in bins is an expression"
        return stepped(self.source, self.starts.tolist(), range(len(self.starts)))

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


def binned(dataset: Dataset, name: str, kind: Kind, bins: int) -> Binned:
    """The column by bins that hold about equally many records; dates and times by month."""
    column = dataset.table[name]
    if kind is Kind.DATE or kind is Kind.TIMESTAMP:
        month = column.cast("timestamp").truncate("M").cast("date" if kind is Kind.DATE else "timestamp")
        return Binned(source=month, kind=kind, discretised=True)
    shares = [i / bins for i in range(1, bins)]
    answer = ask(dataset.table.aggregate(least=column.min(), rest=column.approx_quantile(shares)))
    least, rest = answer["least"][0].as_py(), answer["rest"][0].as_py()
    if least is None:
        return Binned(source=name, kind=kind)
    edges = np.unique(np.asarray([least, *rest], dtype=np.float64).astype(kind.dtype))
    return Binned(source=column, kind=kind, starts=edges, discretised=True)


def count_bins(table: ir.Table, counted: Binned, label: Binned) -> pa.Table:
    """How often each bin (``a``, its number) occurs with each label (``y``), as ``n``: one row per pair.

    DuckDB has a function that looks bins up by halving; the comparisons that other engines are given cost it ten times
    as much. Its bins are closed above and ours below, so it is given the numbers turned around.
    """
    assert counted.starts is not None
    backend = table.get_backend()
    if backend.name != "duckdb":
        return grouped(table, {"a": counted.column, "y": label.column}, limit=NO_LIMIT)
    whole = counted.kind is Kind.INTEGER  # the complement of the smallest whole number is one; its negative is not
    ends = [~start if whole else -start for start in reversed(counted.starts.tolist())]
    column = label.column
    chosen = table.select(a=counted.source, y=table[column] if isinstance(column, str) else column)
    text = (
        f"SELECT y, count(*) - count(a) AS missing, map_values(histogram({'~' if whole else '-'}a, "  # noqa: S608
        f"{ends}::{'BIGINT' if whole else 'DOUBLE'}[])) AS bins FROM ({backend.compile(chosen)}) GROUP BY y"
    )
    answer = without_quotes(lambda: backend.raw_sql(text).to_arrow_table())
    last = len(ends) - 1
    numbers: list[int | None] = []
    labels: list[int] = []
    counts: list[int] = []
    for row, (missing, bins) in enumerate(zip(answer["missing"].to_pylist(), answer["bins"].to_pylist(), strict=True)):
        # One count more is of what lies below the first start.
        rows_by_bin: Counter[int] = Counter()
        for end, n in enumerate(bins or ()):
            rows_by_bin[max(last - end, 0)] += n
        entries = [(number, n) for number, n in rows_by_bin.items() if n] + [(None, missing)] * bool(missing)
        numbers += [number for number, _ in entries]
        counts += [n for _, n in entries]
        labels += [row] * len(entries)
    return pa.table(
        {"a": pa.array(numbers, pa.int64()), "y": answer["y"].take(pa.array(labels, pa.int64())), "n": counts}
    )


def binned_counts(values: Values, counts: NDArray[np.int64], bins: int) -> tuple[Values, NDArray[np.int64]]:
    """Sorted ``values`` with their counts (a line each) in about ``bins`` neighbourhoods of equally many records.

    >>> starts, counts = binned_counts(np.arange(6), np.array([[1], [1], [2], [2], [1], [1]]), 2)
    >>> starts.tolist(), counts.tolist()
    ([0, 3], [[4], [4]])
    """
    rows_by_value = counts.sum(axis=1)
    before = np.cumsum(rows_by_value) - rows_by_value
    group = np.minimum(before * bins // max(int(rows_by_value.sum()), 1), bins - 1)
    heads = np.flatnonzero(np.diff(group, prepend=-1))
    return values[heads], np.add.reduceat(counts, heads, axis=0)


def stepped(column: ir.Column, edges: Sequence[Any], results: Sequence[Any]) -> Any:
    """``results[i]`` for values from ``edges[i]`` up to the next edge: a balanced tree of comparisons."""
    if len(edges) == 1:
        import ibis

        return column.isnull().ifelse(ibis.null(), ibis.literal(results[0]))
    half = len(edges) // 2
    return (column < edges[half]).ifelse(
        stepped(column, edges[:half], results[:half]), stepped(column, edges[half:], results[half:])
    )
