"""Empty the column: every value becomes missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("nullify")
@dataclass(frozen=True, slots=True, kw_only=True)
class Nullify(ExpressionMask):
    """Make every value missing; the column keeps its type.

    >>> Nullify().describe()
    'emptied'
    """

    name: ClassVar[str] = "nullify"
    example: ClassVar[tuple[str, str]] = ("21162", "(missing)")

    def on_values(self, values: Values) -> Values:
        return as_objects([None] * len(values))

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.notnull().ifelse(None, column)

    def describe(self) -> str:
        return "emptied"
