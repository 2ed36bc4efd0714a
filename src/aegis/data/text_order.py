"""The order that texts have by what they mean: intervals, months, weekdays, ordinals, sizes and other usual scales."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from aegis.data.interval import Interval

_SCALES = (
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct "
    "november/nov december/dec",
    "monday/mon tuesday/tue/tues wednesday/wed thursday/thu/thur/thurs friday/fri saturday/sat sunday/sun",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    "xxxs/3xs xxs/2xs xs s m l xl xxl/2xl xxxl/3xl",
    "tiny/very_small/extra_small small medium large big/very_large/extra_large huge",
    "none very_low low medium/moderate/middle/normal high very_high",
    "very_poor/very_bad poor/bad fair/moderate/average/medium good very_good excellent",
    "never rarely/seldom sometimes often/usually always",
    "none/absent mild moderate severe critical",
    "child teenager/adolescent/youth adult senior/elderly",
)
_PLACES = tuple(
    {name.replace("_", " "): place for place, names in enumerate(scale.split()) for name in names.split("/")}
    for scale in _SCALES
)
_ORDINAL = re.compile(r"^(\d+)\.?(?:st|nd|rd|th)$")
_DASHED_IN_BRACKETS = re.compile(r"^[\[(]\s*([^,;]*?\d)\s*[])]$")
_FEWEST = 3
"""Two values have no order that a group of them could break."""


def text_ranks(values: Sequence[str]) -> tuple[int, ...] | None:
    """The place of each text in the order of all of them; None where they have none that is known.

    >>> text_ranks(["[10-20)", "[90-100)", "[0-10)"])
    (1, 2, 0)
    >>> text_ranks(["April", "August", "January"])
    (1, 2, 0)
    >>> text_ranks(["red", "green", "blue"]) is None
    True
    """
    if len(values) < _FEWEST:
        return None
    texts = [re.sub(r"[\s_-]+", " ", value).strip().rstrip(".").casefold() for value in values]
    for places in _PLACES:
        if all(text in places for text in texts):
            return _ranked([(float(places[text]), 0.0) for text in texts])
    numbers = [_ORDINAL.match(text) for text in texts]
    if all(number is not None for number in numbers):
        return _ranked([(float(number[1]), 0.0) for number in numbers if number is not None])
    intervals = [_interval(value) for value in values]
    if all(interval is not None for interval in intervals):
        return _ranked([(_end(interval.low), _end(interval.high)) for interval in intervals if interval is not None])
    return None


def _interval(text: str) -> Interval | None:
    """An interval, also one that is written ``[10-20)``."""
    inner = _DASHED_IN_BRACKETS.match(text.strip())
    return Interval.parse(text.strip()) or (None if inner is None else Interval.parse(inner[1]))


def _end(number: float) -> float:
    return math.copysign(1e308, number) if math.isinf(number) else number


def _ranked(places: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    order = sorted(range(len(places)), key=lambda position: places[position])
    ranks = [0] * len(places)
    for rank, position in enumerate(order):
        ranks[position] = rank
    return tuple(ranks)
