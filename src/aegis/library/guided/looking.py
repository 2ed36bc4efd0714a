"""The first step: what is in the table, in counts and in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.schema import Role, Roles
from aegis.errors import LabelError
from aegis.inspection.findings import Findings, find
from aegis.inspection.first_rows import FirstRows
from aegis.inspection.profile import Profile, profile
from aegis.inspection.telling import dependent, following, leaks
from aegis.plural import count
from aegis.privacy.models.l_diversity import DistinctLDiversity
from aegis.result import plain

NOTATION_WORDS = {
    "decimal_comma": "numbers with a decimal comma",
    "day_first": "dates with the day first",
    "month_first": "dates with the month first",
}
"""What a column holds that is read by its notation, by the name of the option."""
_ADVICE = {
    "decimal comma": "holds numbers with a decimal comma: as text it is masked like a category, and --decimal-comma "
    "reads numbers",
    "day first": "holds dates with the day first: as text it is masked like a category, and --day-first reads dates",
    "month first": "holds dates with the month first: as text it is masked like a category, and --month-first reads "
    "dates",
    "day or month first": "holds dates, and nothing says whether the day or the month comes first: --day-first or "
    "--month-first reads them",
    "short years": "holds dates with years of two digits, which are read as text: write the years in full, or it is "
    "masked like a category",
}


AS_GIVEN, AS_SAID = "as given", "as you said"
"""Why a column has a role that somebody named: an option or a roles file, or an answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """A table looked at: its columns, what was noticed, and the first rows as codes, which stay in memory."""

    profile: Profile
    findings: Findings
    rows: FirstRows

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.profile.columns)

    @property
    def marks(self) -> tuple[str, ...]:
        """Every text that means a missing value in some column."""
        return tuple(sorted({text for mark in self.findings.marks for text in mark.texts}))

    def sentences(self) -> tuple[str, ...]:
        """What was noticed, a sentence each."""
        findings = self.findings
        sentences = [
            f"{mark.column}: {' and '.join(mark.texts)} in {count(mark.rows, 'row')} "
            f"{'mean' if len(mark.texts) > 1 else 'means'} a missing value"
            for mark in findings.marks
        ]
        sentences += [f"{notation.column} {_ADVICE[notation.what]}" for notation in findings.written]
        sentences += [
            f"{person.column}: {person.people:,} of them in {person.rows:,} rows, {person.rows_each:.1f} rows each: a "
            "class of five rows may be fewer people"
            + (f" (rows that share one agree in {' and '.join(person.agree_in)})" if person.agree_in else "")
            for person in findings.people
        ]
        empty = [column.name for column in self.profile.columns if not column.distinct]
        constant = [column.name for column in self.profile.columns if column.distinct == 1 and not column.missing]
        if empty:
            sentences.append(f"no value in any row: {', '.join(empty)}")
        if constant:
            sentences.append(f"the same value in every row: {', '.join(constant)}")
        return tuple(sentences)

    def to_json(self) -> dict[str, Any]:
        return {**self.profile.to_json(), "findings": plain(self.findings), "noticed": list(self.sentences())}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRole:
    """The role that a column looks like having, and why."""

    column: str
    role: Role
    why: str


def look(dataset: Dataset) -> Look:
    """Count the columns of a table in one pass, and look at its first rows."""
    seen = profile(dataset)
    findings, rows = find(dataset, seen)
    return Look(profile=seen, findings=findings, rows=rows)


def likely_label(seen: Look) -> str:
    """The column that looks like being predicted: by role or name, else the last one of two values, of few, the last.

    What people know of each other is taken only where nothing else is left: as the label it would leave as it is.

    Raises LabelError where no column has two values.
    """
    for column in seen.profile.columns:
        if column.role is Role.LABEL:
            return column.name
    for column in seen.profile.columns:
        if column.suggested is Role.LABEL and column.role is None:
            return column.name
    free = [column for column in seen.profile.columns if column.role in (None, Role.SENSITIVE)]
    unknown = [column for column in free if column.suggested not in (Role.QUASI_IDENTIFYING, Role.IDENTIFYING)]
    free = [column for column in unknown if column.distinct >= 2] or free
    for most in (2, 20):
        few = [column.name for column in free if 2 <= column.distinct <= most]
        if few:
            return few[-1]
    varied = [column.name for column in free if column.distinct >= 2]
    if not varied:
        raise LabelError(
            f"no column of {seen.profile.name} has two values, so there is nothing to predict; give a table whose rows "
            "differ"
        )
    return varied[-1]


def label_words(seen: Look, label: str, roles: Roles) -> str | None:
    """What is to be said of a label that looks sensitive and was not named so; None where there is nothing."""
    (column,) = (column for column in seen.profile.columns if column.name == label)
    if column.suggested is not Role.SENSITIVE or label in roles.sensitive:
        return None
    return (
        f"{label} looks sensitive and leaves as it is, because it is the label: no group has to hold several values of "
        f"it, so some may give it away. Name it sensitive too (--sensitive) if it must not be learned about a person"
    )


def person_columns(seen: Look, roles: Roles) -> tuple[str, ...]:
    """The columns that look as if they said whose rows they are, the likeliest first.

    Only identifying ones: a column by which people are counted is never published.
    """
    likeliest = seen.profile.person
    others = (person.column for person in seen.findings.people)
    columns = dict.fromkeys((*((likeliest,) if likeliest is not None else ()), *others))
    return tuple(name for name in columns if name in roles.identifying)


def values_to_tell_apart(dataset: Dataset, seen: Look, roles: Roles, unit: str | None) -> dict[str, int]:
    """How many values of each sensitive column a group could show at most: those of everybody together.

    Where people are counted, somebody with several rows counts for one value, as the models of diversity count.
    """
    distinct = {column.name: column.distinct for column in seen.profile.columns}
    if unit is None or not roles.sensitive or not roles.quasi_identifying:
        return distinct
    everybody = count_classes(dataset, roles.quasi_identifying[:1], contents=roles.sensitive, unit=unit).together()
    return distinct | {
        name: int(DistinctLDiversity(attribute=name, l=2).scores(everybody)[0]) for name in roles.sensitive
    }


def suggest_roles(seen: Look, label: str) -> tuple[SuggestedRole, ...]:
    """A role with its reason for every column but the label, in the table's order.

    What the roles file says stays. A column that tells the label by itself is left out with the identifying ones; one
    that tells a quasi-identifier is quasi-identifying too, because what is masked there could be read here, and so is
    one that a quasi-identifier tells, because whoever knows that one looks for people by both.
    """
    suggested: dict[str, SuggestedRole] = {}
    for column in seen.profile.columns:
        if column.name == label:
            continue
        role, why = (column.suggested, column.why) if column.role is None else (column.role, AS_GIVEN)
        if role is Role.LABEL:
            role, why = Role.INSENSITIVE, "nothing suggests otherwise"
        if not column.distinct:
            role, why = Role.IDENTIFYING, "no value in any row; this role leaves it out"
        suggested[column.name] = SuggestedRole(column=column.name, role=role, why=why)
    with_role = {column.name for column in seen.profile.columns if column.role is not None}
    people = {person.column: person for person in seen.findings.people}
    for name, person in people.items():
        if name in suggested and name not in with_role:
            alike = f", alike in {' and '.join(person.agree_in)}" if person.agree_in else ""
            why = f"names somebody: {person.people:,} values in {person.rows:,} rows{alike}"
            suggested[name] = SuggestedRole(column=name, role=Role.IDENTIFYING, why=why)
    open_columns = [name for name in suggested if name not in with_role]
    for leak in leaks(seen.rows, label, [name for name in open_columns if not _is(suggested, name, Role.IDENTIFYING)]):
        why = f"tells {label} by itself ({100 * leak.right:.1f} % right): a copy, or known only afterwards; left out"
        suggested[leak.column] = SuggestedRole(column=leak.column, role=Role.IDENTIFYING, why=why)
    quasi = [name for name in suggested if _is(suggested, name, Role.QUASI_IDENTIFYING)]
    others = [name for name in open_columns if _is(suggested, name, Role.INSENSITIVE)]
    for dependence in dependent(seen.rows, quasi, others):
        why = f"{dependence.sentence()}; {dependence.other} is quasi-identifying"
        suggested[dependence.column] = SuggestedRole(column=dependence.column, role=Role.QUASI_IDENTIFYING, why=why)
    left = [name for name in others if _is(suggested, name, Role.INSENSITIVE)]
    for dependence in following(seen.rows, quasi, left):
        why = f"{dependence.as_known()}, which is quasi-identifying"
        suggested[dependence.other] = SuggestedRole(column=dependence.other, role=Role.QUASI_IDENTIFYING, why=why)
    if not quasi:
        why = "nothing looks like what people know of each other, so to be safe whatever varies counts"
        for column in seen.profile.columns:
            if column.name in others and column.distinct > 1:
                suggested[column.name] = SuggestedRole(column=column.name, role=Role.QUASI_IDENTIFYING, why=why)
    return tuple(suggested.values())


def with_named(suggested: Sequence[SuggestedRole], named: Mapping[str, Role]) -> tuple[SuggestedRole, ...]:
    """The suggestions, with the roles that somebody named."""
    return tuple(
        SuggestedRole(column=suggestion.column, role=named[suggestion.column], why=AS_GIVEN)
        if suggestion.column in named
        else suggestion
        for suggestion in suggested
    )


def _is(suggested: Mapping[str, SuggestedRole], name: str, role: Role) -> bool:
    return suggested[name].role is role


def roles_of(label: str, suggested: Sequence[SuggestedRole], *, label_is_sensitive: bool = False) -> Roles:
    """Roles from suggestions, confirmed or changed."""

    def of(role: Role) -> tuple[str, ...]:
        return tuple(suggestion.column for suggestion in suggested if suggestion.role is role)

    return Roles(
        label=label,
        identifying=of(Role.IDENTIFYING),
        quasi_identifying=of(Role.QUASI_IDENTIFYING),
        sensitive=of(Role.SENSITIVE) + ((label,) if label_is_sensitive else ()),
        insensitive=of(Role.INSENSITIVE),
    )
