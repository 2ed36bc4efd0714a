"""A local recoding as a value: a tree of cuts whose leaves are boxes, kept as JSON and applied to any rows.

A record falls into one box, and all records of a box are published alike: an interval ``[a, b)`` for an ordered column,
a set ``{a, b}`` for categories, ``*`` for a column that was not cut on the way. Leaves may be joined to one box: they
are published by the interval or set that holds all of them, and boxes may overlap then. A set names no value that a few
people have: ``{a, other values}``. A record with a value that no cut knows falls into no box and has ``*`` in every
column. k and whatever else a policy asks for are promises about the records that the boxes were made of; other records
are told apart no further than those were.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.tree import (
    STAR,
    BoxColumn,
    Cut,
    Leaf,
    Region,
    as_number,
    column_json,
    column_of,
    halves,
    hull,
    node_json,
    node_of,
    published_set,
    published_text,
)
from aegis.candidates.boxes.tuples import label_numbers
from aegis.compiled import compiled
from aegis.data.domain import Domain, show
from aegis.data.published_values import ValueSet
from aegis.errors import ConfigurationError, DataError

NO_BOX = -1
"""Where a record falls that has a value no cut knows."""

THEN, OTHER, NOWHERE = 1, 0, -1
FORMAT = "aegis boxes"
VERSION, JOINED_VERSION, HIDING_VERSION = 1, 2, 3
"""Of files without and with joined leaves, and with columns that are hidden: whoever does not know of the ones would
publish each by itself, and of the others would show them."""


@compiled
def walked(
    codes: Ints,
    columns: Ints,
    thens: Ints,
    others: Ints,
    boxes: Ints,
    below: Ints,
    missing: Ints,
    missing_sides: Ints,
    first: Ints,
    listed: Ints,
    known: Ints,
    known_starts: Ints,
) -> Ints:
    """The box of each line of codes; `NO_BOX` for none.

    A node whose column is −1 is a box, ``boxes`` says which. In a cut of an ordered column the codes smaller than
    ``below`` go to ``thens``, the code ``missing`` of its column where ``missing_sides`` says. In one of categories
    ``below`` is −1, and the codes that go to ``thens`` are ``listed`` in order from ``first`` of the node up to
    that of the next one; a code that is not ``known`` to its column goes nowhere.
    """
    fallen = np.full(len(codes), NO_BOX, dtype=np.int64)
    for row in range(len(codes)):
        node = 0
        while columns[node] >= 0:
            column = columns[node]
            code = codes[row, column]
            if below[node] >= 0:
                side = missing_sides[node] if code == missing[column] else int(code < below[node])
            elif not known[known_starts[column] + code]:
                side = NOWHERE
            else:
                low, high = first[node], first[node + 1]
                while low < high:
                    middle = (low + high) // 2
                    if listed[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                side = THEN if low < first[node + 1] and listed[low] == code else OTHER
            if side == NOWHERE:
                node = -1
                break
            node = thens[node] if side == THEN else others[node]
        if node >= 0:
            fallen[row] = boxes[node]
    return fallen


def boxes_of(columns: Sequence[BoxColumn], nodes: Sequence[Cut | Leaf], domains: Sequence[Domain], codes: Ints) -> Ints:
    """The box of each tuple, a line of ``codes`` of ``domains`` in the order of the columns; `NO_BOX` for none."""
    for column, domain in zip(columns, domains, strict=True):
        if column.ordered != domain.kind.is_ordered and len(domain.values):
            raise DataError(
                f"column {column.name!r} holds {domain.kind} here and {column.kind} where the boxes were made; "
                "give the same kind of values"
            )
    lines = [_codes_in_line(column, domain) for column, domain in zip(columns, domains, strict=True)]
    arrays = np.full((7, len(nodes) + 1), -1, dtype=np.int64)
    cut_columns, thens, others, boxes, below, missing_sides, first = arrays
    listed: list[int] = []
    numbered = 0
    for place, node in enumerate(nodes):
        first[place] = len(listed)
        if isinstance(node, Leaf):
            boxes[place] = numbered
            numbered += 1
            continue
        cut_columns[place], thens[place], others[place] = node.column, node.then, node.other
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
        np.ascontiguousarray(codes, dtype=np.int64), cut_columns, thens, others, boxes, below,
        np.array([len(domain.values) if domain.missing else -1 for domain in domains], dtype=np.int64),
        missing_sides, first, np.array(listed, dtype=np.int64), np.concatenate([line.known for line in lines]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )  # fmt: skip


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Boxes:
    """A tree of cuts, the root first.

    ``labels`` are the columns that the cuts were made for, ``policy`` what the boxes satisfy on the ``records`` they
    were made of, as a policy file says it. ``hidden`` are other columns that are published as stars, because they say
    who people are.
    """

    columns: tuple[BoxColumn, ...]
    nodes: tuple[Cut | Leaf, ...]
    labels: tuple[str, ...]
    policy: Mapping[str, Any]
    records: int
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        reached = [0]
        for place, node in enumerate(self.nodes):
            if isinstance(node, Cut):
                if not place < min(node.then, node.other) or not 0 <= node.column < len(self.columns):
                    raise ConfigurationError("these boxes are damaged: a cut points backwards; make them again")
                reached += [node.then, node.other]
        if not self.nodes or sorted(reached) != list(range(len(self.nodes))):
            raise ConfigurationError("these boxes are damaged: their cuts do not form a tree; make them again")
        if len({(leaf.joined, leaf.suppressed) for leaf in self.boxes if leaf.joined is not None}) > len(
            {leaf.joined for leaf in self.boxes if leaf.joined is not None}
        ):
            raise ConfigurationError("these boxes are damaged: a part of one is suppressed alone; make them again")

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"Boxes({self.many} boxes of {names}, made of {self.records} records)"

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are boxes; box 0 is the first of them."""
        return tuple(place for place, node in enumerate(self.nodes) if isinstance(node, Leaf))

    @property
    def smallest_box(self) -> int:
        """The fewest records of a box that is not suppressed."""
        records: dict[int, int] = {}
        for leaf, number in zip(self.boxes, self.numbers.tolist(), strict=True):
            if not leaf.suppressed:
                records[number] = records.get(number, 0) + leaf.records
        return min(records.values(), default=0)

    @cached_property
    def boxes(self) -> tuple[Leaf, ...]:
        """The leaves in order, each a box or a part of one."""
        return tuple(node for node in self.nodes if isinstance(node, Leaf))

    @cached_property
    def numbers(self) -> Ints:
        """The box of each leaf, numbered from 0 in the order in which they are met: joined leaves have the same."""
        known: dict[tuple[str, int], int] = {}
        keys = [("leaf", at) if leaf.joined is None else ("box", leaf.joined) for at, leaf in enumerate(self.boxes)]
        return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)

    @property
    def many(self) -> int:
        """How many boxes there are."""
        return int(self.numbers.max()) + 1

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

    def without_doubles(self) -> Boxes:
        """The same with boxes that are published alike joined to one, as whoever receives the table sees them."""
        known: dict[tuple[str | None, ...], int] = {}
        number = [known.setdefault(texts, len(known)) for texts in self.texts]
        if len(known) == self.many:
            return self
        parts = Counter(number)
        boxes = iter(number)
        nodes = [
            node if isinstance(node, Cut) else replace(node, joined=box if parts[box := next(boxes)] > 1 else None)
            for node in self.nodes
        ]
        return replace(self, nodes=tuple(nodes))

    def box_of(self, domains: Sequence[Domain], codes: Ints) -> Ints:
        """The leaf of each tuple, a line of ``codes`` of ``domains`` in the order of the columns; `NO_BOX` for none."""
        return boxes_of(self.columns, self.nodes, domains, codes)

    def published(self, box: Ints) -> dict[str, NDArray[Any]]:
        """What is published of records in these leaves, by column; None where nothing but missing values are left."""
        texts = self.texts
        columns = {}
        for at, column in enumerate(self.columns):
            words = np.empty(len(texts) + 1, dtype=object)
            words[:] = [*(line[at] for line in texts), STAR]  # NO_BOX is the last
            columns[column.name] = words[box]
        return columns

    @cached_property
    def texts(self) -> tuple[tuple[str | None, ...], ...]:
        """What is published of each leaf, column by column."""
        starred = (STAR,) * len(self.columns)
        known: dict[int, str | None] = {}  # a region is one object in all boxes below the cut that made it
        for regions, sets in zip(self.regions, self.sets, strict=True):
            for region, held, column in zip(regions, sets, self.columns, strict=True):
                if id(region) not in known:
                    known[id(region)] = published_text(region, held, column)
        return tuple(
            starred if leaf.suppressed else tuple([known[id(region)] for region in regions])
            for leaf, regions in zip(self.boxes, self.regions, strict=True)
        )

    @cached_property
    def sets(self) -> tuple[tuple[ValueSet | None, ...], ...]:
        """The categories of each leaf as they are published, column by column; None for ordered columns.

        Sets of nothing but rare values are numbered: boxes that differ stay apart in the release.
        """
        known: dict[int, ValueSet | None] = {}
        numbers: list[dict[tuple[str | None, ...], int]] = [{} for _ in self.columns]
        for regions in self.regions:
            for region, column, numbered in zip(regions, self.columns, numbers, strict=True):
                if id(region) not in known:
                    known[id(region)] = published_set(region, column, numbered)
        return tuple(tuple([known[id(region)] for region in regions]) for regions in self.regions)

    @cached_property
    def regions(self) -> tuple[tuple[Region, ...], ...]:
        """What the box of each leaf allows, column by column."""
        own = self._regions_of_leaves()
        parts: dict[int, list[int]] = {}
        for at, number in enumerate(self.numbers.tolist()):
            parts.setdefault(number, []).append(at)
        whole = {
            number: own[held[0]]
            if len(held) == 1
            else tuple(hull([own[at][place] for at in held], column) for place, column in enumerate(self.columns))
            for number, held in parts.items()
        }
        return tuple(whole[number] for number in self.numbers.tolist())

    def _regions_of_leaves(self) -> tuple[tuple[Region, ...], ...]:
        ways: list[tuple[Region, ...] | None] = [None] * len(self.nodes)
        ways[0] = tuple(Region(values=None if column.ordered else column.values) for column in self.columns)
        ordered = [column.ordered for column in self.columns]
        for place, node in enumerate(self.nodes):
            if isinstance(node, Cut):
                way = ways[place]
                assert way is not None
                then, other = halves(way[node.column], node, ordered=ordered[node.column])
                ways[node.then] = (*way[: node.column], then, *way[node.column + 1 :])
                ways[node.other] = (*way[: node.column], other, *way[node.column + 1 :])
        made = [ways[place] for place in self.leaves]
        return tuple(way for way in made if way is not None)

    def to_json(self) -> dict[str, Any]:
        """The content of a boxes file."""
        joined = any(leaf.joined is not None for leaf in self.boxes)
        return {
            "format": FORMAT,
            "version": HIDING_VERSION if self.hidden else JOINED_VERSION if joined else VERSION,
            "columns": [column_json(column) for column in self.columns],
            **({"hidden": list(self.hidden)} if self.hidden else {}),
            "labels": list(self.labels),
            "policy": dict(self.policy),
            "records": self.records,
            "nodes": [node_json(node) for node in self.nodes],
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
        if content.get("version") not in (VERSION, JOINED_VERSION, HIDING_VERSION):
            raise ConfigurationError("these boxes were written by another version of aegis; make them again")
        try:
            return cls(
                columns=tuple(column_of(column) for column in content["columns"]),
                nodes=tuple(node_of(node) for node in content["nodes"]),
                labels=tuple(map(str, content["labels"])),
                policy=dict(content["policy"]),
                records=int(content["records"]),
                hidden=tuple(map(str, content.get("hidden", ()))),
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


def is_boxes(content: object) -> bool:
    """Whether this is what a boxes file holds."""
    return isinstance(content, Mapping) and content.get("format") == FORMAT
