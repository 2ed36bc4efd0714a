"""What a table looks like before anyone decides anything: kinds, distinct values, missing values, suggested roles."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import DataError
from aegis.summaries.answer import ask

# Words that usually name a column of this role; matched on whole words of the column's name.
_WORDS = {
    Role.IDENTIFYING: {
        "id", "ids", "name", "firstname", "lastname", "surname", "email", "mail", "phone", "telephone", "mobile", "ssn",
        "passport", "iban", "account", "address", "street", "ip", "mrn", "patient", "uuid", "guid", "username", "login",
        "license", "licence", "plate",
    },
    Role.QUASI_IDENTIFYING: {
        "age", "birth", "birthdate", "birthday", "dob", "born", "sex", "gender", "race", "ethnicity", "zip", "zipcode",
        "postcode", "postal", "plz", "city", "town", "county", "state", "region", "country", "nationality", "native",
        "marital", "education", "occupation", "job", "profession", "workclass", "employment", "height", "weight",
        "relationship", "household", "religion", "language", "admitted", "admission",
    },
    Role.SENSITIVE: {
        "diagnosis", "disease", "icd", "condition", "medication", "treatment", "hiv", "salary", "income", "wage",
        "debt", "balance", "credit", "crime", "conviction", "sexual", "political", "union", "test", "result",
    },
    Role.LABEL: {"label", "target", "class", "outcome", "y", "status"},
}  # fmt: skip
_FEW_CLASSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """One column: how many distinct values and missing ones, its role, or the role it looks like having."""

    name: str
    kind: Kind
    distinct: int
    missing: int
    role: Role | None
    suggested: Role
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A table, column by column. Suggestions are for a person to confirm; nothing acts on them."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]


def profile(dataset: Dataset) -> Profile:
    """Count rows, distinct and missing values in one pass and suggest roles."""
    table = dataset.table
    measures = [table.count().name("rows")]
    for number, column in enumerate(dataset.schema):
        measures.append(table[column.name].nunique().name(f"d{number}"))
        measures.append(table[column.name].count().name(f"n{number}"))
    answer = ask(table.aggregate(measures))
    rows = int(answer["rows"][0].as_py())
    if rows == 0:
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    columns = []
    for number, column in enumerate(dataset.schema):
        distinct = int(answer[f"d{number}"][0].as_py())
        missing = rows - int(answer[f"n{number}"][0].as_py())
        suggested, why = suggest_role(
            column.name,
            column.kind,
            distinct=distinct,
            present=rows - missing,
            last=number == len(dataset.schema.columns) - 1,
        )
        columns.append(
            ColumnProfile(
                name=column.name,
                kind=column.kind,
                distinct=distinct,
                missing=missing,
                role=dataset.roles.get(column.name),
                suggested=suggested,
                why=why,
            )
        )
    return Profile(name=dataset.name, rows=rows, columns=tuple(columns))


def suggest_role(name: str, kind: Kind, *, distinct: int, present: int, last: bool) -> tuple[Role, str]:
    """The role a column looks like having, and what it was judged by.

    >>> suggest_role("Patient ID", Kind.TEXT, distinct=900, present=900, last=False)[0].value
    'identifying'
    >>> suggest_role("age", Kind.INTEGER, distinct=70, present=900, last=False)[0].value
    'quasi_identifying'
    >>> suggest_role("outcome", Kind.INTEGER, distinct=2, present=900, last=True)[0].value
    'label'
    """
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))}
    unique = present > 20 and distinct >= 0.98 * present
    if unique and kind is not Kind.REAL:
        return Role.IDENTIFYING, "a value of its own in nearly every row"
    classes = 2 <= distinct <= _FEW_CLASSES
    if classes and (last or words & _WORDS[Role.LABEL]):
        return Role.LABEL, "few classes" + (", last column" if last else ", by its name")
    for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE):
        if words & _WORDS[role]:
            return role, "by its name"
    if words & _WORDS[Role.IDENTIFYING] and distinct > 0.2 * present:
        return Role.IDENTIFYING, "by its name, and many distinct values"
    if distinct <= 1:
        return Role.INSENSITIVE, "constant"
    return Role.INSENSITIVE, "nothing suggests otherwise"
