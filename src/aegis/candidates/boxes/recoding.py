"""A local recoding as a value: a tree of cuts whose leaves are boxes, kept as JSON and applied to any rows.

A record falls into one box, and all records of a box are published alike: an interval ``[a, b)`` for an ordered column,
a set ``{a, b}`` for categories, ``*`` for a column that was not cut on the way. A set names no value that a few people
have: ``{a, other values}``. A record with a value that no cut knows falls into no box and has ``*`` in every column. k
and whatever else a policy asks for are promises about the records that the boxes were made of; other records are told
apart no further than those were.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.boxes.compiled import Floats, Ints
from aegis.candidates.boxes.tuples import label_numbers
from aegis.candidates.boxes.walking import NOWHERE, OTHER, THEN, walked
from aegis.data.domain import Domain, show
from aegis.data.interval import Interval
from aegis.data.kind import Kind
from aegis.data.value_set import MISSING, ValueSet
from aegis.errors import ConfigurationError, DataError

FORMAT, VERSION = "aegis boxes", 1
STAR = "*"
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
    """A box, with how many of the records it was made of fell into it; a suppressed one is published as stars."""

    records: int
    suppressed: bool = False


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Boxes:
    """A tree of cuts, the root first.

    ``labels`` are the columns that the cuts were made for, ``policy`` what the boxes satisfy on the ``records`` they
    were made of, as a policy file says it.
    """

    columns: tuple[BoxColumn, ...]
    nodes: tuple[Cut | Leaf, ...]
    labels: tuple[str, ...]
    policy: Mapping[str, Any]
    records: int

    def __post_init__(self) -> None:
        reached = [0]
        for place, node in enumerate(self.nodes):
            if isinstance(node, Cut):
                if not place < min(node.then, node.other) or not 0 <= node.column < len(self.columns):
                    raise ConfigurationError("these boxes are damaged: a cut points backwards; make them again")
                reached += [node.then, node.other]
        if not self.nodes or sorted(reached) != list(range(len(self.nodes))):
            raise ConfigurationError("these boxes are damaged: their cuts do not form a tree; make them again")

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"Boxes({len(self.leaves)} boxes of {names}, made of {self.records} records)"

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are boxes; box 0 is the first of them."""
        return tuple(place for place, node in enumerate(self.nodes) if isinstance(node, Leaf))

    @property
    def smallest_box(self) -> int:
        """The fewest records of a box that is not suppressed."""
        return min((leaf.records for leaf in self.boxes if not leaf.suppressed), default=0)

    @cached_property
    def boxes(self) -> tuple[Leaf, ...]:
        """The boxes in order."""
        return tuple(node for node in self.nodes if isinstance(node, Leaf))

    @property
    def suppressed(self) -> int:
        """How many of the records it was made of are published as stars."""
        return sum(leaf.records for leaf in self.boxes if leaf.suppressed)

    @cached_property
    def depth(self) -> int:
        """The most cuts on the way to a box."""
        depth = [0] * len(self.nodes)
        for place, node in enumerate(self.nodes):
            if isinstance(node, Cut):
                depth[node.then] = depth[node.other] = depth[place] + 1
        return max(depth)

    def box_of(self, domains: Sequence[Domain], codes: Ints) -> Ints:
        """The box of each tuple, a line of ``codes`` of ``domains`` in the order of the columns; `NO_BOX` for none."""
        for column, domain in zip(self.columns, domains, strict=True):
            if column.ordered != domain.kind.is_ordered and len(domain.values):
                raise DataError(
                    f"column {column.name!r} holds {domain.kind} here and {column.kind} where the boxes were made; "
                    "give the same kind of values"
                )
        lines = [_codes_in_line(column, domain) for column, domain in zip(self.columns, domains, strict=True)]
        nodes = np.full((7, len(self.nodes) + 1), -1, dtype=np.int64)
        columns, thens, others, boxes, below, missing_sides, first = nodes
        listed: list[int] = []
        found = 0
        for place, node in enumerate(self.nodes):
            first[place] = len(listed)
            if isinstance(node, Leaf):
                boxes[place] = found
                found += 1
                continue
            columns[place], thens[place], others[place] = node.column, node.then, node.other
            line = lines[node.column]
            if line.numbers is None:
                listed += sorted(code for value in node.values for code in line.places.get(value, ()))
                continue
            missing_sides[place] = NOWHERE if node.missing is None else THEN if node.missing == "then" else OTHER
            if node.below is not None:
                below[place] = np.searchsorted(line.numbers, as_number(node.below))
            else:
                below[place] = len(line.numbers) if node.missing == "else" else 0
        first[-1] = len(listed)
        sizes = [len(line.known) for line in lines]
        return walked(
            np.ascontiguousarray(codes, dtype=np.int64), columns, thens, others, boxes, below,
            np.array([len(domain.values) if domain.missing else -1 for domain in domains], dtype=np.int64),
            missing_sides, first, np.array(listed, dtype=np.int64), np.concatenate([line.known for line in lines]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )  # fmt: skip

    def published(self, box: Ints) -> dict[str, NDArray[Any]]:
        """What is published of records in these boxes, by column; None where nothing but missing values are left."""
        texts = self.texts
        columns = {}
        for at, column in enumerate(self.columns):
            words = np.empty(len(texts) + 1, dtype=object)
            words[:] = [*(line[at] for line in texts), STAR]  # NO_BOX is the last
            columns[column.name] = words[box]
        return columns

    @cached_property
    def texts(self) -> tuple[tuple[str | None, ...], ...]:
        """What is published of each box, column by column."""
        starred = (STAR,) * len(self.columns)
        known: dict[int, str | None] = {}  # a region is one object in all boxes below the cut that made it
        for regions, sets in zip(self.regions, self.sets, strict=True):
            for region, held, column in zip(regions, sets, self.columns, strict=True):
                if id(region) not in known:
                    known[id(region)] = _text(region, held, column)
        return tuple(
            starred if leaf.suppressed else tuple([known[id(region)] for region in regions])
            for leaf, regions in zip(self.boxes, self.regions, strict=True)
        )

    @cached_property
    def sets(self) -> tuple[tuple[ValueSet | None, ...], ...]:
        """The categories of each box as they are published, column by column; None for ordered columns.

        Sets of nothing but rare values are numbered: boxes that differ stay apart in the release.
        """
        known: dict[int, ValueSet | None] = {}
        numbers: list[dict[tuple[str | None, ...], int]] = [{} for _ in self.columns]
        for regions in self.regions:
            for region, column, numbered in zip(regions, self.columns, numbers, strict=True):
                if id(region) not in known:
                    known[id(region)] = _set(region, column, numbered)
        return tuple(tuple([known[id(region)] for region in regions]) for regions in self.regions)

    @cached_property
    def regions(self) -> tuple[tuple[Region, ...], ...]:
        """What each box allows, column by column."""
        ways: list[tuple[Region, ...] | None] = [None] * len(self.nodes)
        ways[0] = tuple(Region(values=None if column.ordered else column.values) for column in self.columns)
        ordered = [column.ordered for column in self.columns]
        for place, node in enumerate(self.nodes):
            if isinstance(node, Cut):
                way = ways[place]
                assert way is not None
                then, other = _halves(way[node.column], node, ordered=ordered[node.column])
                ways[node.then] = (*way[: node.column], then, *way[node.column + 1 :])
                ways[node.other] = (*way[: node.column], other, *way[node.column + 1 :])
        made = [ways[place] for place in self.leaves]
        return tuple(way for way in made if way is not None)

    def to_json(self) -> dict[str, Any]:
        """The content of a boxes file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "columns": [
                {
                    "name": c.name,
                    "kind": str(c.kind),
                    **({} if c.ordered else {"values": list(c.values)}),
                    **({"rare": sorted(c.rare)} if c.rare else {}),
                }
                for c in self.columns
            ],
            "labels": list(self.labels),
            "policy": dict(self.policy),
            "records": self.records,
            "nodes": [_node_json(node) for node in self.nodes],
        }

    @property
    def id(self) -> str:
        """A name made from the content."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()[:16]

    def to_text(self) -> str:
        """The boxes file itself, a line per node."""
        content = self.to_json()
        nodes = content.pop("nodes")
        head = json.dumps(content, ensure_ascii=False, indent=1, default=str).removesuffix("\n}")
        write = json.JSONEncoder(ensure_ascii=False, default=str).encode  # without indents it is compiled
        lines = ",\n".join(f"  {write(node)}" for node in nodes)
        return f'{head},\n "nodes": [\n{lines}\n ]\n}}\n'

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Boxes:
        """The boxes that `to_json` wrote."""
        if not is_boxes(content):
            raise ConfigurationError("this is no boxes file; make one with aegis anonymize --method boxes --model")
        if content.get("version") != VERSION:
            raise ConfigurationError("these boxes were written by another version of aegis; make them again")
        try:
            return cls(
                columns=tuple(
                    BoxColumn(
                        name=str(c["name"]),
                        kind=Kind(c["kind"]),
                        values=tuple(c.get("values", ())),
                        rare=frozenset(map(str, c.get("rare", ()))),
                    )
                    for c in content["columns"]
                ),
                nodes=tuple(_node(node) for node in content["nodes"]),
                labels=tuple(map(str, content["labels"])),
                policy=dict(content["policy"]),
                records=int(content["records"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ConfigurationError(
                "these boxes are damaged: a part is not as it was written; make them again"
            ) from None

    @classmethod
    def from_text(cls, text: str) -> Boxes:
        """The boxes that `to_text` wrote."""
        try:
            content = json.loads(text)
        except ValueError:
            raise ConfigurationError("this is no boxes file: it holds no JSON") from None
        if not isinstance(content, dict):
            raise ConfigurationError("this is no boxes file: it holds no JSON object")
        return cls.from_json(content)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Line:
    """A domain as cuts meet it: its numbers in order, or the codes of each category; ``known`` marks those."""

    numbers: Floats | None
    places: Mapping[str | None, Sequence[int]]
    known: Ints


def _codes_in_line(column: BoxColumn, domain: Domain) -> _Line:
    if column.ordered:
        return _Line(numbers=label_numbers(domain), places={}, known=np.ones(domain.size, dtype=np.int64))
    declared = set(column.values)
    places: dict[str | None, list[int]] = {}
    shown = shown_values(domain)
    for code, value in enumerate(shown):
        places.setdefault(value, []).append(code)
    known = np.array([value in declared for value in shown], dtype=np.int64)
    return _Line(numbers=None, places=places, known=known)


def shown_values(domain: Domain) -> list[str | None]:
    """The values of a domain as the boxes name them, None for missing."""
    values: list[str | None] = [show(value) for value in domain.values.tolist()]
    return [*values, None] if domain.missing else values


def is_boxes(content: object) -> bool:
    """Whether this is what a boxes file holds."""
    return isinstance(content, Mapping) and content.get("format") == FORMAT


def as_number(end: float | str) -> float:
    """An end of an interval as a number, dates in days."""
    if isinstance(end, str):
        return float(np.datetime64(end, "s").astype(np.int64)) / 86_400.0
    return float(end)


def ends(boxes: Boxes, column: int) -> tuple[Floats, Floats]:
    """The two ends of an ordered column in each box, NaN where only missing values are; an open end lies a step beyond.

    The step is the median distance between neighbouring edges: whoever receives the table knows no more.
    """
    regions = [way[column] for way in boxes.regions]
    edges = sorted({as_number(end) for r in regions for end in (r.low, r.high) if end is not None})
    step = float(np.median(np.diff(edges))) if len(edges) > 1 else 1.0
    lowest, highest = (edges[0] - step, edges[-1] + step) if edges else (0.0, 0.0)
    low = [math.nan if not r.present else lowest if r.low is None else as_number(r.low) for r in regions]
    high = [math.nan if not r.present else highest if r.high is None else as_number(r.high) for r in regions]
    return np.array(low), np.array(high)


def _halves(region: Region, cut: Cut, *, ordered: bool) -> tuple[Region, Region]:
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


def _set(region: Region, column: BoxColumn, numbered: dict[tuple[str | None, ...], int]) -> ValueSet | None:
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


def _text(region: Region, held: ValueSet | None, column: BoxColumn) -> str | None:
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


def _node_json(node: Cut | Leaf) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"records": node.records, **({"suppressed": True} if node.suppressed else {})}
    content: dict[str, Any] = {"column": node.column, "then": node.then, "else": node.other}
    if node.values:
        return {**content, "values": list(node.values)}
    return {**content, "below": node.below, "missing": node.missing}


def _node(content: Mapping[str, Any]) -> Cut | Leaf:
    if "records" in content:
        return Leaf(records=int(content["records"]), suppressed=bool(content.get("suppressed", False)))
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
