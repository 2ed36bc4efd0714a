"""The third step: what must hold, as three purposes in plain words, each of which is a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.data.schema import Roles
from aegis.errors import RoleError
from aegis.library.guided.looking import Look
from aegis.plural import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """Who gets the table, what is promised then, and why that much.

    ``diversity`` is how many values of each sensitive column a class must hold; 1 asks for nothing. ``attacks`` are
    the shares of people whom an attack may expose before anything leaves.
    """

    name: str
    title: str
    k: int
    diversity: int
    max_suppression: float
    attacks: Mapping[str, float]
    why: str


PURPOSES: dict[str, Purpose] = {
    purpose.name: purpose
    for purpose in (
        Purpose(
            name="internal",
            title="internal research",
            k=3,
            diversity=1,
            max_suppression=0.05,
            attacks={},
            why="colleagues who may see personal data in other ways: nobody stands alone, and little is lost",
        ),
        Purpose(
            name="partner",
            title="partner under contract",
            k=5,
            diversity=3,
            max_suppression=0.02,
            attacks={"prosecutor": 0.0},
            why="a known recipient who promised not to look for people: five look alike, the usual threshold, and no "
            "group gives a sensitive value away, not even to somebody who can rule one out",
        ),
        Purpose(
            name="public",
            title="public",
            k=11,
            diversity=3,
            max_suppression=0.02,
            attacks={"prosecutor": 0.0},
            why="anybody, with whatever else they know, for ever: eleven look alike, which keeps the chance to name "
            "somebody below 0.09, the threshold of the European Medicines Agency and Health Canada",
        ),
    )
}
USUAL = "partner"


def k_in_words(k: int, quasi: tuple[str, ...], unit: str | None = None) -> str:
    """What k promises, to somebody who never heard of it.

    >>> k_in_words(5, ("age", "zip"))
    'whoever knows the age and zip of somebody finds at least 5 rows that look the same, never fewer'
    """
    columns = quasi[0] if len(quasi) == 1 else f"{', '.join(quasi[:-1])} and {quasi[-1]}"
    what = "rows" if unit is None else "people"
    if k == 1:
        return f"nothing: somebody's {columns} may lead to a single one of the {what}"
    return f"whoever knows the {columns} of somebody finds at least {k} {what} that look the same, never fewer"


def policy_for(
    purpose: str,
    roles: Roles,
    *,
    distinct: Mapping[str, int],
    k: int | None = None,
    unit: str | None = None,
) -> dict[str, Any]:
    """The policy of a purpose for a table with these roles, as its file would hold it.

    ``distinct`` says how many values each column has: no group can hold more sensitive ones than there are. ``k``
    replaces the purpose's own; ``unit`` names the column whose values are people.
    """
    chosen = PURPOSES[purpose]
    if not roles.quasi_identifying:
        raise RoleError(
            "no column is quasi-identifying, so nothing could be promised; name what somebody may know of a person "
            "(age, zip, sex, …) with --quasi"
        )
    policy: dict[str, Any] = {"quasi_identifying": list(roles.quasi_identifying), "k": k or chosen.k}
    if roles.sensitive:
        policy["sensitive"] = list(roles.sensitive)
    most = {column: min(chosen.diversity, distinct.get(column, chosen.diversity)) for column in roles.sensitive}
    diverse = {column: {"kind": "distinct", "l": asked} for column, asked in most.items() if asked > 1}
    if diverse:
        policy["l"] = diverse
    policy["max_suppression"] = chosen.max_suppression
    if chosen.attacks:
        policy["attacks"] = dict(chosen.attacks)
    if unit is not None:
        policy["unit"] = unit
    return policy


def asked_for_less(purpose: str, seen: Look, distinct: Mapping[str, int], unit: str | None) -> tuple[str, ...]:
    """The sensitive columns of which a purpose asks less than its values allow, because people show fewer of them."""
    notes = []
    for column in seen.profile.columns:
        fewer = distinct[column.name]
        if fewer < min(column.distinct, PURPOSES[purpose].diversity):
            consequence = "so nothing is asked of its groups" if fewer < 2 else "so no group is asked for more"
            notes.append(
                f"{column.name}: counted by {unit}, all rows together show {count(fewer, 'value')}, {consequence}"
            )
    return tuple(notes)
