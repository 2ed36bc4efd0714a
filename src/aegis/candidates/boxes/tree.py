"""The parts of a local recoding: its columns, its cuts and its boxes, and how each stands in a boxes file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aegis.data.kind import Kind

Side = Literal["then", "else"]


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
