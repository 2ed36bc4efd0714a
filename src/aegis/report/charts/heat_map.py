"""Rows by columns, each cell a number and a colour; missing cells are hatched."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aegis.report.svg import Svg, text_width, tick_text

_ROW = 22.0
_STEPS = 8  # shades on each side of zero; as many classes stand in the style sheet
_LEGEND = 46.0


def heat_map(
    values: Sequence[Sequence[float | None]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    legend: str,
    tips: Sequence[Sequence[str]] | None = None,
    cool: bool = False,
    width: float = 860,
) -> str:
    """Colour is sequential from zero where no value is negative, and diverging around zero otherwise.

    ``values[i][j]`` may be None. ``tips`` are titles of the cells; the number alone is the default. Positive values
    are warm like a loss, or ``cool`` like something kept.
    """
    left = min(max([text_width(row) for row in rows] + [60.0]) + 12, 230.0)
    cell = min(max((width - left) / max(len(columns), 1), 16.0), 72.0)
    upright = cell < 30
    slanted = max((text_width(column) for column in columns), default=0) > cell - 6
    longest = min(max((text_width(column) for column in columns), default=0.0), 150.0)
    top = longest * (1.0 if upright else 0.72) + 20 if slanted else 26.0
    overhang = top if slanted and not upright else 0.0  # the last slanted name leans out to the right
    finite = [v for row in values for v in row if v is not None and math.isfinite(v)]
    largest = max((abs(v) for v in finite), default=0.0)
    diverging = min(finite, default=0.0) < -1e-9 * (largest or 1.0)
    bottom = top + _ROW * len(rows)
    picture = Svg(
        max(left + cell * len(columns) + overhang, left + 300.0),
        bottom + _LEGEND,
        title=title,
        description=f"{len(rows)} rows by {len(columns)} columns; colour is {legend}, at most {largest:.3g}.",
    )
    for j, column in enumerate(columns):
        x = left + cell * (j + 0.5)
        if slanted:
            picture.text(x + (4 if upright else 0), top - 8, column, room=150, rotate=-90 if upright else -45)
        else:
            picture.text(x, top - 8, column, anchor="middle", room=cell)
    for i, row in enumerate(rows):
        y = top + _ROW * i
        picture.text(left - 8, y + _ROW / 2 + 4, row, anchor="end", room=left - 10)
        for j, value in enumerate(values[i]):
            tip = tips[i][j] if tips is not None else f"{row}, {columns[j]}: {_figure(value)}"
            _cell(picture, left + cell * j, y, cell, value, largest, tip, cool)
    _legend(
        picture, left, bottom + 14, legend, largest, diverging, cool=cool, missing=len(finite) < sum(map(len, values))
    )
    return picture.markup()


def shade(value: float, largest: float, *, cool: bool = False) -> str:
    """The class of a colour: ``p0`` (nothing) to ``p8``, ``m1`` to ``m8`` below zero.

    >>> shade(0, 1), shade(1, 1), shade(0.02, 1), shade(-0.5, 1)
    ('p0', 'p8', 'p1', 'm4')
    """
    if largest <= 0 or abs(value) < 1e-9 * largest:
        return "p0"
    step = min(max(math.ceil(_STEPS * abs(value) / largest - 1e-9), 1), _STEPS)
    return f"{'m' if (value < 0) != cool else 'p'}{step}"


def _cell(
    picture: Svg, x: float, y: float, cell: float, value: float | None, largest: float, tip: str, cool: bool
) -> None:
    width, height = cell - 2, _ROW - 2
    if value is None or not math.isfinite(value):
        picture.rect(x, y, width, height, "absent", tip=tip)
        _hatch(picture, x, y, width, height)
        return
    kind = shade(value, largest, cool=cool)
    picture.rect(x, y, width, height, kind, tip=tip)
    text = _short(value, largest)
    # In cells too narrow for most numbers a few zeros would only be noise.
    if width >= 28 and text_width(text, size=10.5) <= width - 2:
        picture.text(x + width / 2, y + height / 2 + 3.7, text, f"in {kind}", anchor="middle")


def _hatch(picture: Svg, x: float, y: float, width: float, height: float) -> None:
    """Slanted lines, cut at the border of the cell."""
    steps = ""
    start = -height + 4
    while start < width:
        a, b = max(start, 0.0), min(start + height, width)
        steps += f"M{x + a:.1f} {y + height - (a - start):.1f}L{x + b:.1f} {y + height - (b - start):.1f}"
        start += 6
    picture.path(steps, "hatch")


def _legend(
    picture: Svg, x: float, y: float, legend: str, largest: float, diverging: bool, *, cool: bool, missing: bool
) -> None:
    low = -_STEPS if diverging else 0
    for i, step in enumerate(range(low, _STEPS + 1)):
        kind = shade(step, _STEPS, cool=cool)
        picture.rect(x + 13 * i, y, 13, 9, kind)
    end = x + 13 * (_STEPS - low + 1)
    picture.text(x, y + 23, tick_text(float(f"{-largest:.2g}")) if diverging else "0", "tick")
    picture.text(end, y + 23, tick_text(float(f"{largest:.2g}")), "tick", anchor="end")
    picture.text(end + 10, y + 9, legend, "quiet")
    if missing:
        picture.rect(end + 10, y + 14, 13, 9, "absent")
        _hatch(picture, end + 10, y + 14, 13, 9)
        picture.text(end + 28, y + 23, "not known", "quiet")


def _short(value: float, largest: float) -> str:
    """A number for a cell: as many decimals as the largest needs for three figures, and no noise."""
    if largest <= 0 or abs(value) < 1e-9 * largest:
        return "0"
    if largest >= 1e6 or largest < 1e-4:
        return f"{value:.1e}".replace("-", "−")
    decimals = max(2 - math.floor(math.log10(largest)), 0)
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        return "~0"
    if largest < 1:
        text = text.replace("0.", ".", 1)  # all cells alike, so the zero says nothing
    return text.replace("-", "−", 1)


def _figure(value: float | None) -> str:
    return "not known" if value is None or not math.isfinite(value) else f"{value:.4g}"
