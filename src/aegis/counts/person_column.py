"""Which column says whose records they are: a name or number of somebody that several rows share."""

from __future__ import annotations

import re
from collections.abc import Collection

from aegis.data.kind import Kind

PEOPLE = {
    "user", "customer", "client", "patient", "person", "member", "employee", "subject", "guest", "student",
    "respondent", "participant", "subscriber", "passenger", "applicant", "citizen", "resident", "donor", "insured",
    "policyholder", "cardholder", "account", "household", "individual", "pupil", "worker", "driver", "voter", "visitor",
}  # fmt: skip
THINGS = {
    "product", "item", "article", "hotel", "store", "shop", "destination", "ward", "room", "bed", "school", "hospital",
    "clinic", "company", "brand", "model", "type", "category", "group", "class", "market", "station", "flight", "route",
    "campaign", "page", "file", "machine", "sensor", "vehicle", "building", "department", "course", "event",
}  # fmt: skip
"""What has numbers too and is nobody."""
NUMBERS = {"id", "ids", "no", "nr", "nbr", "num", "number", "code", "key", "uuid", "guid", "hash", "pseudonym", "token"}
_NAMES = {
    "mrn",
    "ssn",
    "email",
    "mail",
    "username",
    "login",
    "userid",
    "patientid",
    "customerid",
    "clientid",
    "pid",
    "uid",
}
_FEWEST = 20
_MOST_ROWS = 1000
"""Whoever has more rows than that is a thing: a ward, a shop, a machine."""


def words_of(name: str) -> set[str]:
    """The words of a column's name, also those of camelCase.

    >>> sorted(words_of("patientNbr_2")), sorted(words_of("CustomerID"))
    (['nbr', 'patient'], ['customer', 'id'])
    """
    apart = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))
    return {word.lower() for word in re.findall(r"[A-Za-z]+", apart)}


def several_rows_each(
    name: str, kind: Kind, *, distinct: int, present: int, otherwise: Collection[str] = ()
) -> float | None:
    """How many rows somebody has on average, where a column looks as if it said whose rows they are; else None.

    ``otherwise`` are words that say that a column is something else: a postal code is a code of a place.

    >>> several_rows_each("patient_nbr", Kind.INTEGER, distinct=70_000, present=100_000)
    1.4285714285714286
    >>> several_rows_each("destination_id", Kind.TEXT, distinct=9_000, present=100_000) is None
    True
    """
    if kind not in (Kind.TEXT, Kind.INTEGER) or distinct <= _FEWEST or distinct >= 0.98 * present:
        return None
    words = words_of(name)
    if words & set(otherwise) or present > _MOST_ROWS * distinct:
        return None
    of_people = bool(words & PEOPLE) and (bool(words & NUMBERS) or len(words) == 1)
    of_nothing_else = bool(words) and words <= NUMBERS and distinct >= 0.02 * present
    if of_people or words & _NAMES or of_nothing_else:
        return present / distinct
    return None
