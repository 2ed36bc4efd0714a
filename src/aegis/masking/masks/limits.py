"""Replace the largest or the smallest numbers by a limit: a given number, or a quantile of the column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain, show
from aegis.data.kind import NUMBERS, Kind, Values
from aegis.errors import MaskError
from aegis.masking.grid import without_few
from aegis.masking.mask import MASKS, ExpressionMask, Mask, as_number
from aegis.masking.parameter import Number, Rule, fifteen_digits

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitMask(ExpressionMask):
    """Replace every number beyond ``at``, or beyond a ``quantile`` of the column, by that limit."""

    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    rules: ClassVar[Mapping[str, Rule]] = {"at": Number(), "quantile": Number(above=0, below=1)}
    one_of: ClassVar[tuple[str, ...]] = ("at", "quantile")

    at: float | None = None
    quantile: float | None = None

    def __post_init__(self) -> None:
        ExpressionMask.__post_init__(self)
        object.__setattr__(self, "at", None if self.at is None else fifteen_digits(self.at))

    @abstractmethod
    def is_beyond(self, numbers: Any, limit: Any) -> Any:
        """Which numbers the limit replaces: an array, or a column of an engine."""

    def check(self, kind: Kind, *, column: str) -> None:
        Mask.check(self, kind, column=column)
        if self.at is not None and kind is Kind.INTEGER and not float(self.at).is_integer():
            raise MaskError(f"mask {self.name!r}: column {column!r} holds whole numbers, so at must be one too")

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Self:
        """With the quantile turned into a number."""
        return self if self.quantile is None else type(self)(at=_quantile_of(domain, counts, self.quantile))

    def on_values(self, values: Values) -> Values:
        limit = self._limit(Kind.INTEGER if values.dtype.kind in "iu" else Kind.REAL)
        return np.where(self.is_beyond(values, limit), limit, values)

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        limit = self._limit(kind)
        number = column.cast("int64" if kind is Kind.INTEGER else "float64")
        return self.is_beyond(number, limit).ifelse(limit, number)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        numbers = [as_number(text) for text in texts]
        if self.at is None:  # the limit was read off the column, and is one of its numbers
            return [number is not None for number in numbers]
        return [number is not None and not bool(self.is_beyond(number, self.at)) for number in numbers]

    def _limit(self, kind: Kind) -> int | float:
        """The limit as a number of the column's kind."""
        if self.at is None:
            raise MaskError(f"mask {self.name!r} with a quantile must be resolved on a column first")
        self.check(kind, column="")
        return int(self.at) if kind is Kind.INTEGER else float(self.at)

    def _shown_limit(self) -> str:
        return f"the {self.quantile:g} quantile" if self.at is None else show(self.at)


@MASKS.register("top_code")
@dataclass(frozen=True, slots=True, kw_only=True)
class TopCode(LimitMask):
    """Replace every number above ``at`` by ``at``; or above a ``quantile`` of the column, such as 0.95.

    >>> TopCode(at=90).on_values(np.array([43, 97])).tolist()
    [43, 90]
    """

    name: ClassVar[str] = "top_code"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"top_coding": {}}
    example: ClassVar[tuple[str, str]] = ("97", "90")
    example_parameters: ClassVar[Mapping[str, Any]] = {"at": 90}

    def is_beyond(self, numbers: Any, limit: Any) -> Any:
        return numbers > limit

    def describe(self) -> str:
        return f"top-coded at {self._shown_limit()}"


@MASKS.register("bottom_code")
@dataclass(frozen=True, slots=True, kw_only=True)
class BottomCode(LimitMask):
    """Replace every number below ``at`` by ``at``; or below a ``quantile`` of the column, such as 0.05.

    >>> BottomCode(at=20).on_values(np.array([43, 17])).tolist()
    [43, 20]
    """

    name: ClassVar[str] = "bottom_code"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"bottom_coding": {}}
    example: ClassVar[tuple[str, str]] = ("17", "20")
    example_parameters: ClassVar[Mapping[str, Any]] = {"at": 20}

    def is_beyond(self, numbers: Any, limit: Any) -> Any:
        return numbers < limit

    def describe(self) -> str:
        return f"bottom-coded at {self._shown_limit()}"


def _quantile_of(domain: Domain, counts: NDArray[Any], quantile: float) -> float:
    """The smallest value with at least this share of the records at or below it, and a few at or beyond it.

    The 0.999 quantile of a thousand incomes is the second largest: as a limit it would publish what it should hide.
    """
    values = domain.values
    if not len(values):
        return 0
    reached = np.cumsum(np.asarray(counts[: len(values)], dtype=np.float64))
    place = int(np.searchsorted(reached, quantile * reached[-1] * (1 - 1e-12)))
    inside = without_few(values, counts)
    return min(max(values[min(place, len(values) - 1)], inside[0]), inside[-1]).item()
