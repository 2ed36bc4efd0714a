"""Keep the domain of an e-mail address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects

if TYPE_CHECKING:
    import ibis.expr.types as ir

_STARS = "*****"


@MASKS.register("email_mask")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmailMask(ExpressionMask):
    """Show five stars for the name and keep what follows the last ``@``; without one, only the stars.

    >>> EmailMask().on_values(as_objects(["ana@clinic.org", "none"])).tolist()
    ['*****@clinic.org', '*****']
    """

    name: ClassVar[str] = "email_mask"
    accepts: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT})
    example: ClassVar[tuple[str, str]] = ("ana@clinic.org", "*****@clinic.org")

    def on_values(self, values: Values) -> Values:
        parts = [text.rpartition("@") for text in values.tolist()]
        return as_objects([f"{_STARS}{at}{domain if at else ''}" for _, at, domain in parts])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.contains("@").ifelse(_STARS + "@" + column.re_extract("@([^@]*)$", 1), _STARS)

    def describe(self) -> str:
        return "only the e-mail domain kept"
