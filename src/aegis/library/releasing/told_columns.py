"""The columns of a release that quasi-identifiers tell: whoever knows a date knows its weekday too."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles, Schema
from aegis.inspection.first_rows import LOOKED_AT, first_rows
from aegis.inspection.telling import Tells, following


def told_columns(original: Dataset, roles: Roles, shown: Collection[str]) -> tuple[Tells, ...]:
    """Which of the ``shown`` columns are told by quasi-identifiers and have no role that counts.

    Sensitive columns and the label are what an attacker wants to know, so he is not given them.
    """
    counted = {*roles.quasi_identifying, *roles.identifying, *roles.sensitive, roles.label}
    others = [name for name in original.schema.names if name in shown and name not in counted]
    known = [name for name in roles.quasi_identifying if name in original.schema]
    if not others or not known:
        return ()
    there = original.table.select(*known, *others)
    schema = Schema(columns=tuple(column for column in original.schema if column.name in {*known, *others}))
    return following(first_rows(ask(there.limit(LOOKED_AT)), schema), known, others)


def known_values(told: Sequence[Tells]) -> tuple[str, ...]:
    """Those whose value is told: an attack finds people by it. By a range it does not, though somebody could."""
    return tuple(tells.other for tells in told if tells.ranges is None)


def told_warning(told: Tells) -> str:
    """What is to be said of one of them."""
    return f"{told.other} {told.as_known()}: k does not count what it adds, and --quasi {told.other} makes it"
