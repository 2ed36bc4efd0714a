"""Replace a date or time by the range between two edges that it falls in."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aegis.data.domain import show
from aegis.data.kind import DATES, Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, ExpressionMask, as_objects, beside_written, by_threshold
from aegis.masking.parameter import Rule, is_list
from aegis.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_RANGES = 10_000
_WRITTEN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"


class _Days:
    """Days or times that rise from one to the next, kept as texts: 2017-06-21, or 2017-06-21 08:30:00."""

    def read(self, value: Any, *, mask: str, name: str) -> tuple[str, ...]:
        if not is_list(value) or not 1 <= len(value) <= _MOST_RANGES:
            raise MaskError(f"mask {mask!r}: {name} must be a list of 1 to {_MOST_RANGES} days or times")
        # YAML makes a date of 2017-06-21 that stands without quotes.
        texts = [edge.isoformat() if isinstance(edge, date) else edge for edge in value]
        if not all(isinstance(text, str) and re.search(_WRITTEN, text) for text in texts):
            raise MaskError(
                f"mask {mask!r}: each of {name} must be a day or a time like 2017-06-21 or 2017-06-21 08:30"
            )
        try:
            moments = [datetime.fromisoformat(text) for text in texts]
        except ValueError:
            raise MaskError(f"mask {mask!r}: {name} name a day or time that no calendar has") from None
        if any(a >= b for a, b in itertools.pairwise(moments)):
            raise MaskError(f"mask {mask!r}: {name} must rise from one to the next")
        return tuple(show(moment.date() if moment.time() == time() else moment) for moment in moments)

    def schema(self) -> dict[str, Any]:
        size = {"minItems": 1, "maxItems": _MOST_RANGES, "uniqueItems": True}
        return {"type": "array", "items": {"type": "string", "pattern": _WRITTEN}, **size}


@MASKS.register("date_ranges")
@dataclass(frozen=True, slots=True, kw_only=True)
class DateRanges(ExpressionMask):
    """Replace a date or time by the range between two ``edges`` that it falls in, shown ``[a, b)``.

    What lies before the first edge is in ``(-inf, first)``, what lies at or after the last in ``[last, inf)``, so
    that a day which comes later has its range too.

    >>> days = np.array(["2019-05-17", "2020-01-01"], dtype="M8[D]")
    >>> DateRanges(edges=("2020-01-01", "2021-07-01")).on_values(days).tolist()
    ['(-inf, 2020-01-01)', '[2020-01-01, 2021-07-01)']
    """

    name: ClassVar[str] = "date_ranges"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = DATES
    example: ClassVar[tuple[str, str]] = ("2020-05-17", "[2020-01-01, 2021-07-01)")
    example_parameters: ClassVar[Mapping[str, Any]] = {"edges": ["2020-01-01", "2021-07-01"]}
    rules: ClassVar[Mapping[str, Rule]] = {"edges": _Days()}

    edges: tuple[str, ...]

    def check(self, kind: Kind, *, column: str) -> None:
        ExpressionMask.check(self, kind, column=column)
        if kind is Kind.DATE and any(len(edge) > len("2017-06-21") for edge in self.edges):
            raise MaskError(f"mask {self.name!r} on column {column!r}: the column holds days, so edges are days too")

    def on_values(self, values: Values) -> Values:
        edges = np.array(self.edges, dtype="M8[us]").astype(values.dtype)
        return as_objects(self._labels())[np.searchsorted(edges, values, side="right")]

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        moments = [datetime.fromisoformat(edge) for edge in self.edges]
        if kind is Kind.DATE:
            return by_threshold(column.cast("date"), [moment.date() for moment in moments], self._labels())
        return by_threshold(column.cast("timestamp"), moments, self._labels())

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        labels = set(self._labels())
        return [text in labels for text in texts]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self._labels())

    def without_values(self, written: Collection[str] | None = None) -> DateRanges:
        if written is None:
            return self
        return replace(self, edges=beside_written(self.edges, self.labels, written) or ("2000-01-01",))

    def describe(self) -> str:
        return f"{count(len(self.edges) + 1, 'range')} of time with given edges"

    def _labels(self) -> list[str]:
        between = [f"[{low}, {high})" for low, high in itertools.pairwise(self.edges)]
        return [f"(-inf, {self.edges[0]})", *between, f"[{self.edges[-1]}, inf)"]
