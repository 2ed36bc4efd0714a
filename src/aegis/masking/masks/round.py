"""Round a number to the nearest multiple of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.domain import show
from aegis.data.kind import NUMBERS, Kind, Values
from aegis.masking.grid import Grid
from aegis.masking.mask import MASKS, ExpressionMask, as_number, is_multiple
from aegis.masking.parameter import Number, Rule

if TYPE_CHECKING:
    import ibis.expr.types as ir


@MASKS.register("round")
@dataclass(frozen=True, slots=True, kw_only=True)
class Round(ExpressionMask):
    """Round a number to the nearest multiple of ``step``; halves go up.

    >>> import numpy as np
    >>> Round(step=10).on_values(np.array([53.5, 55.0, -5.0, -6.0])).tolist()
    [50.0, 60.0, 0.0, -10.0]
    """

    name: ClassVar[str] = "round"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"blur": {}}
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("53.5", "50")
    example_parameters: ClassVar[Mapping[str, Any]] = {"step": 10}
    rules: ClassVar[Mapping[str, Rule]] = {"step": Number(above=0)}

    step: float

    def __post_init__(self) -> None:
        ExpressionMask.__post_init__(self)
        self._grid()

    def kind_after(self, kind: Kind) -> Kind:
        whole = float(self.step).is_integer()
        return Kind.INTEGER if kind is Kind.INTEGER and whole else Kind.REAL

    def on_values(self, values: Values) -> Values:
        kind = Kind.INTEGER if values.dtype.kind in "iu" else Kind.REAL
        grid = self._grid()
        low = grid.low(values, kind)
        if self.kind_after(kind) is Kind.INTEGER:
            return (2 * low + grid.width) // (2 * grid.scale)
        return (2 * low + grid.width) / (2 * grid.scale)

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        grid = self._grid()
        middle = 2 * grid.low_expression(column, kind) + grid.width
        if self.kind_after(kind) is Kind.INTEGER:
            return (middle // (2 * grid.scale)).cast("int64")
        return middle.cast("float64") / (2 * grid.scale)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [is_multiple(as_number(text), self.step) for text in texts]

    def describe(self) -> str:
        return f"rounded to the nearest {show(self.step)}"

    def _grid(self) -> Grid:
        return Grid.of(width=self.step, half_steps=True)
