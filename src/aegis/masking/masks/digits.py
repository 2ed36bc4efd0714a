"""Replace the last digits of a number, by zeros or by stars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import NUMBERS, Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, ExpressionMask, as_number, as_objects, is_multiple
from aegis.masking.parameter import Rule, Whole

if TYPE_CHECKING:
    import ibis.expr.types as ir

MOST_DIGITS = 15


@MASKS.register("erase_digits")
@dataclass(frozen=True, slots=True, kw_only=True)
class EraseDigits(ExpressionMask):
    """Set the last ``digits`` digits before the point to zero; what follows the point goes too.

    A number with that many digits or fewer becomes 0. The sign stays.

    >>> EraseDigits(digits=1).on_values(np.array([43, -47, 7])).tolist()
    [40, -40, 0]
    """

    name: ClassVar[str] = "erase_digits"
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("4321", "4300")
    example_parameters: ClassVar[Mapping[str, Any]] = {"digits": 2}
    rules: ClassVar[Mapping[str, Rule]] = {"digits": Whole(at_least=1, at_most=MOST_DIGITS)}

    digits: int

    def on_values(self, values: Values) -> Values:
        size = _size_of(values)
        rounded = size - size % 10**self.digits
        return np.where(values < 0, -rounded, rounded).astype(values.dtype)

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        size = _size_expression(column, kind)
        rounded = size - size % 10**self.digits
        signed = (column < 0).ifelse(-rounded, rounded)
        return signed if kind is Kind.INTEGER else signed.cast("float64")

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [is_multiple(as_number(text), 10**self.digits) for text in texts]

    def describe(self) -> str:
        return f"last {self.digits} digit{'s' if self.digits > 1 else ''} set to zero"


@MASKS.register("star_digits")
@dataclass(frozen=True, slots=True, kw_only=True)
class StarDigits(ExpressionMask):
    """Show the last ``digits`` digits before the point as stars; what follows the point goes.

    A number with that many digits or fewer becomes as many stars. The sign stays.

    >>> StarDigits(digits=1).on_values(np.array([34, 7, -12])).tolist()
    ['3*', '*', '-1*']
    """

    name: ClassVar[str] = "star_digits"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("34", "3*")
    example_parameters: ClassVar[Mapping[str, Any]] = {"digits": 1}
    rules: ClassVar[Mapping[str, Rule]] = {"digits": Whole(at_least=1, at_most=MOST_DIGITS)}

    digits: int

    def on_values(self, values: Values) -> Values:
        shown = _size_of(values) // 10**self.digits
        signs = (values < 0).tolist()
        stars = "*" * self.digits
        return as_objects([f"{'-' * s}{n or ''}{stars}" for s, n in zip(signs, shown.tolist(), strict=True)])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        size = _size_expression(column, kind)
        power = 10**self.digits
        shown = (size - size % power) // power
        head = (shown > 0).ifelse(shown.cast("string"), "")
        return (column < 0).ifelse("-", "") + head + "*" * self.digits

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        written = re.compile(rf"-?(?:[1-9][0-9]*)?\*{{{self.digits}}}")
        return [written.fullmatch(text) is not None for text in texts]

    def describe(self) -> str:
        return f"last {self.digits} digit{'s' if self.digits > 1 else ''} starred"


def _size_of(values: Values) -> NDArray[np.int64]:
    """The number before the point, without its sign."""
    if len(values) and float(np.abs(values.astype(np.float64)).max()) >= 2**53:
        raise MaskError("the column holds numbers with more than 15 digits, which this mask does not take")
    return np.floor(np.abs(values)).astype(np.int64)


def _size_expression(column: ir.Column, kind: Kind) -> ir.Column:
    """The same in an engine."""
    if kind is Kind.INTEGER:
        return column.cast("int64").abs()
    return column.cast("float64").abs().floor().cast("int64")
