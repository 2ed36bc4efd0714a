"""A finished table beside the rows that it was made of: clusters, boxes, sanitized columns, joined row by row.

Whoever made such a table knows which row became which, because they stand in the same order. So it is judged together
with the earlier releases of its source, and its classes are kept in the source's ledger, as if masks had made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.errors import DataError
from aegis.releases.row_digest import OWN

SHOWN = f"{OWN}shown_"
"""What the names of columns begin with that hold what a finished table shows of a row."""

_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRows:
    """By what it was seen that a finished table is in the order of its source: the columns that are as they were.

    ``rows_told_apart`` of all ``rows`` have a value of these columns that no other row has; whether others changed
    places with rows like them, nobody can see.
    """

    columns: tuple[str, ...]
    rows: int
    rows_told_apart: int

    @property
    def is_certain(self) -> bool:
        """Whether nearly every row is told apart."""
        return self.rows_told_apart >= _NEARLY_ALL * self.rows

    def warning(self) -> str:
        """What was taken on its word."""
        return (
            f"which row is which was seen by {', '.join(self.columns)}, the only columns that are as they were, and by "
            f"these {self.rows_told_apart:,} of {self.rows:,} rows are told apart: that the others stand in the order "
            "of the source is taken on its word, and what they show together with earlier releases holds only if "
            "they do"
        )


def beside_source(source: Dataset, finished: Dataset) -> tuple[ir.Table, SameRows]:
    """The rows of ``source`` with what ``finished`` shows of each; raises where they are not in the same order."""
    original, shown = ask(source.table), ask(finished.table)
    same = check_same_rows(original, shown, source=source.name, finished=finished.name)
    for place, name in enumerate(finished.schema.names):
        original = original.append_column(f"{SHOWN}{place}", shown[name])
    return ibis.memtable(original), same


def as_shown(table: ir.Table, finished: Sequence[str]) -> ir.Table:
    """What `beside_source` made, with the columns of the finished table in place of the source's."""
    own = [name for name in table.columns if name.startswith(OWN) and not name.startswith(SHOWN)]
    shown = {name: table[f"{SHOWN}{place}"] for place, name in enumerate(finished)}
    return table.select(**shown, **{name: table[name] for name in own})


def check_same_rows(original: pa.Table, shown: pa.Table, *, source: str, finished: str) -> SameRows:
    """Raise unless the rows of two tables are the same, one by one, by the columns that were left as they are."""
    if len(original) != len(shown):
        raise DataError(
            f"{finished} has {len(shown):,} rows and {source} {len(original):,}: row by row they can only be judged "
            "where every row stands in its place; write it without leaving records out"
        )
    common = [name for name in shown.column_names if name in original.column_names]
    moved, stays, kept = None, False, []
    for name in common:
        before, after = _texts(original[name]), _texts(shown[name])
        if (before == after).all():
            stays |= len(set(before.tolist())) > 1
            kept.append((name, before.tolist()))
        elif moved is None and sorted(before.tolist()) == sorted(after.tolist()):
            moved = name
    if moved is not None:
        raise DataError(
            f"{finished} is not in the order of {source}: {moved!r} has the same values in other rows; write it in the "
            "order of the source (--no-shuffle)"
        )
    if not stays:
        raise DataError(
            f"no column of {finished} is as it is in {source}, so nobody can say which row is which; keep one that is"
        )
    alike = Counter(zip(*(values for _, values in kept), strict=True))
    return SameRows(
        columns=tuple(name for name, _ in kept),
        rows=len(shown),
        rows_told_apart=sum(rows == 1 for rows in alike.values()),
    )


def _texts(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with suppress(pa.ArrowInvalid):  # whole numbers of more digits than a real number has stay as they are written
            column = column.cast(pa.float64())
    texts = column.cast(pa.string()).fill_null("\0")
    return np.array(texts.to_pylist(), dtype=object)
