"""The order in which the values of a column may be cut: their own, or by what they say about the label."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from aegis.arrays import Ints
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.published_values import Interval
from aegis.measures.leave_one_out import PRIOR_RECORDS

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


def own_ranks(domain: Domain) -> Ints | None:
    """The rank of each value by its own order (missing aside); None where values have none."""
    if domain.order is not None:
        return np.array(domain.order, dtype=np.int64)
    if domain.kind.is_ordered:
        return np.arange(len(domain.values))
    ranks = text_ranks(domain.values.tolist()) if domain.kind is Kind.TEXT else None
    return None if ranks is None else np.array(ranks, dtype=np.int64)


def cutting_order(domain: Domain, joint: Ints) -> Ints:
    """The rank of each code; ``joint`` counts value by label. Missing always comes last.

    Texts have an order of their own where somebody declared it or they are months, sizes, intervals and the like
    (`text_ranks`). Values without one are ranked by their share of the label, shrunk to the overall share by
    `PRIOR_RECORDS` records; with more than two labels by the principal axis of the shares.

    >>> cutting_order(Domain.of(Kind.TEXT, ["a", "b", "c"]), np.array([[5, 5], [9, 1], [1, 9]])).tolist()
    [1, 0, 2]
    """
    values = len(domain.values)
    rank = np.arange(domain.size)
    if values < 2:
        return rank
    own = own_ranks(domain)
    if own is not None:
        rank[:values] = own
        return rank
    counts = joint[:values].astype(np.float64)
    overall = joint.sum(axis=0) / max(int(joint.sum()), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    shares = (counts + PRIOR_RECORDS * overall) / (sizes + PRIOR_RECORDS) - overall
    axis = np.linalg.svd(np.sqrt(sizes) * shares, full_matrices=False)[2][0]
    position = shares @ axis
    # The sign of an axis is arbitrary: let the last label grow along it.
    if axis[-1] < 0:
        position = -position
    rank[np.argsort(position, kind="stable")] = np.arange(values)
    return rank
