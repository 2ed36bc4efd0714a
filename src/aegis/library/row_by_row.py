"""A finished table beside the rows that it was made of: clusters, boxes, sanitized columns, joined row by row.

Whoever made such a table knows which row became which, because they stand in the same order. So it is judged together
with what is out of its source, and its classes are kept in the source's ledger, as if masks had made it.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.errors import DataError
from aegis.releases.row_digest import OWN

SHOWN = f"{OWN}shown_"
"""What the names of columns begin with that hold what a finished table shows of a row."""


def beside_source(source: Dataset, finished: Dataset) -> ir.Table:
    """The rows of ``source`` with what ``finished`` shows of each; raises where they are not in the same order."""
    original, shown = ask(source.table), ask(finished.table)
    check_same_rows(original, shown, source=source.name, finished=finished.name)
    for place, name in enumerate(finished.schema.names):
        original = original.append_column(f"{SHOWN}{place}", shown[name])
    return ibis.memtable(original)


def as_shown(table: ir.Table, finished: Sequence[str]) -> ir.Table:
    """What `beside_source` made, with the columns of the finished table in place of the source's."""
    own = [name for name in table.columns if name.startswith(OWN) and not name.startswith(SHOWN)]
    shown = {name: table[f"{SHOWN}{place}"] for place, name in enumerate(finished)}
    return table.select(**shown, **{name: table[name] for name in own})


def check_same_rows(original: pa.Table, shown: pa.Table, *, source: str, finished: str) -> None:
    """Raise unless the rows of two tables are the same, one by one, by the columns that were left as they are."""
    if len(original) != len(shown):
        raise DataError(
            f"{finished} has {len(shown):,} rows and {source} {len(original):,}: row by row they can only be judged "
            "where every row stands in its place; write it without leaving records out"
        )
    common = [name for name in shown.column_names if name in original.column_names]
    moved, stays = None, False
    for name in common:
        before, after = _texts(original[name]), _texts(shown[name])
        if (before == after).all():
            stays |= len(set(before.tolist())) > 1
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


def _texts(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        column = pc.cast(column, pa.float64())
    texts = pc.fill_null(pc.cast(column, pa.string()), "\0")
    return np.array(texts.to_pylist(), dtype=object)
