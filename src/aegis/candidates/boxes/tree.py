"""The parts of a local recoding: its columns, its cuts and its boxes, how each stands in a boxes file, and the regions.

A region is what a box allows in a column. A cut parts it, joined boxes have the hull of theirs, and it is published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aegis.data.kind import Kind
from aegis.data.published_values import MISSING, Interval, ValueSet

Side = Literal["then", "else"]
STAR = "*"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BoxColumn:
    """A column of the boxes; ``values`` are the categories that the boxes know, empty for ordered columns.

    ``rare`` are those that too few people had for a set to name them. A box of one value alone shows it: all of its
    records have it, as many as the policy asks for.
    """

    name: str
    kind: Kind
    values: tuple[str | None, ...] = ()
    rare: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"BoxColumn({self.name}, {self.kind}, {len(self.values)} categories)"

    @property
    def ordered(self) -> bool:
        return self.kind.is_ordered


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cut:
    """Records with a value below ``below``, or among ``values``, go to node ``then``, the others to ``other``.

    Missing values of an ordered column go where ``missing`` says; nowhere where that is None, because none was there
    when the boxes were made. ``below`` is None where missing values alone are cut off.
    """

    column: int
    then: int
    other: int
    below: float | str | None = None
    values: tuple[str | None, ...] = ()
    missing: Side | None = None

    def __repr__(self) -> str:
        return f"Cut(column {self.column})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A part of the records: a box by itself, or one box with all that have the same number in ``joined``.

    ``records`` is how many of those that the boxes were made of fell into it; of a joined box each leaf has an equal
    share, because its own may be fewer than a policy lets be told. A suppressed one is published as stars.
    """

    records: int
    suppressed: bool = False
    joined: int | None = None


def column_json(column: BoxColumn) -> dict[str, Any]:
    """A column as a boxes file has it."""
    return {
        "name": column.name,
        "kind": str(column.kind),
        **({} if column.ordered else {"values": list(column.values)}),
        **({"rare": sorted(column.rare)} if column.rare else {}),
    }


def column_of(content: Mapping[str, Any]) -> BoxColumn:
    """The column that `column_json` wrote."""
    return BoxColumn(
        name=str(content["name"]),
        kind=Kind(content["kind"]),
        values=tuple(content.get("values", ())),
        rare=frozenset(map(str, content.get("rare", ()))),
    )


def node_json(node: Cut | Leaf) -> dict[str, Any]:
    """A node as a boxes file has it."""
    if isinstance(node, Leaf):
        return {
            "records": node.records,
            **({"suppressed": True} if node.suppressed else {}),
            **({} if node.joined is None else {"joined": node.joined}),
        }
    content: dict[str, Any] = {"column": node.column, "then": node.then, "else": node.other}
    if node.values:
        return {**content, "values": list(node.values)}
    return {**content, "below": node.below, "missing": node.missing}


def node_of(content: Mapping[str, Any]) -> Cut | Leaf:
    """The node that `node_json` wrote."""
    if "records" in content:
        joined = content.get("joined")
        return Leaf(
            records=int(content["records"]),
            suppressed=bool(content.get("suppressed", False)),
            joined=None if joined is None else int(joined),
        )
    below, missing = content.get("below"), content.get("missing")
    if missing not in (None, "then", "else") or (below is None and not content.get("values") and missing is None):
        raise ValueError("a cut has no side for missing values")
    return Cut(
        column=int(content["column"]),
        then=int(content["then"]),
        other=int(content["else"]),
        below=below if below is None or isinstance(below, str) else float(below),
        values=tuple(content.get("values", ())),
        missing=missing,
    )


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


def hull(regions: Sequence[Region], column: BoxColumn) -> Region:
    """The smallest interval or set that holds some regions of a column; where it holds every number, missing ones too.

    >>> from aegis.data.kind import Kind
    >>> age = BoxColumn(name="age", kind=Kind.INTEGER)
    >>> held = hull([Region(low=20.0, high=30.0, missing=False), Region(low=40.0, missing=False)], age)
    >>> held.low, held.high, held.missing
    (20.0, None, False)
    """
    if all(region is regions[0] for region in regions):  # what no cut parts is one object
        return regions[0]
    if not column.ordered:
        held: set[str | None] = set().union(*(region.values or () for region in regions))
        return Region(values=tuple(value for value in column.values if value in held))
    present = [region for region in regions if region.present]
    missing = any(region.missing for region in regions)
    if not present:
        return Region(low=regions[0].low, high=regions[0].high, missing=missing, present=False)
    lows, highs = [region.low for region in present], [region.high for region in present]
    low = None if None in lows else min((low for low in lows if low is not None), key=as_number)
    high = None if None in highs else max((high for high in highs if high is not None), key=as_number)
    return Region(low=low, high=high, missing=missing or (low is None and high is None))


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
