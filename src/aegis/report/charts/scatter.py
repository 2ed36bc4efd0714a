"""Points in two dimensions, with the ones that nothing beats in both joined to a front."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from aegis.report.charts.curves import axes
from aegis.report.scale import Linear, tick_text, ticks
from aegis.report.svg import Svg, text_width

_TOP, _FOOT = 30.0, 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A thing with two figures; ``chosen`` is drawn larger and with its name."""

    label: str
    x: float
    y: float
    chosen: bool = False


def scatter(
    points: Sequence[Point],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    more_x_is_better: bool,
    more_y_is_better: bool,
    width: float = 860,
    height: float = 440,
) -> str:
    """Draw the points and their Pareto front."""
    shown = [point for point in points if math.isfinite(point.x) and math.isfinite(point.y)]
    best = front(shown, more_x_is_better=more_x_is_better, more_y_is_better=more_y_is_better)
    y_scale = Linear.covering([p.y for p in shown], start=height - _FOOT, end=_TOP, pad=0.08)
    left = 34 + max((text_width(tick_text(t)) for t in ticks(y_scale.low, y_scale.high)), default=20)
    x_scale = Linear.covering([p.x for p in shown], start=left, end=width - 14, pad=0.08)
    picture = Svg(
        width,
        height,
        title=title,
        description=f"{len(shown)} points, {len(best)} of them on the front; {y_axis} against {x_axis}.",
    )
    axes(picture, x_scale, y_scale, x_axis=x_axis, y_axis=y_axis)
    if len(best) > 1:
        picture.polyline(_stairs([(x_scale(p.x), y_scale(p.y)) for p in best]), "front")
    on_front = {id(point) for point in best}
    for point in sorted(shown, key=lambda p: (p.chosen, id(p) in on_front)):
        kind = "chosen" if point.chosen else "best" if id(point) in on_front else "rest"
        tip = f"{point.label}: {point.x:.4g}, {point.y:.4g}"
        picture.circle(x_scale(point.x), y_scale(point.y), 6.5 if point.chosen else 4.5, f"dot {kind}", tip=tip)
        if point.chosen:
            _name(picture, point.label, x_scale(point.x), y_scale(point.y), x_scale)
    _legend(picture, left, chosen=any(p.chosen for p in shown))
    return picture.markup()


def front(points: Sequence[Point], *, more_x_is_better: bool, more_y_is_better: bool) -> list[Point]:
    """The points that no other beats in one figure without losing in the other, from the best x to the worst.

    >>> a, b, c = Point(label="a", x=1, y=1), Point(label="b", x=2, y=3), Point(label="c", x=3, y=2)
    >>> [p.label for p in front([a, b, c], more_x_is_better=False, more_y_is_better=True)]
    ['a', 'b']
    """
    sign_x = -1 if more_x_is_better else 1
    sign_y = -1 if more_y_is_better else 1
    unbeaten: list[Point] = []
    for point in sorted(points, key=lambda p: (sign_x * p.x, sign_y * p.y)):
        if (
            not unbeaten
            or sign_y * point.y < sign_y * unbeaten[-1].y
            or (point.x, point.y) == (unbeaten[-1].x, unbeaten[-1].y)
        ):
            unbeaten.append(point)
    return unbeaten


def _stairs(at: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The border of what the front dominates."""
    path = [at[0]]
    for (_, y0), (x1, y1) in itertools.pairwise(at):
        # From better to worse x nothing but the point before is at hand: its y holds until the next point's x.
        path += [(x1, y0), (x1, y1)]
    return path


def _name(picture: Svg, label: str, x: float, y: float, x_scale: Linear) -> None:
    if x + 12 + text_width(label) <= x_scale.end:
        picture.text(x + 11, y - 8, label, "strong")
    else:
        picture.text(x - 11, y - 8, label, "strong", anchor="end", room=max(x - x_scale.start, 60))


def _legend(picture: Svg, left: float, *, chosen: bool) -> None:
    x = left + 6
    entries = [("best", 4.5, "on the front"), ("rest", 4.5, "beaten by another")]
    for kind, radius, text in entries + ([("chosen", 6.5, "chosen")] if chosen else []):
        picture.circle(x, 12, radius, f"dot {kind}")
        picture.text(x + 11, 16, text, "quiet")
        x += text_width(text) + 40
