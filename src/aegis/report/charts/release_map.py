"""What is released for each private value: one dot a record, so that folds and jumps are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aegis.errors import InputError
from aegis.report.charts.curves import SERIES, axes, marker
from aegis.report.scale import Linear, tick_text, ticks
from aegis.report.svg import Svg, text_width

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
    y_scale = Linear.covering([y for one in clouds for y in one.y], start=height - _FOOT, end=_TOP)
    left = 34 + max((text_width(tick_text(t)) for t in ticks(y_scale.low, y_scale.high)), default=20)
    x_scale = Linear.covering([x for one in clouds for x in one.x], start=left, end=width - 14)
    count = sum(len(one.x) for one in clouds)
    told = f"{count} records, {len(clouds)} kinds of release; {y_axis} over {x_axis}."
    picture = Svg(width, height, title=title, description=told)
    axes(picture, x_scale, y_scale, x_axis=x_axis, y_axis=y_axis)
    key = left
    for i, one in enumerate(clouds):
        # one path for all dots of a cloud: a page with hundreds of elements is slow to draw
        steps = "".join(marker(x_scale(x), y_scale(y), i, 1.6) for x, y in zip(one.x, one.y, strict=True))
        if steps:
            picture.path(steps, f"mark s{i % SERIES}")
        picture.path(marker(key + 6, 12, i), f"mark s{i % SERIES}")
        picture.text(key + 16, 16, one.name, "", room=240)
        key += min(text_width(one.name), 240.0) + 36
    return picture.markup()
