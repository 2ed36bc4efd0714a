"""Replace the last digits of a number by zeros."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aegis.data.kind import NUMBERS, Kind, Values
from aegis.masking.digits import MOST_DIGITS, size_expression, size_of
from aegis.masking.mask import MASKS, ExpressionMask
from aegis.masking.parameter import Rule, Whole, check_parameters

if TYPE_CHECKING:
    import ibis.expr.types as ir


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

    def __post_init__(self) -> None:
        check_parameters(self)

    def on_values(self, values: Values) -> Values:
        size = size_of(values)
        kept = size - size % 10**self.digits
        return np.where(values < 0, -kept, kept).astype(values.dtype)

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        size = size_expression(column, kind)
        kept = size - size % 10**self.digits
        signed = (column < 0).ifelse(-kept, kept)
        return signed if kind is Kind.INTEGER else signed.cast("float64")

    def describe(self) -> str:
        return f"last {self.digits} digit{'s' if self.digits > 1 else ''} set to zero"
