"""The second and the third step: which part each column plays, and what must hold.

What is said of columns that are published as they are, and three purposes in plain words, each of which is a policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from aegis.commands.start import Start
from aegis.counts.collect_classes import rows_alone
from aegis.data.dataset import Dataset
from aegis.data.project import Project
from aegis.data.schema import Role, Roles, check_columns
from aegis.errors import OptionError, RoleError
from aegis.inspection.telling import dependent, following
from aegis.library.guided.looking import (
    AS_GIVEN,
    AS_SAID,
    Look,
    SuggestedRole,
    label_words,
    likely_label,
    roles_of,
    suggest_roles,
    with_named,
)
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.guided.guide import Guide


_ROLES_GIVEN = ("label", "label_bins", "identifying", "quasi", "sensitive", "insensitive", "roles")
_STANDS_OUT = 0.2
"""From this share of rows on it is said by which columns they stand alone."""


def with_roles(project: Project, seen: Look, options: Start, guide: Guide) -> Project:
    """The roles, as they were decided before unless the options say something of them."""
    before = project.roles
    if before is not None and project.has_roles and not set(_ROLES_GIVEN) & set(options.given()):
        guide.note(f"as decided in {project.path.name}: {_roles_in_words(before)}")
        return project
    label = options.label or (before.label if before is not None else None)
    with _kept_when_left(project, guide):
        label = label or guide.label(seen, likely_label(seen))
    check_columns([label], seen.columns, error=OptionError)
    suggested = _given_roles(suggest_roles(seen, label), before if project.has_roles else None, options)
    with _kept_when_left(project if project.has_roles else replace(project, roles=Roles(label=label)), guide):
        bins = options.label_bins if options.label_bins is not None else guide.label_bins(seen, label)
        answered = guide.roles(label, suggested)
    decided, notes = checked(seen, answered)
    for note in notes:
        guide.note(note)
    roles = roles_of(label, decided, label_is_sensitive=label in options.sensitive)
    _check_quasi_identifying(roles)
    of_label = label_words(seen, label, roles)
    if of_label is not None:
        guide.note(of_label)
    return replace(project.without_choice(), roles=roles, label_bins=bins, policy=None)


@contextmanager
def _kept_when_left(project: Project, guide: Guide) -> Iterator[None]:
    """Whoever leaves in the middle of a question is not asked again what was answered before it."""
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):
        project.write()
        guide.note(f"what was answered before this question is kept in {project.path.name}")
        raise


def checked(seen: Look, decided: Sequence[SuggestedRole]) -> tuple[tuple[SuggestedRole, ...], tuple[str, ...]]:
    """The roles with every column quasi-identifying that tells one which is, or is told by it, and what to say of them.

    A column that somebody named insensitive stays so, and the sentence says what can be read from it.
    """
    roles = {suggestion.column: suggestion for suggestion in decided}
    quasi = [name for name, suggestion in roles.items() if suggestion.role is Role.QUASI_IDENTIFYING]
    others = [name for name, suggestion in roles.items() if suggestion.role is Role.INSENSITIVE]
    found: dict[str, tuple[str, str, str]] = {}  # the first that is found of a column: what is so, why, and what of it
    for dependence in dependent(seen.rows, quasi, others):
        why = f"{dependence.sentence()}; {dependence.other} is quasi-identifying"
        found.setdefault(
            dependence.column, (dependence.sentence(), why, f"what is masked in {dependence.other} can be read there")
        )
    for dependence in following(seen.rows, quasi, [name for name in others if name not in found]):
        why = f"{dependence.as_known()}, which is quasi-identifying"
        found[dependence.other] = (
            dependence.as_known(),
            why,
            "k does not count what it adds, and the attacks on the release do",
        )
    notes = []
    for name, (so, why, what_of_it) in found.items():
        before = roles[name]
        if before.why in (AS_GIVEN, AS_SAID):
            notes.append(f"{name} {so} and leaves as it is because you named it insensitive: {what_of_it}")
            roles[name] = replace(before, why=f"{before.why}, though it {why}")
        else:
            notes.append(f"{name} {so}, so it is quasi-identifying too")
            roles[name] = SuggestedRole(column=name, role=Role.QUASI_IDENTIFYING, why=why)
    return tuple(roles.values()), tuple(notes)


def published_words(dataset: Dataset, roles: Roles | None) -> str | None:
    """What somebody finds who knows the columns that leave as they are; None where few rows stand alone by them.

    What must hold speaks of quasi-identifiers: a salary that nobody else has singles its row out all the same.
    """
    if roles is None:
        return None
    named = dict.fromkeys((*roles.sensitive, *roles.insensitive, *((roles.label,) if roles.label else ())))
    columns = tuple(name for name in dataset.schema.names if name in named)
    alone = rows_alone(dataset, columns)
    if alone.rows == 0 or alone.together < _STANDS_OUT * alone.rows:
        return None
    by_itself = {name: rows for name, rows in alone.by_column.items() if rows >= _STANDS_OUT * alone.rows}
    singles = "".join(
        f"; by {name} alone {count(rows, 'row')}" for name, rows in sorted(by_itself.items(), key=lambda item: -item[1])
    )
    return (
        f"{', '.join(columns)} leave as they are, and no promise of k speaks of them: whoever knows all of them of "
        f"somebody finds one row in {alone.together:,} of {alone.rows:,} cases{singles}. Name those that somebody may "
        "know quasi-identifying"
    )


def _given_roles(
    suggested: tuple[SuggestedRole, ...], before: Roles | None, options: Start
) -> tuple[SuggestedRole, ...]:
    """What the options say of single columns goes before what was decided, and that before what was suggested."""
    decided = {} if before is None else {suggestion.column: before.get(suggestion.column) for suggestion in suggested}
    named: dict[str, Role] = {name: role for name, role in decided.items() if role not in (None, Role.LABEL)}
    named |= dict.fromkeys(options.identifying, Role.IDENTIFYING)
    named |= dict.fromkeys(options.quasi, Role.QUASI_IDENTIFYING)
    named |= dict.fromkeys(options.sensitive, Role.SENSITIVE)
    named |= dict.fromkeys(options.insensitive, Role.INSENSITIVE)
    return with_named(suggested, named)


def _roles_in_words(roles: Roles) -> str:
    return (
        f"label {roles.label}, {len(roles.quasi_identifying)} quasi-identifying, {len(roles.sensitive)} sensitive, "
        f"{len(roles.identifying)} identifying, {len(roles.insensitive)} insensitive"
    )


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
    _check_quasi_identifying(roles)
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


def _check_quasi_identifying(roles: Roles) -> None:
    if not roles.quasi_identifying:
        raise RoleError(
            "no column is quasi-identifying, so nothing could be promised; name what somebody may know of a person "
            "(age, zip, sex, …) with --quasi"
        )


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
