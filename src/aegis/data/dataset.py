"""A table as Aegis sees it: an engine's expression, what its columns hold, and what part they play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.data.schema import Roles, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A table opened in an engine. Nothing is read until something is counted or released."""

    name: str
    table: ir.Table
    schema: Schema
    roles: Roles

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self.schema.columns)} columns)"

    @property
    def backend(self) -> Any:
        """The Ibis connection that answers questions about it."""
        return self.table.get_backend()

    def with_roles(self, roles: Roles) -> Dataset:
        """The same table with other roles, all of them checked."""
        return Dataset(name=self.name, table=self.table, schema=self.schema, roles=roles.checked_against(self.schema))
