"""Which column says whose records they are: a name or number of somebody that several rows share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aegis.arrays import Codes
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.inspection.role_words import NUMBERS, PEOPLE, PERSON_NAMES, names_role, words_of

_FEWEST = 20
_MOST_ROWS = 1000
"""Whoever has more rows than that is a thing: a ward, a shop, a machine."""
_PAIRS = 100
"""So many pairs of rows must share a value before they say something."""
_AGREE, _BY_CHANCE, _TOLD = 0.99, 0.9, 0.95


def several_rows_each(name: str, kind: Kind, *, distinct: int, present: int) -> float | None:
    """How many rows somebody has on average, where a column looks as if it said whose rows they are; else None.

    Its name may say that it is something else: a postal code is a code of a place.

    >>> several_rows_each("patient_nbr", Kind.INTEGER, distinct=70_000, present=100_000)
    1.4285714285714286
    >>> several_rows_each("destination_id", Kind.TEXT, distinct=9_000, present=100_000) is None
    True
    """
    if kind not in (Kind.TEXT, Kind.INTEGER) or distinct <= _FEWEST or distinct >= 0.98 * present:
        return None
    words = words_of(name)
    if _is_something_else(words) or present > _MOST_ROWS * distinct:
        return None
    of_people = bool(words & PEOPLE) and (bool(words & NUMBERS) or len(words) == 1)
    of_nothing_else = bool(words) and words <= NUMBERS and distinct >= 0.02 * present
    if of_people or words & PERSON_NAMES or of_nothing_else:
        return present / distinct
    return None


def _is_something_else(words: set[str]) -> bool:
    about = words - {"household", "personal"}
    return names_role(about, Role.QUASI_IDENTIFYING) or names_role(about, Role.SENSITIVE)


def agreeing_traits(column: Codes, traits: Mapping[str, Codes]) -> tuple[str, ...]:
    """The traits in which rows agree that share a value of ``column``, though rows by chance do not.

    Where those are two, such as sex and year of birth, the values are people: a zip code has one city, and not one sex;
    a first name has one sex, and not one year of birth. A trait that says nothing beside another one is not counted.
    """
    order = np.argsort(column, kind="stable")
    first, second = order[:-1], order[1:]
    same = (column[first] == column[second]) & (column[first] > 0)
    first, second = first[same], second[same]
    if len(first) < _PAIRS:
        return ()
    agreeing: list[str] = []
    for name, codes in traits.items():
        shares = np.bincount(codes) / len(codes)
        if float(shares @ shares) > _BY_CHANCE or float((codes[first] == codes[second]).mean()) < _AGREE:
            continue
        if not any(_told(codes, traits[other]) for other in agreeing):
            agreeing.append(name)
    return tuple(agreeing)


def _told(codes: Codes, by: Codes) -> bool:
    """Whether one trait is known from the other nearly always."""
    width = int(codes.max()) + 1
    pairs, counts = np.unique(by * width + codes, return_counts=True)
    most = np.zeros(int(by.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs // width, counts)
    guessed = np.bincount(codes).max()
    right = most.sum()
    return bool(right - guessed >= _TOLD * (len(codes) - guessed))
