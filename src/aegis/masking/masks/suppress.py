"""Hide the column: every value becomes the same star, or missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects

if TYPE_CHECKING:
    import ibis.expr.types as ir

STAR = "*"


@MASKS.register("suppress")
@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress(ExpressionMask):
    """Replace every value, missing ones too, by ``*``.

    >>> Suppress().describe()
    'suppressed'
    """

    name: ClassVar[str] = "suppress"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"redact": {}}
    shows_nothing: ClassVar[bool] = True
    covers_missing: ClassVar[bool] = True  # whether a value is missing is information as well
    example: ClassVar[tuple[str, str]] = ("21162", "*")

    def on_values(self, values: Values) -> Values:
        return as_objects([STAR] * len(values))

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.isnull().ifelse(STAR, STAR)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [text == STAR for text in texts]

    def describe(self) -> str:
        return "suppressed"


@MASKS.register("nullify")
@dataclass(frozen=True, slots=True, kw_only=True)
class Nullify(ExpressionMask):
    """Make every value missing; the column keeps its type.

    >>> Nullify().describe()
    'emptied'
    """

    name: ClassVar[str] = "nullify"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"null": {}, "null_out": {}}
    shows_nothing: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("21162", "(missing)")

    def on_values(self, values: Values) -> Values:
        return as_objects([None] * len(values))

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.notnull().ifelse(None, column)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)

    def describe(self) -> str:
        return "emptied"
