"""Real masks for partitions that a search by cuts found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.search.ordering import own_ranks
from aegis.counts.disclosure_rule import may_name
from aegis.data.domain import Domain, show
from aegis.data.hierarchy import TOP
from aegis.data.kind import Kind
from aegis.masking.grid import edge_between, moment_between
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_ranges import DateRanges
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.suppress import Suppress
from aegis.plural import count

SPELLED_OUT = 3
"""Groups of at most so many values are named by all of them, if enough people have each."""


def mask_for(domain: Domain, groups: NDArray[np.int64], counts: NDArray[np.int64]) -> Mask:
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
