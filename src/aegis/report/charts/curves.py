"""Two dimensions: curves over one axis, each with an optional band, and points, those joined that nothing beats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aegis.errors import InputError
from aegis.report.svg import Linear, Scale, Svg, covering, num, text_width, tick_text, ticks

_TOP, _FOOT = 16.0, 46.0
SERIES = 6  # distinct colours, dashes and markers in the style sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A named curve; ``band`` holds a lower and an upper value per point. Not a number leaves a gap."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    band: tuple[tuple[float, float], ...] | None = None
    dots: bool = False

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y), len(self.band) if self.band is not None else len(self.x)}
        if len(lengths) != 1:
            raise InputError(f"the curve {self.name!r} has x, y and band of different lengths")


def curves(
    series: Sequence[Curve],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    zero: bool = True,
    log_x: bool = False,
    log_y: bool = False,
    width: float = 860,
    height: float = 420,
) -> str:
    """Curves in the order given; the first ones have the strongest colours.

    ``zero`` keeps zero on both axes; a logarithmic one has none, and leaves gaps at what is not positive.
    """
    series = [_positive(curve, log_x=log_x, log_y=log_y) for curve in series] if log_x or log_y else series
    every_x = [x for curve in series for x in curve.x]
    every_y = [y for curve in series for y in curve.y] + [
        y for curve in series for pair in curve.band or () for y in pair
    ]
    y_texts = covering(every_y, start=0, end=1, zero=zero, log=log_y)
    left = 34 + max((text_width(tick_text(t)) for t in y_texts.marks()), default=20)
    legend = _legend_rows(series, width - left)
    top = _TOP + 20 * (len(legend) if len(series) > 1 else 0)
    x_scale = covering(every_x, start=left, end=width - 14, zero=zero, log=log_x)
    y_scale = covering(every_y, start=height - _FOOT, end=top, zero=zero, log=log_y)
    picture = Svg(width, height, title=title, description=_describe(series, x_axis, y_axis))
    axes(picture, x_scale, y_scale, x_axis=x_axis, y_axis=y_axis)
    for i, curve in enumerate(series):
        if curve.band is not None:
            for part in _runs([(x, low, high) for x, (low, high) in zip(curve.x, curve.band, strict=True)]):
                there = [(x_scale(x), y_scale(high)) for x, _, high in part]
                back = [(x_scale(x), y_scale(low)) for x, low, _ in reversed(part)]
                picture.polyline(there + back, f"band s{i % SERIES}", closed=True)
    for i, curve in enumerate(series):
        for run in _runs(list(zip(curve.x, curve.y, strict=True))):
            if len(run) > 1:
                picture.polyline([(x_scale(x), y_scale(y)) for x, y in run], f"curve s{i % SERIES}")
            for x, y in run if curve.dots or len(run) == 1 else ():
                tip = f"{curve.name}: {y:.4g} at {x:.4g}"
                picture.path(marker(x_scale(x), y_scale(y), i), f"mark s{i % SERIES}", tip=tip)
    if len(series) > 1:
        for level, row in enumerate(legend):
            for i, x in row:
                _key(picture, left + x, _TOP + 20 * level, series[i], i)
    return picture.markup()


def axes(picture: Svg, x_scale: Scale, y_scale: Scale, *, x_axis: str, y_axis: str) -> None:
    """Grid, ticks and names of two axes."""
    floor, top = y_scale.start, y_scale.end
    for tick in y_scale.marks():
        picture.line(x_scale.start, y_scale(tick), x_scale.end, y_scale(tick), "grid")
        picture.text(x_scale.start - 7, y_scale(tick) + 4, tick_text(tick), "tick", anchor="end")
    for tick in x_scale.marks(8):
        picture.line(x_scale(tick), floor, x_scale(tick), floor + 4, "axis")
        picture.text(x_scale(tick), floor + 18, tick_text(tick), "tick", anchor="middle")
    picture.line(x_scale.start, floor, x_scale.end, floor, "axis")
    picture.text((x_scale.start + x_scale.end) / 2, floor + 38, x_axis, "quiet", anchor="middle")
    picture.text(13, (floor + top) / 2, y_axis, "quiet", anchor="middle", rotate=-90)


def marker(x: float, y: float, series: int, size: float = 4.0) -> str:
    """The path of a series' marker: circle, square, diamond, triangle up, triangle down, cross."""
    s = size
    at = f"M{num(x)} {num(y)}"
    shapes = (
        f"{at}m-{num(s)} 0a{num(s)} {num(s)} 0 1 0 {num(2 * s)} 0a{num(s)} {num(s)} 0 1 0 -{num(2 * s)} 0Z",
        f"{at}m-{num(s)} -{num(s)}h{num(2 * s)}v{num(2 * s)}h-{num(2 * s)}Z",
        f"{at}m0 -{num(1.3 * s)}l{num(1.3 * s)} {num(1.3 * s)}l-{num(1.3 * s)} {num(1.3 * s)}"
        f"l-{num(1.3 * s)} -{num(1.3 * s)}Z",
        f"{at}m0 -{num(1.2 * s)}l{num(1.2 * s)} {num(2.2 * s)}h-{num(2.4 * s)}Z",
        f"{at}m0 {num(1.2 * s)}l{num(1.2 * s)} -{num(2.2 * s)}h-{num(2.4 * s)}Z",
        f"{at}m-{num(s)} -{num(s)}l{num(2 * s)} {num(2 * s)}m0 -{num(2 * s)}l-{num(2 * s)} {num(2 * s)}",
    )
    return shapes[series % len(shapes)]


def _legend_rows(series: Sequence[Curve], room: float) -> list[list[tuple[int, float]]]:
    """Which series stand on which line of the legend, and where."""
    rows: list[list[tuple[int, float]]] = [[]]
    x = 0.0
    for i, line in enumerate(series):
        wide = min(text_width(line.name), 240.0) + 50
        if x + wide > room and rows[-1]:
            rows.append([])
            x = 0.0
        rows[-1].append((i, x))
        x += wide
    return rows


def _key(picture: Svg, x: float, y: float, curve: Curve, i: int) -> None:
    picture.line(x, y, x + 26, y, f"curve s{i % SERIES}")
    if curve.dots:
        picture.path(marker(x + 13, y, i), f"mark s{i % SERIES}")
    picture.text(x + 32, y + 4, curve.name, "", room=240)


def _positive(curve: Curve, *, log_x: bool, log_y: bool) -> Curve:
    """The curve with a gap wherever a logarithm has no answer."""
    gone = [(log_x and not x > 0) or (log_y and not y > 0) for x, y in zip(curve.x, curve.y, strict=True)]
    band = curve.band
    if band is not None and log_y:
        band = tuple((low if low > 0 else math.nan, high) for low, high in band)
    return replace(curve, y=tuple(math.nan if out else y for out, y in zip(gone, curve.y, strict=True)), band=band)


def _runs(points: list[tuple[float, ...]]) -> list[list[tuple[float, ...]]]:
    """The stretches without a gap."""
    runs = itertools.groupby(points, key=lambda point: all(map(math.isfinite, point)))
    return [list(run) for finite, run in runs if finite]


def _describe(series: Sequence[Curve], x_axis: str, y_axis: str) -> str:
    named = "; ".join(f"{curve.name}, {len(curve.x)} points" for curve in series)
    return f"{y_axis} over {x_axis}: {named}."


_POINTS_TOP, _POINTS_FOOT = 30.0, 46.0


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
    y_scale = Linear.covering([p.y for p in shown], start=height - _POINTS_FOOT, end=_POINTS_TOP, pad=0.08)
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
