"""Keep the last four characters, as on a receipt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.star_trailing import CODES

if TYPE_CHECKING:
    import ibis.expr.types as ir

_STARS = "****"


@MASKS.register("last_four")
@dataclass(frozen=True, slots=True, kw_only=True)
class LastFour(ExpressionMask):
    """Show four stars and the last four characters, however long the value is.

    Something of four characters or fewer would be shown whole, so only the stars are left of it.

    >>> LastFour().on_values(as_objects(["4111111111111234", "1234"])).tolist()
    ['****1234', '****']
    """

    name: ClassVar[str] = "last_four"
    accepts: ClassVar[frozenset[Kind]] = CODES
    example: ClassVar[tuple[str, str]] = ("4111111111111234", "****1234")

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def on_values(self, values: Values) -> Values:
        texts = [str(value) for value in values.tolist()]
        return as_objects([_STARS + (text[-4:] if len(text) > 4 else "") for text in texts])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        text = column.cast("string")
        start = text.length() - 4
        return _STARS + (start > 0).ifelse(text.substr((start > 0).ifelse(start, 0), 4), "")

    def describe(self) -> str:
        return "last four characters kept"
