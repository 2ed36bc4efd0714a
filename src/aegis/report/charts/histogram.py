"""How many records have each value: bars that lie and bear names, or columns where the values have an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aegis.report.svg import Svg, text_width

_ROW = 23.0
_TALL = 118.0
_NAME_ROOM = 130.0
_MOST_NAMED = 12
_MOST_COLUMNS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class CountBar:
    """A value, or a stretch of values, and how many records have it; ``rest`` marks what was put together."""

    name: str
    count: float
    rest: bool = False


def histogram(bars: Sequence[CountBar], *, title: str, ordered: bool = False, width: float = 390) -> str:
    """Few names are written beside lying bars; many, and those of an ordered column, stand on an axis."""
    if ordered or len(bars) > _MOST_NAMED:
        return _standing(_joined(bars), title=title, width=width)
    return _lying(bars, title=title, width=width)


def _lying(bars: Sequence[CountBar], *, title: str, width: float) -> str:
    total, tallest = _sizes(bars)
    left = min(max([text_width(bar.name) for bar in bars] + [30.0]) + 10, _NAME_ROOM)
    right = width - 54
    picture = Svg(width, _ROW * len(bars) + 4, title=title, description=_described(bars, total))
    for i, bar in enumerate(bars):
        y = 2 + _ROW * i
        picture.text(left - 8, y + _ROW / 2 + 4, bar.name, anchor="end", room=left - 8)
        long = (right - left) * bar.count / tallest
        picture.rect(left, y + 3, max(long, 1.0), _ROW - 6, _kind(bar), tip=_tip(bar, total))
        picture.text(left + max(long, 1.0) + 6, y + _ROW / 2 + 4, _percent(bar.count / total), "quiet figure")
    return picture.markup()


def _standing(bars: Sequence[CountBar], *, title: str, width: float) -> str:
    total, tallest = _sizes(bars)
    base = _TALL + 6
    picture = Svg(width, base + 22, title=title, description=_described(bars, total))
    wide = (width - 16) / max(len(bars), 1)
    gap = min(1.5, wide / 5)
    reach = -1e9
    last = len(bars) - 1
    for i, bar in enumerate(bars):
        x = 8 + wide * i
        tall = _TALL * bar.count / tallest
        picture.rect(x + gap / 2, base - tall, wide - gap, tall, _kind(bar), tip=_tip(bar, total))
        half = text_width(bar.name, size=10.5) / 2
        at = min(max(x + wide / 2, 8 + half), width - 8 - half)
        # Both ends are named; what stands between is named where there is room.
        if i == last or (at - half > reach + 12 and at + half < width - 20 - text_width(bars[last].name, size=10.5)):
            picture.text(at, base + 15, bar.name, "tick", anchor="middle", room=110, size=10.5)
            reach = at + half
    picture.line(8, base, width - 8, base, "axis")
    return picture.markup()


def _joined(bars: Sequence[CountBar]) -> list[CountBar]:
    """Neighbours put together where there are more columns than can be seen; what was the rest stays apart."""
    plain = [bar for bar in bars if not bar.rest]
    size = -(-len(plain) // _MOST_COLUMNS)
    if size <= 1:
        return list(bars)
    groups = [plain[i : i + size] for i in range(0, len(plain), size)]
    joined = [
        CountBar(
            name=group[0].name if len(group) == 1 else f"{group[0].name} to {group[-1].name}",
            count=sum(bar.count for bar in group),
        )
        for group in groups
    ]
    return joined + [bar for bar in bars if bar.rest]


def _sizes(bars: Sequence[CountBar]) -> tuple[float, float]:
    counts = [bar.count for bar in bars]
    return sum(counts) or 1.0, max(counts, default=0.0) or 1.0


def _kind(bar: CountBar) -> str:
    return "count few" if bar.rest else "count"


def _tip(bar: CountBar, total: float) -> str:
    return f"{bar.name}: {bar.count:,.0f} records, {_percent(bar.count / total)}"


def _percent(share: float) -> str:
    if share >= 0.0995:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


def _described(bars: Sequence[CountBar], total: float) -> str:
    if not bars:
        return "No value is shown."
    largest = max(bars, key=lambda bar: bar.count)
    return f"{len(bars)} bars; the largest is {largest.name} with {_percent(largest.count / total)} of the records."
