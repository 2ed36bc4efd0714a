"""Numbers and dates that are written as some countries write them: which columns, as somebody says.

``1.234,5`` is a number to one reader and a text to another, and ``03/04/2024`` is a day in March or in April: nothing
is guessed. Whoever knows names the columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from aegis.errors import DataError

NOTATIONS = ("decimal_comma", "day_first", "month_first")
"""How a column may be written: the names of the options, and the keys of a roles file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """The columns of text that hold numbers with a decimal comma, and dates with the day or the month first."""

    decimal_comma: tuple[str, ...] = ()
    day_first: tuple[str, ...] = ()
    month_first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = self.columns
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise DataError(f"{twice[0]!r} is said to be written in two ways; name it under one of them")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.decimal_comma, *self.day_first, *self.month_first)

    def of(self, column: str) -> str:
        """How a column is written, by the name of the option."""
        return next(name for name in NOTATIONS if column in getattr(self, name))
