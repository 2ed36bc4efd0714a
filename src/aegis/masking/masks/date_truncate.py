"""Replace a date by the first day of its year, quarter, month or week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aegis.data.kind import DATES, Kind, Values
from aegis.masking.mask import MASKS, ExpressionMask
from aegis.masking.parameter import Choice, Rule

if TYPE_CHECKING:
    import ibis.expr.types as ir

_UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}


@MASKS.register("date_truncate")
@dataclass(frozen=True, slots=True, kw_only=True)
class DateTruncate(ExpressionMask):
    """Replace a date or time by the first day of its ``unit``: year, quarter, month, week (from Monday) or day.

    >>> DateTruncate(unit="quarter").on_values(np.array(["2024-05-17"], dtype="M8[D]")).astype(str).tolist()
    ['2024-04-01']
    """

    name: ClassVar[str] = "date_truncate"
    kind_written: ClassVar[Kind | None] = Kind.DATE
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "generalize_date": {},
        "date_year": {"unit": "year"},
        "date_quarter": {"unit": "quarter"},
        "date_month": {"unit": "month"},
        "date_week": {"unit": "week"},
    }
    accepts: ClassVar[frozenset[Kind]] = DATES
    example: ClassVar[tuple[str, str]] = ("2024-05-17", "2024-05-01")
    example_parameters: ClassVar[Mapping[str, Any]] = {"unit": "month"}
    rules: ClassVar[Mapping[str, Rule]] = {"unit": Choice(tuple(_UNITS))}

    unit: str

    def on_values(self, values: Values) -> Values:
        days = values.astype("M8[D]")
        if self.unit == "day":
            return days
        if self.unit == "week":
            since = days.astype(np.int64)
            return (since - (since + 3) % 7).astype("M8[D]")  # day 0 of 1970 was a Thursday
        if self.unit == "quarter":
            months = days.astype("M8[M]").astype(np.int64)
            return (months - months % 3).astype("M8[M]").astype("M8[D]")
        return days.astype(f"M8[{_UNITS[self.unit]}]").astype("M8[D]")

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        # By way of a time: some engines make a time of a truncated date, and the last cast must not be left out then.
        return column.cast("timestamp").truncate(_UNITS[self.unit]).cast("date")

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [self._is_first_day(text) for text in texts]

    def _is_first_day(self, text: str) -> bool:
        try:
            day = np.array([text.strip().removesuffix(" 00:00:00")], dtype="M8[D]")
        except ValueError:
            return False
        return bool((self.on_values(day) == day).all())

    def describe(self) -> str:
        return f"truncated to the {self.unit}"
