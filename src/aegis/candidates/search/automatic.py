"""Levels for a column that came without a hierarchy.

Numbers go to buckets whose widths double, dates to months, quarters and years, texts with an order (months, sizes,
intervals) to stretches of it, codes of equal length lose their last characters one by one, other texts keep their
commonest values and put the rest together.
"""

from __future__ import annotations

import math

import numpy as np

from aegis.arrays import Codes
from aegis.candidates.search.chain import Chain
from aegis.candidates.search.ordering import own_ranks
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_truncate import DateTruncate
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.stars import StarTrailing

BUCKETS = 16
"""About how many buckets the finest level of a number has."""

KEPT = (16, 8, 4, 2)
"""How many of the commonest values the levels of a text keep apart."""


def automatic_chain(column: str, domain: Domain, counts: Codes) -> Chain:
    """The levels of a column whose values occur ``counts`` times, one per code of the domain."""
    return Chain.of_masks(column, domain, automatic_masks(domain, counts))


def automatic_masks(domain: Domain, counts: Codes) -> list[Mask]:
    """The masks between the raw value and suppression.

    >>> ages = Domain.of(Kind.INTEGER, range(17, 91))
    >>> [mask.describe() for mask in automatic_masks(ages, np.ones(74, dtype=np.int64))]
    ['buckets of width 5', 'buckets of width 10', 'buckets of width 20', 'buckets of width 40', 'buckets of width 80']
    """
    if domain.kind.is_number:
        return _buckets(domain)
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        units = ("day", "month", "quarter", "year") if domain.kind is Kind.TIMESTAMP else ("month", "quarter", "year")
        return [DateTruncate(unit=unit) for unit in units]
    if domain.kind is Kind.TEXT:
        return _stretches(domain) or _stars(domain) or _commonest(domain, counts)
    return []


def _buckets(domain: Domain) -> list[Mask]:
    if len(domain.values) < 3:
        return []
    spread = float(domain.values[-1]) - float(domain.values[0])
    if not math.isfinite(spread):
        return []
    ten = 10.0 ** math.floor(math.log10(spread / BUCKETS))
    width = next(step * ten for step in (1, 2, 5, 10) if step * ten >= spread / BUCKETS)
    if domain.kind is Kind.INTEGER:
        width = max(width, 2.0)
    masks: list[Mask] = []
    while width < 2 * spread and len(masks) < 5:
        masks.append(Bucketize(width=float(f"{width:.12g}")))
        width *= 2
    return masks


def _stars(domain: Domain) -> list[Mask]:
    """For codes: texts of one length with digits in them."""
    lengths = {len(value) for value in domain.values.tolist()}
    digits = all(any(letter.isdigit() for letter in value) for value in domain.values.tolist())
    if len(lengths) != 1 or not digits or len(domain.values) < 3:
        return []
    return [StarTrailing(characters=characters) for characters in range(1, lengths.pop())]


def _stretches(domain: Domain) -> list[Mask]:
    """For texts that have an order: neighbours together, twice as many at each level."""
    ranks = own_ranks(domain)
    if ranks is None:
        return []
    values = [show(domain.values[code]) for code in np.argsort(ranks).tolist()]
    masks: list[Mask] = []
    width = 2
    while width < len(values):
        parts = [values[start : start + width] for start in range(0, len(values), width)]
        names = [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
        masks.append(Regroup(groups=dict(zip(names, parts, strict=True))))
        width *= 2
    return masks


def _commonest(domain: Domain, counts: Codes) -> list[Mask]:
    """The commonest values keep their names, the others are one group; which are common is read off the data once."""
    order = np.argsort(-counts[: len(domain.values)], kind="stable")
    values = [show(value) for value in domain.values.tolist()]
    masks: list[Mask] = []
    for number in KEPT:
        if number + 2 > len(values):
            continue
        names = [values[code] for code in sorted(order[:number].tolist())]
        rest = "other"
        while rest in values:
            rest += "*"
        masks.append(Regroup(groups={name: [name] for name in names}, other=rest))
    return masks
