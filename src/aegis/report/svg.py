"""A small writer of SVG: shapes with classes instead of colours, every text escaped, nothing that refers outward.

Colours live in the page's style sheet, so that a picture follows the reader's light or dark theme. No element has an
id, so that any number of pictures can stand on one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

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
