"""A table as Aegis sees it: an engine's expression, what its columns hold, and what part they play.

Of a Parquet file some blocks of rows can be read without the rest. A sample that the engine draws after reading costs a
pass over every column; asked for rows by their number in the file, it skips the pages in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aegis.data.dialect import sampled
from aegis.data.schema import Roles, Schema
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table opened in an engine. Nothing is read until something is counted or released.

    ``orders`` are the values of text columns from the lowest on, where somebody declared an order.
    """

    name: str
    table: ir.Table
    schema: Schema
    roles: Roles
    blocks: Blocks | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.schema.columns)} columns)"

    @property
    def backend(self) -> Any:
        """The Ibis connection that answers questions about it."""
        return self.table.get_backend()

    def with_roles(self, roles: Roles) -> Dataset:
        """The same table with other roles, all of them checked."""
        return replace(self, roles=roles.checked_against(self.schema))

    def some_blocks(self, *, one_in: int, seed: int) -> ir.Table:
        """About one in so many blocks of rows; the others are not read where the engine can skip them."""
        if self.blocks is not None and self.blocks.whole is self.table:
            return self.blocks.some(one_in, seed)
        if self.backend.name != "duckdb":  # single rows will do: other engines skip no blocks of a derived table
            return sampled(self.table, 1 / one_in, seed=seed)
        return self.table.sample(1 / one_in, method="block", seed=seed)
