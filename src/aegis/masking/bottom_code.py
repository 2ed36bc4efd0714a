"""Replace the smallest numbers by a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain, show
from aegis.data.kind import NUMBERS, Kind, Values
from aegis.masking.limit import LIMIT_RULES, LIMITS, limit_of, quantile_of
from aegis.masking.mask import MASKS, ExpressionMask, Mask
from aegis.masking.parameter import Rule, check_parameters, fifteen_digits

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("bottom_code")
@dataclass(frozen=True, slots=True, kw_only=True)
class BottomCode(ExpressionMask):
    """Replace every number below ``at`` by ``at``; or below a ``quantile`` of the column, such as 0.05.

    >>> BottomCode(at=20).on_values(np.array([43, 17])).tolist()
    [43, 20]
    """

    name: ClassVar[str] = "bottom_code"
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("17", "20")
    example_parameters: ClassVar[Mapping[str, Any]] = {"at": 20}
    rules: ClassVar[Mapping[str, Rule]] = LIMIT_RULES
    one_of: ClassVar[tuple[str, ...]] = LIMITS

    at: float | None = None
    quantile: float | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        object.__setattr__(self, "at", None if self.at is None else fifteen_digits(self.at))

    def check(self, kind: Kind, *, column: str) -> None:
        Mask.check(self, kind, column=column)
        limit_of(self.name, self.at, kind, column=column)

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> BottomCode:
        """With the quantile turned into a number."""
        return self if self.quantile is None else BottomCode(at=quantile_of(domain, counts, self.quantile))

    def on_values(self, values: Values) -> Values:
        kind = Kind.INTEGER if values.dtype.kind in "iu" else Kind.REAL
        return np.maximum(values, limit_of(self.name, self.at, kind, resolved=True))

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        limit = limit_of(self.name, self.at, kind, resolved=True)
        number = column.cast("int64" if kind is Kind.INTEGER else "float64")
        return (number < limit).ifelse(limit, number)

    def describe(self) -> str:
        if self.at is None:
            return f"bottom-coded at the {self.quantile:g} quantile"
        return f"bottom-coded at {show(self.at)}"
