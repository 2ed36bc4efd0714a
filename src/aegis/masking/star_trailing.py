"""Replace the last characters by stars, as for postal codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.parameter import Rule, Whole, check_parameters

if TYPE_CHECKING:
    import ibis.expr.types as ir

CODES = frozenset({Kind.TEXT, Kind.INTEGER})


@MASKS.register("star_trailing")
@dataclass(frozen=True, slots=True, kw_only=True)
class StarTrailing(ExpressionMask):
    """Show the last ``characters`` characters as stars.

    Something that short or shorter becomes as many stars, so that its length does not show.

    >>> StarTrailing(characters=2).on_values(as_objects(["21162", "7"])).tolist()
    ['211**', '**']
    """

    name: ClassVar[str] = "star_trailing"
    accepts: ClassVar[frozenset[Kind]] = CODES
    example: ClassVar[tuple[str, str]] = ("21162", "211**")
    example_parameters: ClassVar[Mapping[str, Any]] = {"characters": 2}
    rules: ClassVar[Mapping[str, Rule]] = {"characters": Whole(at_least=1, at_most=1000)}

    characters: int

    def __post_init__(self) -> None:
        check_parameters(self)

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def on_values(self, values: Values) -> Values:
        stars = "*" * self.characters
        return as_objects([str(value)[: -self.characters] + stars for value in values.tolist()])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        text = column.cast("string")
        kept = text.length() - self.characters
        return (kept > 0).ifelse(text.substr(0, (kept > 0).ifelse(kept, 0)), "") + "*" * self.characters

    def describe(self) -> str:
        return f"last {self.characters} character{'s' if self.characters > 1 else ''} starred"
