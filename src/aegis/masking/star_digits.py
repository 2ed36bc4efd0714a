"""Replace the last digits of a number by stars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.kind import NUMBERS, Kind, Values
from aegis.masking.digits import MOST_DIGITS, size_expression, size_of
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.parameter import Rule, Whole, check_parameters

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("star_digits")
@dataclass(frozen=True, slots=True, kw_only=True)
class StarDigits(ExpressionMask):
    """Show the last ``digits`` digits before the point as stars; what follows the point goes.

    A number with that many digits or fewer becomes as many stars. The sign stays.

    >>> import numpy as np
    >>> StarDigits(digits=1).on_values(np.array([34, 7, -12])).tolist()
    ['3*', '*', '-1*']
    """

    name: ClassVar[str] = "star_digits"
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("34", "3*")
    example_parameters: ClassVar[Mapping[str, Any]] = {"digits": 1}
    rules: ClassVar[Mapping[str, Rule]] = {"digits": Whole(at_least=1, at_most=MOST_DIGITS)}

    digits: int

    def __post_init__(self) -> None:
        check_parameters(self)

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def on_values(self, values: Values) -> Values:
        shown = size_of(values) // 10**self.digits
        signs = (values < 0).tolist()
        stars = "*" * self.digits
        return as_objects([f"{'-' * s}{n or ''}{stars}" for s, n in zip(signs, shown.tolist(), strict=True)])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        size = size_expression(column, kind)
        power = 10**self.digits
        shown = (size - size % power) // power
        head = (shown > 0).ifelse(shown.cast("string"), "")
        return (column < 0).ifelse("-", "") + head + "*" * self.digits

    def describe(self) -> str:
        return f"last {self.digits} digit{'s' if self.digits > 1 else ''} starred"
