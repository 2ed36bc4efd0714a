"""A regular grid of numbers, computed the same way by numpy and by an engine.

Ends like 0.3 have no exact double, so a grid holds its width and origin as scaled integers and compares a value with
the double nearest to the decimal end. Thus 0.3 lies in [0.3, 0.4) as people expect, in both faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import Kind, Values
from aegis.errors import MaskError

if TYPE_CHECKING:
    import ibis.expr.types as ir

_LIMIT = 2**53  # whole numbers beyond it are not exact as doubles
_MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells ``[origin + i·width, origin + (i+1)·width)``, all ends multiples of ``1/scale``.

    >>> grid = Grid.of(width=2.5)
    >>> low = grid.low(np.array([7.0, -1.0]), Kind.REAL)
    >>> low.tolist(), grid.text(low), (low / grid.scale).tolist()
    ([50, -25], ['5.0', '-2.5'], [5.0, -2.5])
    """

    width: int
    origin: int
    decimals: int

    @classmethod
    def of(cls, *, width: float, origin: float = 0, half_steps: bool = False) -> Grid:
        """The grid with these decimals; ``half_steps`` moves it by half a cell, for rounding to the nearest."""
        exact_width, exact_origin = Decimal(str(width)), Decimal(str(origin))
        if half_steps:
            exact_origin -= exact_width / 2
        decimals = max(0, *(-int(number.normalize().as_tuple().exponent) for number in (exact_width, exact_origin)))
        if decimals > _MOST_DECIMALS:
            raise MaskError(f"a width or step may have at most {_MOST_DECIMALS} decimals; choose a coarser one")
        scale = 10**decimals
        grid = cls(width=int(exact_width * scale), origin=int(exact_origin * scale), decimals=decimals)
        if max(grid.width, abs(grid.origin)) >= _LIMIT:
            raise MaskError("a width, step or origin is too large or has too many decimals; choose a simpler one")
        return grid

    @property
    def scale(self) -> int:
        return 10**self.decimals

    def low(self, values: Values, kind: Kind) -> NDArray[np.int64]:
        """The lower end of each value's cell, times ``scale``."""
        if len(values) and float(np.abs(values.astype(np.float64)).max()) * self.scale + self.width >= _LIMIT:
            raise MaskError("the column holds numbers too large for this width or step; choose edges instead")
        if kind is Kind.INTEGER:
            moved = values.astype(np.int64) * self.scale - self.origin
            return moved - moved % self.width + self.origin
        numbers = values.astype(np.float64)
        index = np.floor((numbers - self.origin / self.scale) / (self.width / self.scale)).astype(np.int64)
        low = index * self.width + self.origin
        low = np.where(numbers < low / self.scale, low - self.width, low)
        return np.where(numbers >= (low + self.width) / self.scale, low + self.width, low)

    def low_expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        """The same in an engine."""
        scale, width = self.scale, self.width
        if kind is Kind.INTEGER:
            moved = column.cast("int64") * scale - self.origin
            # In engines a remainder takes the sign of the number.
            return moved - (moved % width + width) % width + self.origin
        numbers = column.cast("float64")
        low = ((numbers - self.origin / scale) / (width / scale)).floor().cast("int64") * width + self.origin
        too_high = numbers < low.cast("float64") / scale
        too_low = numbers >= (low + width).cast("float64") / scale
        return low + too_high.ifelse(-width, too_low.ifelse(width, 0))

    def text(self, scaled: NDArray[np.int64]) -> list[str]:
        """Scaled whole numbers as decimals."""
        if not self.decimals:
            return [str(number) for number in scaled.tolist()]
        parts = ((n, *divmod(abs(n), self.scale)) for n in scaled.tolist())
        return [f"{'-' if n < 0 else ''}{whole}.{rest:0{self.decimals}d}" for n, whole, rest in parts]

    def text_expression(self, scaled: Any) -> ir.Column:
        """The same in an engine, from whole numbers only: engines print floats each in their own way."""
        if not self.decimals:
            return scaled.cast("string")
        size = scaled.abs()
        rest = size % self.scale
        whole = ((size - rest) // self.scale).cast("string")
        padded = (rest + self.scale).cast("string").substr(1)  # the leading 1 keeps the zeros
        return (scaled < 0).ifelse("-", "") + whole + "." + padded
