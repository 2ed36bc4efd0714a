"""Releases as pictures: a mixture as a map of private to released values, a table as a heat map, boxes as a tree.

Each line of the tree is one more cut; a field is as wide as the records in it. Edges of numbers and dates stand in the
release itself and are written; categories are counted and not named, as on every page of a certificate. Of a box that
is joined of several parts each part is drawn with an equal share of its records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import Cut, Leaf
from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.errors import InputError
from aegis.plural import count
from aegis.report.charts.curves import SERIES, axes, marker
from aegis.report.charts.heat_map import heat_map
from aegis.report.figures import figure, percent
from aegis.report.svg import Linear, Svg, text_width, tick_text, ticks

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.mixtures import Mixture


RECORDS = 900  # dots in a map


def picture_of_mixture(mixture: Mixture, values: NDArray[np.float64], *, title: str, x_axis: str) -> str:
    """A map of the release of these values; those for which nothing is released lie on a line of their own."""
    rng = np.random.default_rng(0)
    released = mixture.release(values, rng=rng)
    clouds = []
    shown = [i for i, part in enumerate(mixture.components) if not isinstance(part, Erasure)]
    floor = float(released.value[np.isin(released.component, shown)].min()) if shown else 0.0
    spread = float(np.ptp(released.value[np.isin(released.component, shown)])) if shown else 1.0
    for i in sorted(range(len(mixture.components)), key=lambda i: -mixture.weights[i]):
        chosen = released.component == i
        silent = isinstance(mixture.components[i], Erasure)
        y = np.full(int(chosen.sum()), floor - 0.12 * (spread or 1.0)) if silent else released.value[chosen]
        name = f"{percent(mixture.weights[i])}: {describe(mixture.components[i])}"
        clouds.append(Cloud(name=name, x=tuple(values[chosen].tolist()), y=tuple(y.tolist())))
    return release_map(clouds, title=title, x_axis=x_axis, y_axis="released value F")


def picture_of_table(table: NDArray[np.float64], *, names: Sequence[str], title: str) -> str:
    """P(symbol | value): one row a value, one column a symbol."""
    return heat_map(
        [[max(0.0, float(share)) for share in row] for row in table],
        rows=list(names),
        columns=[f"s{i}" for i in range(table.shape[1])],
        title=title,
        legend="share of the row",
        tips=[
            [f"{name} → s{i}: {percent(float(s))}" for i, s in enumerate(row)]
            for name, row in zip(names, table, strict=True)
        ],
    )


def describe(component: Component | Any) -> str:
    """A component in a few words.

    >>> describe(Modulo(period=8.0, blur=1.0)), describe(Noise(std=0.0))
    ('remainder mod 8, blurred by 1', 'the value itself')
    """
    match component:
        case Erasure():
            return "nothing"
        case Noise(std=std):
            return "the value itself" if std == 0 else f"noise of deviation {figure(std, 3)}"
        case Modulo(period=period, blur=blur):
            if math.isinf(period):
                return f"blurred by {figure(blur, 3)}"
            return f"remainder mod {figure(period, 3)}" + (f", blurred by {figure(blur, 3)}" if blur else "")
        case _:
            return "learned network"


_TOP, _FOOT = 30.0, 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Records that one component released."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise InputError(f"the cloud {self.name!r} has x and y of different lengths")


def release_map(
    clouds: Sequence[Cloud], *, title: str, x_axis: str, y_axis: str, width: float = 860, height: float = 360
) -> str:
    """Dots of every cloud over the private value; clouds differ in colour and shape."""
    y_scale = Linear.covering([y for cloud in clouds for y in cloud.y], start=height - _FOOT, end=_TOP)
    left = 34 + max((text_width(tick_text(t)) for t in ticks(y_scale.low, y_scale.high)), default=20)
    x_scale = Linear.covering([x for cloud in clouds for x in cloud.x], start=left, end=width - 14)
    count = sum(len(cloud.x) for cloud in clouds)
    description = f"{count} records, {len(clouds)} kinds of release; {y_axis} over {x_axis}."
    picture = Svg(width, height, title=title, description=description)
    axes(picture, x_scale, y_scale, x_axis=x_axis, y_axis=y_axis)
    key = left
    for i, cloud in enumerate(clouds):
        # one path for all dots of a cloud: a page with hundreds of elements is slow to draw
        steps = "".join(marker(x_scale(x), y_scale(y), i, 1.6) for x, y in zip(cloud.x, cloud.y, strict=True))
        if steps:
            picture.path(steps, f"mark s{i % SERIES}")
        picture.path(marker(key + 6, 12, i), f"mark s{i % SERIES}")
        picture.text(key + 16, 16, cloud.name, "", room=240)
        key += min(text_width(cloud.name), 240.0) + 36
    return picture.markup()


MOST_LEVELS = 6
"""So many lines of cuts are drawn; what lies below is counted."""
_TREE_LINE, _TREE_TOP = 46.0, 4.0
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
        _TREE_TOP + _TREE_LINE * drawn + 4,
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
        _field(
            picture, boxes, node, inside, left=left, top=_TREE_TOP + _TREE_LINE * level, wide=wide, last=level == levels
        )
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
    picture.rect(left + 0.5, top, wide - 1, _TREE_LINE - 3, kind, tip=tip)
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
