"""A table as Aegis sees it: an engine's expression, what its columns hold, and what part they play."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aegis.data.dialect import sampled
from aegis.data.schema import Roles, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from aegis.data.parquet_blocks import Blocks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table opened in an engine. Nothing is read until something is counted or released."""

    name: str
    table: ir.Table
    schema: Schema
    roles: Roles
    blocks: Blocks | None = None

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
