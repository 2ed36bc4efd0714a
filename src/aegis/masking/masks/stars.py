"""Show a part of a text and stars for the rest: postal codes, card numbers, e-mail addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.parameter import Rule, Whole

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
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = CODES
    example: ClassVar[tuple[str, str]] = ("21162", "211**")
    example_parameters: ClassVar[Mapping[str, Any]] = {"characters": 2}
    rules: ClassVar[Mapping[str, Rule]] = {"characters": Whole(at_least=1, at_most=1000)}

    characters: int

    def on_values(self, values: Values) -> Values:
        stars = "*" * self.characters
        return as_objects([str(value)[: -self.characters] + stars for value in values.tolist()])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        text = column.cast("string")
        shown = text.length() - self.characters
        return (shown > 0).ifelse(text.substr(0, (shown > 0).ifelse(shown, 0)), "") + "*" * self.characters

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [text.endswith("*" * self.characters) for text in texts]

    def describe(self) -> str:
        return f"last {self.characters} character{'s' if self.characters > 1 else ''} starred"


@MASKS.register("last_four")
@dataclass(frozen=True, slots=True, kw_only=True)
class LastFour(ExpressionMask):
    """Show four stars and the last four characters, however long the value is.

    Something of four characters or fewer would be shown whole, so only the stars are left of it.

    >>> LastFour().on_values(as_objects(["4111111111111234", "1234"])).tolist()
    ['****1234', '****']
    """

    name: ClassVar[str] = "last_four"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = CODES
    example: ClassVar[tuple[str, str]] = ("4111111111111234", "****1234")

    def on_values(self, values: Values) -> Values:
        texts = [str(value) for value in values.tolist()]
        return as_objects(["****" + (text[-4:] if len(text) > 4 else "") for text in texts])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        text = column.cast("string")
        start = text.length() - 4
        return "****" + (start > 0).ifelse(text.substr((start > 0).ifelse(start, 0), 4), "")

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [text.startswith("****") and len(text) in (4, 8) for text in texts]

    def describe(self) -> str:
        return "last four characters kept"


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
        return as_objects([f"*****{at}{domain if at else ''}" for _, at, domain in parts])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.contains("@").ifelse("*****@" + column.re_extract("@([^@]*)$", 1), "*****")

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [text == "*****" or (text.startswith("*****@") and "@" not in text[6:]) for text in texts]

    def describe(self) -> str:
        return "only the e-mail domain kept"
