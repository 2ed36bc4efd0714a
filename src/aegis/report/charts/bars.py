"""Bars: how many records have each value, and two distributions of the same records, mirrored at one axis.

The original goes upwards, the masked one downwards. Area is the share of records, so a group of values that a mask
merged is a wide, flat bar under the values it swallowed: what cannot be told apart any more is seen at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aegis.report.svg import Linear, Svg, text_width

_TOP = 18.0
_HALF = 62.0
_AXIS = 20.0  # height of the strip between the halves, where the ticks stand
_LEFT, _RIGHT = 8.0, 8.0
_LONGEST = 110.0  # room for a name, in pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """From ``left`` to ``right`` on the axis, with ``share`` of the records; ``name`` is written where it fits."""

    left: float
    right: float
    share: float
    name: str = ""
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A text under the axis; ``room`` is how many units of the axis it may take."""

    at: float
    text: str
    room: float | None = None


def paired_bars(
    upper: Sequence[Bar],
    lower: Sequence[Bar],
    *,
    ticks: Sequence[Tick],
    title: str,
    upper_name: str = "original",
    lower_name: str = "masked",
    width: float = 390,
) -> str:
    """Draw both halves; where nothing is known of the original, ``lower`` alone stands upright."""
    edges = [x for bar in (*upper, *lower) for x in (bar.left, bar.right)]
    scale = Linear(low=min(edges, default=0.0), high=max(edges, default=1.0), start=_LEFT, end=width - _RIGHT)
    tallest = max((_density(bar) for bar in (*upper, *lower)), default=0.0) or 1.0
    middle = _TOP + _HALF
    below = middle + (_AXIS if upper or ticks else 0.0)
    mirrored = bool(upper)
    names = _placed(lower, scale)
    base = below + (_HALF if mirrored else 0.0)  # what stands under the picture begins here
    height = base + 14 * len({row for _, _, row in names}) + (18 if mirrored else 6)
    picture = Svg(width, height, title=title, description=_describe(upper, lower, upper_name, lower_name))
    picture.text(_LEFT, 11, upper_name if mirrored else lower_name, "quiet")
    for bar in upper:
        _bar(picture, bar, scale, middle, -_HALF / tallest, "original", upper_name)
    for bar in lower:
        down = _HALF / tallest
        _bar(picture, bar, scale, below if mirrored else middle, down if mirrored else -down, "masked", lower_name)
    picture.line(_LEFT, middle, width - _RIGHT, middle, "axis")
    _ticks(picture, ticks, scale, middle)
    for text, x, row in names:
        picture.text(x, base + 12 + 14 * row, text, "tick", anchor="middle", room=_LONGEST, size=10.5)
    if mirrored:
        picture.line(_LEFT, below, width - _RIGHT, below, "axis")
        picture.text(_LEFT, height - 4, lower_name, "quiet")
    return picture.markup()


def _density(bar: Bar) -> float:
    return bar.share / (bar.right - bar.left) if bar.right > bar.left else 0.0


def _bar(picture: Svg, bar: Bar, scale: Linear, base: float, unit: float, kind: str, half: str) -> None:
    tall = _density(bar) * unit
    left, right = scale(bar.left), scale(bar.right)
    gap = min(1.0, (right - left) / 6)
    tip = f"{half}: {bar.name + ', ' if bar.name else ''}{_percent(bar.share)} of the records"
    merged = " merged" if bar.merged else ""
    picture.rect(left + gap / 2, min(base, base + tall), right - left - gap, abs(tall), f"bar {kind}{merged}", tip=tip)


def _ticks(picture: Svg, ticks: Sequence[Tick], scale: Linear, middle: float) -> None:
    reach = -1e9
    for tick in ticks:
        x = scale(tick.at)
        room = None if tick.room is None else abs(scale(tick.room) - scale(0)) - 2
        wide = text_width(tick.text, size=10.5)
        if room is not None and room < 12 and wide > room:
            continue
        half = (wide if room is None else min(wide, room)) / 2
        # Ticks that would run into the one before are left out; those at the ends are pulled in.
        x = min(max(x, _LEFT + half), scale.end - half)
        if x - half < reach + 3:
            continue
        reach = x + half
        picture.text(x, middle + 14, tick.text, "tick", anchor="middle", room=room, size=10.5)


def _placed(bars: Sequence[Bar], scale: Linear) -> list[tuple[str, float, int]]:
    """Names under their bars, in two rows so that neighbours do not collide; what still does is left to the tip."""
    reach = [-1e9, -1e9]
    placed = []
    for bar in bars:
        half = min(text_width(bar.name, size=10.5), _LONGEST) / 2
        x = min(max((scale(bar.left) + scale(bar.right)) / 2, scale.start + half), scale.end - half)
        # A name far wider than its bar would seem to belong to the neighbours.
        fits = bar.name and half <= scale(bar.right) - scale(bar.left) + 14
        free = [row for row in (0, 1) if x - half >= reach[row] + 5]
        if fits and free:
            placed.append((bar.name, x, free[0]))
            reach[free[0]] = x + half
    return placed


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "under 0.1 %"


def _describe(upper: Sequence[Bar], lower: Sequence[Bar], upper_name: str, lower_name: str) -> str:
    parts = []
    for bars, name in ((upper, upper_name), (lower, lower_name)):
        if bars:
            largest = max(bars, key=lambda bar: bar.share)
            peak = f", the largest {largest.name + ' ' if largest.name else ''}with {_percent(largest.share)}"
            parts.append(f"{name}: {len(bars)} bars{peak} of the records")
    return "; ".join(parts) + "."


_ROW = 23.0
_TALL = 112.0
_NAME_ROOM = 130.0
_MOST_NAMED = 14


def histogram(bars: Sequence[Bar], *, ticks: Sequence[Tick] = (), title: str, width: float = 390) -> str:
    """Bars with their share of the records; few bars without ticks lie, each beside its name.

    On an axis the area is the share, so that wide bins do not look like many records.
    """
    if not ticks and len(bars) <= _MOST_NAMED:
        return _lying(bars, title=title, width=width)
    return _on_axis(bars, ticks, title=title, width=width)


def _lying(bars: Sequence[Bar], *, title: str, width: float) -> str:
    tallest = max((bar.share for bar in bars), default=0.0) or 1.0
    left = min(max([text_width(bar.name) for bar in bars] + [30.0]) + 10, _NAME_ROOM)
    room = width - 54 - left
    picture = Svg(width, _ROW * max(len(bars), 1) + 4, title=title, description=_described(bars))
    for i, bar in enumerate(bars):
        y = 2 + _ROW * i
        long = max(room * bar.share / tallest, 1.0)
        picture.text(left - 8, y + _ROW / 2 + 4, bar.name, anchor="end", room=left - 8)
        picture.rect(left, y + 3, long, _ROW - 6, _kind(bar), tip=_tip(bar))
        picture.text(left + long + 6, y + _ROW / 2 + 4, _rounded_percent(bar.share), "quiet figure")
    return picture.markup()


def _on_axis(bars: Sequence[Bar], ticks: Sequence[Tick], *, title: str, width: float) -> str:
    edges = [x for bar in bars for x in (bar.left, bar.right)]
    scale = Linear(low=min(edges, default=0.0), high=max(edges, default=1.0), start=8, end=width - 8)
    tallest = max((_density(bar) for bar in bars), default=0.0) or 1.0
    base = _TALL + 6
    picture = Svg(width, base + 22, title=title, description=_described(bars))
    for bar in bars:
        x, end = scale(bar.left), scale(bar.right)
        gap = min(1.2, (end - x) / 5)
        tall = _TALL * _density(bar) / tallest
        picture.rect(x + gap / 2, base - tall, end - x - gap, tall, _kind(bar), tip=_tip(bar))
    picture.line(8, base, width - 8, base, "axis")
    reach = -1e9
    for tick in ticks:
        half = min(text_width(tick.text, size=10.5), 110.0) / 2
        at = min(max(scale(tick.at), 8 + half), width - 8 - half)
        if at - half > reach + 8:  # a tick that would run into the one before is left out
            picture.text(at, base + 15, tick.text, "tick", anchor="middle", room=110, size=10.5)
            reach = at + half
    return picture.markup()


def _kind(bar: Bar) -> str:
    return "count few" if bar.merged else "count"


def _tip(bar: Bar) -> str:
    return f"{bar.name + ': ' if bar.name else ''}{_rounded_percent(bar.share)} of the records"


def _rounded_percent(share: float) -> str:
    if share >= 0.0995:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


def _described(bars: Sequence[Bar]) -> str:
    if not bars:
        return "No value is shown."
    largest = max(bars, key=lambda bar: bar.share)
    named = f"{largest.name} with " if largest.name else ""
    return f"{len(bars)} bars; the largest is {named}{_rounded_percent(largest.share)} of the records."
