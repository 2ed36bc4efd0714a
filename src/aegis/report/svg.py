"""A small writer of SVG: shapes with classes instead of colours, every text escaped, nothing that refers outward.

Colours live in the page's style sheet, so that a picture follows the reader's light or dark theme. No element has an
id, so that any number of pictures can stand on one page. Scales turn numbers into positions, with round numbers to
write beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np

Anchor = Literal["start", "middle", "end"]

EM = 0.56  # mean width of a character, in font sizes: wide enough for most sans-serif fonts


def num(value: float) -> str:
    """A coordinate: at most one decimal, no trailing zero.

    >>> num(12.04), num(3.25), num(-0.01)
    ('12', '3.2', '0')
    """
    text = f"{value:.1f}"
    if text.endswith(".0"):
        text = text[:-2]
    return "0" if text == "-0" else text


def shorten(text: str, room: float, *, size: float = 12) -> str:
    """``text`` cut in the middle to fit ``room`` pixels: both ends of a name tell names apart.

    >>> shorten("configuration-000017", 80)
    'config…0017'
    >>> shorten("age", 80)
    'age'
    """
    fits = max(int(room / (size * EM)), 3)
    if len(text) <= fits:
        return text
    tail = (fits - 1) * 2 // 5
    return f"{text[: fits - 1 - tail]}…{text[len(text) - tail :] if tail else ''}"


def text_width(text: str, *, size: float = 12) -> float:
    """About how wide ``text`` is drawn."""
    return len(text) * size * EM


class Svg:
    """A picture under construction.

    >>> picture = Svg(100, 20, title="a <b>", description="one line")
    >>> picture.line(0, 0, 100, 0, "axis")
    >>> print(picture.markup())
    <svg class="chart" role="img" viewBox="0 0 100 20" width="100" height="20"><title>a &lt;b&gt;</title><desc>one
    line</desc><line class="axis" x1="0" y1="0" x2="100" y2="0"/></svg>
    """

    def __init__(self, width: float, height: float, *, title: str, description: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._description = description
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._shape(f'line class="{kind}" x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}"', None)

    def rect(self, x: float, y: float, width: float, height: float, kind: str, *, tip: str | None = None) -> None:
        size = f'width="{num(max(width, 0))}" height="{num(max(height, 0))}"'
        self._shape(f'rect class="{kind}" x="{num(x)}" y="{num(y)}" {size}', tip)

    def circle(self, x: float, y: float, radius: float, kind: str, *, tip: str | None = None) -> None:
        self._shape(f'circle class="{kind}" cx="{num(x)}" cy="{num(y)}" r="{num(radius)}"', tip)

    def path(self, steps: str, kind: str, *, tip: str | None = None) -> None:
        """``steps`` is path data made by this package, never text from outside."""
        self._shape(f'path class="{kind}" d="{steps}"', tip)

    def polyline(self, points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        """A line through points."""
        steps = "L".join(f"{num(x)} {num(y)}" for x, y in points)
        self.path(f"M{steps}{'Z' if closed else ''}", kind)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        kind: str = "",
        *,
        anchor: Anchor = "start",
        room: float | None = None,
        size: float = 12,
        rotate: float = 0,
    ) -> None:
        """``text`` at a point, shortened to ``room`` pixels with the whole of it in a title."""
        shown = text if room is None else shorten(text, room, size=size)
        attributes = f' class="{kind}"' if kind else ""
        attributes += f' x="{num(x)}" y="{num(y)}"'
        attributes += "" if anchor == "start" else f' text-anchor="{anchor}"'
        attributes += f' transform="rotate({num(rotate)} {num(x)} {num(y)})"' if rotate else ""
        tip = f"<title>{clean(text)}</title>" if shown != text else ""
        self._parts.append(f"<text{attributes}>{tip}{clean(shown)}</text>")

    def markup(self) -> str:
        """The picture, to stand inside a page."""
        size = f'viewBox="0 0 {num(self.width)} {num(self.height)}" width="{num(self.width)}"'
        head = f'<svg class="chart" role="img" {size} height="{num(self.height)}">'
        about = f"<title>{clean(self._title)}</title><desc>{clean(self._description)}</desc>"
        return f"{head}{about}{''.join(self._parts)}</svg>"

    def _shape(self, inner: str, tip: str | None) -> None:
        if tip is None:
            self._parts.append(f"<{inner}/>")
        else:
            name = inner.split(" ", 1)[0]
            self._parts.append(f"<{inner}><title>{clean(tip)}</title></{name}>")


def clean(text: str) -> str:
    """``text`` escaped, without the control characters that no markup may hold.

    >>> clean("a<b" + chr(0) + chr(27) + "&c")
    'a&lt;b&amp;c'
    """
    return escape("".join(c for c in text if c in "\t\n" or (ord(c) >= 32 and not 0x7F <= ord(c) <= 0x9F)))


_ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def nice_step(span: float, most: int, *, smallest: float = 0.0, whole: bool = False) -> float:
    """The smallest round step, not below ``smallest``, that needs at most ``most`` steps for ``span``.

    >>> nice_step(87, 40), nice_step(87, 40, whole=True), nice_step(0.7, 5), nice_step(3, 40, smallest=1)
    (2.5, 5.0, 0.2, 1.0)
    """
    if not span > 0:
        return smallest or 1.0
    least = max(span / most, smallest, 1.0 if whole else 0.0)
    exponent = math.floor(math.log10(least))
    for factor in _ROUND_STEPS:
        step = float(f"{factor * 10.0**exponent:.12g}")  # 0.30000000000000004 is nobody's step
        if step >= least * (1 - 1e-9) and not (whole and step != round(step)):
            return step
    return float(f"{10.0 ** (exponent + 1):.12g}")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from ``low`` to ``high``.

    >>> ticks(-0.03, 0.21, 5)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    step = nice_step(high - low, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") + 0.0 for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick as people write it.

    >>> tick_text(0.05), tick_text(20000.0), tick_text(-3.0), tick_text(1e-7)
    ('0.05', '20,000', '−3', '1e-07')
    """
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.6g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A straight scale: ``low`` lies at ``start``, ``high`` at ``end``.

    >>> Linear(low=0, high=10, start=100, end=200)(2.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        share = 0.5 if span <= 0 else (value - self.low) / span
        return self.start + (self.end - self.start) * share

    def marks(self, most: int = 6) -> list[float]:
        """Round numbers to write beside it."""
        return ticks(self.low, self.high, most)

    @classmethod
    def covering(
        cls, values: list[float], *, start: float, end: float, pad: float = 0.04, zero: bool = False
    ) -> Linear:
        """A scale for all finite ``values``, with some air at both ends; with ``zero`` it starts there."""
        finite = np.array([value for value in values if math.isfinite(value)] or [0.0])
        low, high = float(finite.min()), float(finite.max())
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        span = high - low or abs(high) or 1.0
        below = 0.0 if zero and low == 0 else pad * span
        return cls(low=low - below, high=high + pad * span, start=start, end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logarithmic:
    """A scale of equal ratios; what is not positive has no place on it.

    >>> scale = Logarithmic(low=1, high=100, start=0, end=200)
    >>> scale(10), scale(0), scale.marks(3)
    (100.0, nan, [1.0, 10.0, 100.0])
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if not value > 0:
            return math.nan
        span = math.log10(self.high / self.low)
        share = 0.5 if span <= 0 else math.log10(value / self.low) / span
        return self.start + (self.end - self.start) * share

    def marks(self, most: int = 6) -> list[float]:
        """Powers of ten, some of them where they are many, and 1, 2, 5 where they are few."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        step = max(-(-(last - first + 1) // most), 1)
        marks = [float(f"1e{exponent}") for exponent in range(first, last + 1, step)]
        if len(marks) < 3:
            fine = [float(f"{digit}e{exponent}") for exponent in range(first - 1, last + 1) for digit in (1, 2, 5)]
            marks = [value for value in fine if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
        return marks

    @classmethod
    def covering(cls, values: list[float], *, start: float, end: float, pad: float = 0.04) -> Logarithmic:
        """A scale for all positive ``values``, with some air at both ends."""
        positive = [value for value in values if math.isfinite(value) and value > 0] or [1.0]
        air = max(max(positive) / min(positive), 2.0) ** pad
        return cls(low=min(positive) / air, high=max(positive) * air, start=start, end=end)


Scale = Linear | Logarithmic


def covering(values: list[float], *, start: float, end: float, zero: bool, log: bool) -> Scale:
    """A scale for ``values``: of equal ratios, or straight, then with ``zero`` on it where asked."""
    if log:
        return Logarithmic.covering(values, start=start, end=end)
    return Linear.covering(values, start=start, end=end, zero=zero)
