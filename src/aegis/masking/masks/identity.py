"""Leave the column as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("identity")
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(ExpressionMask):
    """Publish the value itself.

    >>> Identity().describe()
    'unchanged'
    """

    name: ClassVar[str] = "identity"
    example: ClassVar[tuple[str, str]] = ("43", "43")

    def on_values(self, values: Values) -> Values:
        return values

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)

    def describe(self) -> str:
        return "unchanged"
