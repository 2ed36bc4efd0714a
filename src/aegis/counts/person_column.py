"""Which column says whose records they are: a name or number of somebody that several rows share."""

from __future__ import annotations

from aegis.counts.role_words import NUMBERS, PEOPLE, PERSON_NAMES, names_role, words_of
from aegis.data.kind import Kind
from aegis.data.schema import Role

_FEWEST = 20
_MOST_ROWS = 1000
"""Whoever has more rows than that is a thing: a ward, a shop, a machine."""


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
