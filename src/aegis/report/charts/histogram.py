"""How many records have each value: bars that lie and bear names, or bars on an axis where the values have an order."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.report.charts.paired_bars import Bar, Tick
from aegis.report.scale import Linear
from aegis.report.svg import Svg, text_width

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
        picture.text(left + long + 6, y + _ROW / 2 + 4, _percent(bar.share), "quiet figure")
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


def _density(bar: Bar) -> float:
    return bar.share / (bar.right - bar.left) if bar.right > bar.left else 0.0


def _kind(bar: Bar) -> str:
    return "count few" if bar.merged else "count"


def _tip(bar: Bar) -> str:
    return f"{bar.name + ': ' if bar.name else ''}{_percent(bar.share)} of the records"


def _percent(share: float) -> str:
    if share >= 0.0995:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


def _described(bars: Sequence[Bar]) -> str:
    if not bars:
        return "No value is shown."
    largest = max(bars, key=lambda bar: bar.share)
    named = f"{largest.name} with " if largest.name else ""
    return f"{len(bars)} bars; the largest is {named}{_percent(largest.share)} of the records."
