"""The tree of a local recoding as a picture: which column was cut where, and how many records went each way.

Each line of the picture is one more cut; a field is as wide as the records in it. Edges of numbers and dates stand in
the release itself and are written; categories are counted and not named, as on every page of a certificate. Of a box
that is joined of several parts each part is drawn with an equal share of its records.
"""

from __future__ import annotations

from dataclasses import dataclass

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import Cut, Leaf
from aegis.plural import count
from aegis.report.svg import Svg

MOST_LEVELS = 6
"""So many lines of cuts are drawn; what lies below is counted."""
_LINE, _TOP = 46.0, 4.0
_LEAST_ROOM = 34.0
"""A narrower field has no text; what it holds is said when one points at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Below:
    """What lies in and below a node; ``boxes`` are those that lie there with at least one part."""

    records: int
    boxes: frozenset[int]


def box_tree(boxes: Boxes, *, levels: int = MOST_LEVELS, width: float = 860) -> str:
    """The first cuts of the tree from top to bottom, as SVG."""
    below = _below(boxes)
    drawn = min(levels, boxes.depth) + 1
    picture = Svg(
        width,
        _TOP + _LINE * drawn + 4,
        title="how the records were cut into boxes",
        description=(
            f"{count(boxes.many, 'box', 'boxes')} of {count(boxes.records, 'record')}, at most "
            f"{count(boxes.depth, 'cut')} deep; the first {count(drawn - 1, 'line')} of cuts are drawn, and each field "
            "is as wide as its records."
        ),
    )
    whole = max(below[0].records, 1)
    waiting: list[tuple[int, int, float]] = [(0, 0, 0.0)]
    while waiting:
        place, level, left = waiting.pop()
        node, inside = boxes.nodes[place], below[place]
        wide = width * inside.records / whole
        _field(picture, boxes, node, inside, left=left, top=_TOP + _LINE * level, wide=wide, last=level == levels)
        if isinstance(node, Cut) and level < levels:
            waiting.append((node.then, level + 1, left))
            waiting.append((node.other, level + 1, left + width * below[node.then].records / whole))
    return picture.markup()


def _below(boxes: Boxes) -> list[_Below]:
    """For each node the records and boxes below it."""
    below = [_Below(records=0, boxes=frozenset())] * len(boxes.nodes)
    number = dict(zip(boxes.leaves, boxes.numbers.tolist(), strict=True))
    for place in range(len(boxes.nodes) - 1, -1, -1):  # a cut stands before what it leads to
        node = boxes.nodes[place]
        if isinstance(node, Leaf):
            below[place] = _Below(records=node.records, boxes=frozenset([number[place]]))
        else:
            then, other = below[node.then], below[node.other]
            below[place] = _Below(records=then.records + other.records, boxes=then.boxes | other.boxes)
    return below


def _field(
    picture: Svg, boxes: Boxes, node: Cut | Leaf, held: _Below, *, left: float, top: float, wide: float, last: bool
) -> None:
    """One node: the cut that is made in it, or the box that it is."""
    if isinstance(node, Leaf):
        kind = "strip-rest" if node.suppressed else "strip"
        name = "suppressed" if node.suppressed else "a box" if node.joined is None else "part of a box"
        words = (name, count(held.records, "record"))
    else:
        kind = "absent"
        words = (boxes.columns[node.column].name, _condition(boxes, node))
        if last:
            words = (count(len(held.boxes), "box", "boxes"), count(held.records, "record"))
    tip = f"{words[0]}: {words[1]}; {count(held.records, 'record')} in {count(len(held.boxes), 'box', 'boxes')}"
    picture.rect(left + 0.5, top, wide - 1, _LINE - 3, kind, tip=tip)
    if wide >= _LEAST_ROOM:
        inside = " in p8" if kind == "strip" else ""
        picture.text(left + 5, top + 18, words[0], f"strong{inside}", room=wide - 8)
        picture.text(left + 5, top + 34, words[1], f"tick{inside}", room=wide - 8, size=10.5)


def _condition(boxes: Boxes, cut: Cut) -> str:
    """What the left part of a cut holds."""
    if cut.values:
        return f"{len(cut.values):,} of {count(len(boxes.columns[cut.column].values), 'value')}"
    if cut.below is None:
        return "missing"
    edge = cut.below if isinstance(cut.below, str) else f"{cut.below:g}"
    return f"below {edge}{' or missing' if cut.missing == 'then' else ''}"
