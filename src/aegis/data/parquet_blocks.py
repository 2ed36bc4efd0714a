"""Some blocks of rows of a Parquet file, read without the rest.

A sample that the engine draws after reading costs a pass over every column. Asked for rows by their number in the
file, it skips the pages in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aegis.data.sql_text import quoted_text
from aegis.data.tidy import tidied

if TYPE_CHECKING:
    from pathlib import Path

    import ibis.expr.types as ir

_ROWS = 2048  # DuckDB reads this many rows at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Blocks:
    """``some(one_in, seed)`` is about one in so many blocks of the rows of ``whole``, drawn by the seed."""

    whole: ir.Table
    some: Callable[[int, int], ir.Table]


def blocks_of(whole: ir.Table, raw: ir.Table, path: Path, *, missing: tuple[str, ...]) -> Blocks | None:
    """The blocks of ``whole``, a Parquet file that reads ``raw``; None where a part could not be read alike."""
    if "file_row_number" in raw.columns or any(kind.is_decimal() or kind.is_uint64() for kind in raw.schema().values()):
        return None  # how wide numbers are read depends on all of them
    file = quoted_text(str(path))

    def some(one_in: int, seed: int) -> ir.Table:
        text = (
            f"SELECT * EXCLUDE file_row_number FROM read_parquet({file}, file_row_number = true) "  # noqa: S608
            f"WHERE hash(file_row_number // {_ROWS}) % {one_in} = {seed % one_in}"
        )
        return tidied(whole.get_backend().sql(text), missing)

    return Blocks(whole=whole, some=some)
