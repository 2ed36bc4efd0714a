"""One row per thing: a dot, its 95 % interval, and what else is known of it in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aegis.report.svg import Linear, Svg, text_width, tick_text, ticks

_ROW = 24.0
_TOP = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """A row: ``marked`` rows have a full dot, the others a hollow one; ``note`` stands at the right."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""
    marked: bool = False


def interval_plot(
    rows: Sequence[IntervalRow],
    *,
    title: str,
    axis: str,
    note_heading: str = "",
    guide: float | None = None,
    width: float = 860,
) -> str:
    """Dots with intervals, from top to bottom in the order given; ``guide`` draws an upright line at a value."""
    widest = max((text_width(row.label) for row in rows), default=0)
    left = min(max(widest + 16, 90), 250.0)
    note_room = max([text_width(row.note) for row in rows] + [text_width(note_heading)]) + 20
    right = width - (note_room if note_room > 20 else 12)
    bottom = _TOP + _ROW * len(rows)
    edges = [x for row in rows for x in (row.low, row.value, row.high)]
    if guide is not None and math.isfinite(guide):
        edges.append(guide)
    scale = Linear.covering(edges, start=left + 8, end=right - 8)
    marked = sum(row.marked for row in rows)
    picture = Svg(
        width,
        bottom + 44,
        title=title,
        description=f"{len(rows)} rows; {axis}; {marked} marked with a full dot.",
    )
    _grid(picture, scale, left, right, bottom, axis)
    if guide is not None and math.isfinite(guide):
        picture.line(scale(guide), _TOP - 4, scale(guide), bottom, "guide")
    if note_heading:
        picture.text(width - 4, _TOP - 12, note_heading, "quiet", anchor="end")
    for i, row in enumerate(rows):
        _row(picture, row, _TOP + _ROW * (i + 0.5), scale, left, width)
    return picture.markup()


def _grid(picture: Svg, scale: Linear, left: float, right: float, bottom: float, axis: str) -> None:
    for tick in ticks(scale.low, scale.high, 7):
        picture.line(scale(tick), _TOP - 4, scale(tick), bottom, "grid")
        picture.text(scale(tick), bottom + 17, tick_text(tick), "tick", anchor="middle")
    picture.line(left, bottom, right, bottom, "axis")
    picture.text((left + right) / 2, bottom + 37, axis, "quiet", anchor="middle")


def _row(picture: Svg, row: IntervalRow, y: float, scale: Linear, left: float, width: float) -> None:
    kind = "best" if row.marked else "rest"
    picture.text(left - 6, y + 4, row.label, "strong" if row.marked else "", anchor="end", room=left - 10)
    if math.isfinite(row.low) and math.isfinite(row.high):
        low, high = scale(row.low), scale(row.high)
        picture.path(f"M{low:.1f} {y - 4:.1f}v8m0 -4H{high:.1f}m0 -4v8", f"whisker {kind}")
    if math.isfinite(row.value):
        tip = f"{row.label}: {row.value:.4g}, 95 % interval {row.low:.4g} to {row.high:.4g}"
        picture.circle(scale(row.value), y, 4.5, f"dot {kind}", tip=tip)
    if row.note:
        picture.text(width - 4, y + 4, row.note, "figure", anchor="end")
