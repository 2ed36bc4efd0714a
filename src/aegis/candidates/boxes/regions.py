"""What a box allows in a column, how a cut parts that, and what is published of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aegis.candidates.boxes.tree import BoxColumn, Cut
from aegis.data.interval import Interval
from aegis.data.value_set import MISSING, ValueSet

STAR = "*"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Region:
    """What a box allows in one column: ``low`` ≤ value < ``high``, or one of ``values``; whether missing values too."""

    low: float | str | None = None
    high: float | str | None = None
    values: tuple[str | None, ...] | None = None
    missing: bool = True
    present: bool = True

    def __repr__(self) -> str:
        return "Region(…)"


def as_number(end: float | str) -> float:
    """An end of an interval as a number, dates in days."""
    if isinstance(end, str):
        return float(np.datetime64(end, "s").astype(np.int64)) / 86_400.0
    return float(end)


def halves(region: Region, cut: Cut, *, ordered: bool) -> tuple[Region, Region]:
    """The two parts of a region that a cut along its column makes."""
    if not ordered:
        first = set(cut.values)
        values = region.values or ()
        return (
            Region(values=tuple(v for v in values if v in first)),
            Region(values=tuple(v for v in values if v not in first)),
        )
    missing = (region.missing and cut.missing == "then", region.missing and cut.missing == "else")
    if cut.below is None:
        present = (cut.missing == "else", cut.missing == "then")
        return (
            Region(low=region.low, high=region.high, missing=missing[0], present=region.present and present[0]),
            Region(low=region.low, high=region.high, missing=missing[1], present=region.present and present[1]),
        )
    return (
        Region(low=region.low, high=cut.below, missing=missing[0], present=region.present),
        Region(low=cut.below, high=region.high, missing=missing[1], present=region.present),
    )


def published_set(region: Region, column: BoxColumn, numbered: dict[tuple[str | None, ...], int]) -> ValueSet | None:
    """The categories of a region; ``numbered`` remembers the sets of nothing but rare values."""
    if region.values is None:
        return None
    if len(region.values) == 1:
        return ValueSet(values=tuple(v for v in region.values if v is not None), missing=None in region.values)
    named = tuple(value for value in region.values if value is not None and value not in column.rare)
    missing = None in region.values
    rare = len(region.values) > len(named) + missing
    alone = rare and not named and not missing
    number = numbered.setdefault(region.values, len(numbered) + 1) if alone else int(rare)
    return ValueSet(values=named, missing=missing, unnamed=number)


def published_text(region: Region, held: ValueSet | None, column: BoxColumn) -> str | None:
    """What is published of a column whose records lie in a region."""
    if region.values is not None:
        if region.values == column.values:
            return STAR
        return region.values[0] if len(region.values) == 1 else str(held)
    if not region.present:
        return None
    if region.low is None and region.high is None and region.missing:
        return STAR
    if isinstance(region.low, str) or isinstance(region.high, str):  # dates
        left = "(-inf" if region.low is None else f"[{region.low}"
        text = f"{left}, {'inf' if region.high is None else region.high})"
    else:
        low = -math.inf if region.low is None else region.low
        text = str(Interval(low, math.inf if region.high is None else region.high))
    return f"{text} or {MISSING}" if region.missing else text
