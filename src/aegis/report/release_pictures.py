"""Releases as pictures: a mixture as a map from the private value to the released one, a table as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.errors import InputError
from aegis.report.charts.curves import SERIES, axes, marker
from aegis.report.charts.heat_map import heat_map
from aegis.report.figures import figure, percent
from aegis.report.svg import Linear, Svg, text_width, tick_text, ticks

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.mixtures import Mixture

RECORDS = 900  # dots in a map


def picture_of_mixture(mixture: Mixture, values: NDArray[np.float64], *, title: str, x_axis: str) -> str:
    """A map of the release of these values; those for which nothing is released lie on a line of their own."""
    rng = np.random.default_rng(0)
    released = mixture.release(values, rng=rng)
    clouds = []
    shown = [i for i, part in enumerate(mixture.components) if not isinstance(part, Erasure)]
    floor = float(released.value[np.isin(released.component, shown)].min()) if shown else 0.0
    spread = float(np.ptp(released.value[np.isin(released.component, shown)])) if shown else 1.0
    for i in sorted(range(len(mixture.components)), key=lambda i: -mixture.weights[i]):
        chosen = released.component == i
        silent = isinstance(mixture.components[i], Erasure)
        y = np.full(int(chosen.sum()), floor - 0.12 * (spread or 1.0)) if silent else released.value[chosen]
        name = f"{percent(mixture.weights[i])}: {describe(mixture.components[i])}"
        clouds.append(Cloud(name=name, x=tuple(values[chosen].tolist()), y=tuple(y.tolist())))
    return release_map(clouds, title=title, x_axis=x_axis, y_axis="released value F")


def picture_of_table(table: NDArray[np.float64], *, names: Sequence[str], title: str) -> str:
    """P(symbol | value): one row a value, one column a symbol."""
    return heat_map(
        [[max(0.0, float(share)) for share in row] for row in table],
        rows=list(names),
        columns=[f"s{i}" for i in range(table.shape[1])],
        title=title,
        legend="share of the row",
        tips=[
            [f"{name} → s{i}: {percent(float(s))}" for i, s in enumerate(row)]
            for name, row in zip(names, table, strict=True)
        ],
    )


def describe(component: Component | Any) -> str:
    """A component in a few words.

    >>> describe(Modulo(period=8.0, blur=1.0)), describe(Noise(std=0.0))
    ('remainder mod 8, blurred by 1', 'the value itself')
    """
    match component:
        case Erasure():
            return "nothing"
        case Noise(std=std):
            return "the value itself" if std == 0 else f"noise of deviation {figure(std, 3)}"
        case Modulo(period=period, blur=blur):
            if math.isinf(period):
                return f"blurred by {figure(blur, 3)}"
            return f"remainder mod {figure(period, 3)}" + (f", blurred by {figure(blur, 3)}" if blur else "")
        case _:
            return "learned network"


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
    y_scale = Linear.covering([y for cloud in clouds for y in cloud.y], start=height - _FOOT, end=_TOP)
    left = 34 + max((text_width(tick_text(t)) for t in ticks(y_scale.low, y_scale.high)), default=20)
    x_scale = Linear.covering([x for cloud in clouds for x in cloud.x], start=left, end=width - 14)
    count = sum(len(cloud.x) for cloud in clouds)
    description = f"{count} records, {len(clouds)} kinds of release; {y_axis} over {x_axis}."
    picture = Svg(width, height, title=title, description=description)
    axes(picture, x_scale, y_scale, x_axis=x_axis, y_axis=y_axis)
    key = left
    for i, cloud in enumerate(clouds):
        # one path for all dots of a cloud: a page with hundreds of elements is slow to draw
        steps = "".join(marker(x_scale(x), y_scale(y), i, 1.6) for x, y in zip(cloud.x, cloud.y, strict=True))
        if steps:
            picture.path(steps, f"mark s{i % SERIES}")
        picture.path(marker(key + 6, 12, i), f"mark s{i % SERIES}")
        picture.text(key + 16, 16, cloud.name, "", room=240)
        key += min(text_width(cloud.name), 240.0) + 36
    return picture.markup()
