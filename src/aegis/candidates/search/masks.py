"""The masks of a column that a search may choose from: its levels, and what a search by cuts found.

The levels of a column lead from the raw value to ``*``, each merging what the one before left apart. A column that came
without a hierarchy gets automatic ones: numbers go to buckets whose widths double, dates to months, quarters and years,
texts with an order (months, sizes, intervals) to stretches of it, codes of equal length lose their last characters one
by one, other texts keep their commonest values and put the rest together.

Values are cut in their own order, or by what they say about the label (`cutting_order`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes, Ints
from aegis.counts.disclosure_rule import may_name
from aegis.data.domain import Domain, show
from aegis.data.hierarchy import TOP, Hierarchy
from aegis.data.kind import Kind
from aegis.data.published_values import Interval
from aegis.errors import HierarchyError
from aegis.masking.grid import edge_between, moment_between
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_ranges import DateRanges
from aegis.masking.masks.date_truncate import DateTruncate
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.stars import StarTrailing
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Partition, transition
from aegis.measures.leave_one_out import PRIOR_RECORDS
from aegis.plural import count

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
BUCKETS = 16
"""About how many buckets the finest level of a number has."""
KEPT = (16, 8, 4, 2)
"""How many of the commonest values the levels of a text keep apart."""
SPELLED_OUT = 3
"""Groups of at most so many values are named by all of them, if enough people have each."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """One level: its number in the hierarchy, the mask that makes it, and which values it merges."""

    number: int
    mask: Mask
    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chain:
    """The levels of a column, finest first. The first is the raw value, the last has one value only."""

    column: str
    domain: Domain
    levels: tuple[Level, ...]

    @classmethod
    def of_masks(cls, column: str, domain: Domain, masks: Sequence[Mask]) -> Chain:
        """From masks of growing strength between the raw value and suppression.

        Levels that merge no more than the one before are left out, since no search gains by them. Masks that split
        what an earlier one merged are refused.
        """
        counts = np.ones(domain.size)
        levels = [Level(number=0, mask=Identity(), partition=Partition.identity(domain))]
        for number, mask in enumerate([*masks, Suppress()], start=1):
            partition = transition(mask, domain, counts)
            assert isinstance(partition, Partition)
            before = levels[-1].partition
            if not before.refines(partition):
                raise HierarchyError(
                    f"level {number} of column {column!r} splits what level {number - 1} merged; "
                    "each level must merge values of the level before"
                )
            if partition.target.size < before.target.size:
                everything = partition.target.size == 1
                levels.append(Level(number=number, mask=Suppress() if everything else mask, partition=partition))
            if partition.target.size == 1:
                break
        return cls(column=column, domain=domain, levels=tuple(levels))

    @classmethod
    def of_hierarchy(cls, column: str, domain: Domain, hierarchy: Hierarchy) -> Chain:
        """From a hierarchy that covers the column's values."""
        hierarchy.check_covers(domain, column=column)
        masks = [Generalize(level=level, hierarchy=hierarchy) for level in range(1, hierarchy.levels)]
        return cls.of_masks(column, domain, masks)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(level.partition for level in self.levels)

    @property
    def top(self) -> int:
        """The position of the last level."""
        return len(self.levels) - 1

    def hierarchy(self) -> Hierarchy:
        """The levels as a hierarchy that can be saved, edited and read again; missing values have no line in it."""
        labels = []
        for level in self.levels:
            target = level.partition.target
            names = [show(value) for value in target.values.tolist()] + [TOP] * target.missing
            labels.append([names[code] for code in level.partition.codes[: len(self.domain.values)].tolist()])
        if len(self.levels) == 1 or self.levels[-1].partition.target.kind is not Kind.TEXT:
            labels.append([TOP] * len(self.domain.values))
        return Hierarchy.of(zip(*labels, strict=True))


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


def mask_for(domain: Domain, groups: Ints, counts: Ints) -> Mask:
    """The mask that puts the codes of a domain together as ``groups`` says; ``counts`` are the people who have each.

    One group is suppression, as many groups as values nothing at all. Numbers become buckets, dates and times ranges
    between edges, so that what comes later has its place; texts become groups named by values that may be named.
    Missing values must be one group by themselves, or all is one group.

    >>> ages = Domain.of(Kind.INTEGER, [20, 25, 40])
    >>> mask_for(ages, np.array([0, 0, 1]), np.ones(3, dtype=np.int64)).parameters()
    {'edges': [30.0]}
    """
    if len(np.unique(groups)) == 1:
        return Suppress()
    values, inner = domain.values, groups[: len(domain.values)]
    if len(np.unique(inner)) == len(values):
        return Identity()
    if domain.kind.is_number:
        starts = np.flatnonzero(np.diff(inner)) + 1
        numbers = values.astype(np.float64).tolist()
        edges = [edge_between(numbers[start - 1], numbers[start], domain.kind) for start in starts.tolist()]
        return Bucketize(edges=tuple(edges)) if edges else Bucketize(count=1).resolve(domain, counts)
    shown = [show(value) for value in values.tolist()]
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        # One range for all begins with the century of the first: the day itself, or its year, would be somebody's.
        begins = (np.flatnonzero(np.diff(inner)) + 1).tolist()
        days = [show(moment_between(values[begin - 1], values[begin], domain.kind)) for begin in begins]
        return DateRanges(edges=tuple(days) or (_first_of_century(shown[0]),))
    members: dict[int, list[int]] = {}
    for code, group in enumerate(inner.tolist()):
        members.setdefault(group, []).append(code)
    named: dict[str, list[str]] = {}
    ranks = own_ranks(domain)
    for codes in members.values():
        if ranks is not None:  # a stretch of the order is named by its ends
            inside = sorted(codes, key=lambda code: int(ranks[code]))
            first, last = shown[inside[0]], shown[inside[-1]]
            named[first if len(codes) == 1 else f"{first} to {last}"] = [shown[code] for code in inside]
            continue
        commonest = sorted(codes, key=lambda code: -int(counts[code]))
        common = int(may_name(counts[commonest]).sum())
        named[_name([shown[code] for code in commonest], common, named)] = [shown[code] for code in codes]
    return Regroup(groups=named)


def _first_of_century(day: str) -> str:
    """
    >>> _first_of_century("1931-05-02"), _first_of_century("0031-05-02")
    ('1900-01-01', '0001-01-01')
    """
    return f"{max(int(day[:4]) // 100 * 100, 1):04}-01-01"


def _name(values: list[str], common: int, taken: dict[str, list[str]]) -> str:
    """A group is named by its values, or by the commonest and how many more there are.

    ``values`` come with the commonest first; after the first ``common`` of them too few people have one to name it.
    """
    if len(values) == 1 or len(values) == common <= SPELLED_OUT:
        name = " | ".join(values)
    elif common:
        name = f"{values[0]} and {count(len(values) - 1, 'other')}"
    else:
        name = f"{len(values)} rare values"
    unique, number = name, 2
    while unique in taken or unique == TOP:
        unique, number = f"{name} ({number})", number + 1
    return unique
