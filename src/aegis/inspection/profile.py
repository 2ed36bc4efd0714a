"""What a table looks like before anyone decides anything: kinds, distinct values, missing values, suggested roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import DataError
from aegis.inspection.identifying_text import texts_that_identify
from aegis.inspection.same_people import may_say_whose, same_people, same_people_words
from aegis.inspection.suggested_role import (
    EARLIER,
    OUTCOMES,
    PEOPLE,
    SURE_LABELS,
    is_longitude,
    several_rows_each,
    suggest_role,
    words_of,
)
from aegis.result import Result, plain

_LABELLED = 0.8
"""A column that fewer rows have a value of is not the first to be predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """One column: how many distinct values and missing ones, its role, or the role it looks like having.

    ``rows_each`` is how many rows somebody has on average, where the column looks as if it said whose they are;
    ``looks_like`` is what its values look like, where that names people, and ``mask`` what would hide most of it;
    ``same_as`` is an identifying column that its values tell, where nothing else says that it identifies.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    role: Role | None
    suggested: Role
    why: str
    rows_each: float | None = None
    looks_like: str | None = None
    mask: str | None = None
    same_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Result):
    """A table, column by column. Suggestions are for a person to confirm; nothing acts on them."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]

    @property
    def person(self) -> str | None:
        """The column that most looks as if it said whose the rows are, where several belong to one person."""
        candidates = [column for column in self.columns if column.rows_each is not None]
        candidates.sort(key=lambda column: (bool(words_of(column.name) & PEOPLE), column.distinct))
        return candidates[-1].name if candidates else None

    @property
    def headline(self) -> str:
        return f"{self.name}: {self.rows:,} rows, {len(self.columns)} columns"

    def table_rows(self) -> list[dict[str, Any]]:
        return [
            {"suggested_role" if name == "suggested" else name: value for name, value in plain(column).items()}
            for column in self.columns
        ]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis inspect --json`` prints."""
        return {"name": self.name, "rows": self.rows, "columns": self.table_rows()}

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        columns = [{**column, "suggested": column["suggested_role"]} for column in content["columns"]]
        return {**content, "columns": columns}


def profile(dataset: Dataset) -> Profile:
    """Count rows, distinct and missing values in one pass and suggest roles."""
    table = dataset.table
    measures = [table.count().name("rows")]
    for number, column in enumerate(dataset.schema):
        measures.append(table[column.name].nunique().name(f"d{number}"))
        measures.append(table[column.name].count().name(f"n{number}"))
        if column.kind is Kind.REAL:
            measures.append(fractions(table[column.name]).name(f"f{number}"))
    answer = ask(table.aggregate(measures))
    rows = int(answer["rows"][0].as_py())
    if rows == 0:
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    last = len(dataset.schema.columns) - 1
    counts = [
        (int(answer[f"d{number}"][0].as_py()), int(answer[f"n{number}"][0].as_py())) for number in range(last + 1)
    ]

    texts = texts_that_identify(dataset)
    words = [words_of(column.name) for column in dataset.schema.columns]

    def kind(number: int) -> Kind:
        column = dataset.schema.columns[number]
        # Numbers of people that a program once read as reals: 87016831.0.
        whole = column.kind is Kind.REAL and not answer[f"f{number}"][0].as_py()
        return Kind.INTEGER if whole else column.kind

    def suggested(number: int, *, label: bool) -> tuple[Role, str]:
        column, (distinct, present) = dataset.schema.columns[number], counts[number]
        return suggest_role(
            column.name,
            kind(number),
            distinct=distinct,
            present=present,
            last=number == last,
            label=label,
            looks_like=texts[column.name].what if column.name in texts else None,
            longitude=is_longitude(words[number], words),
        )

    def likeliest(number: int) -> tuple[bool, bool, bool, int]:
        """The name says it, or says what became of somebody; most rows have a value; the last column of those."""
        mostly_there = counts[number][1] >= _LABELLED * rows
        became = bool(words[number] & OUTCOMES) and not words[number] & EARLIER
        return bool(words[number] & SURE_LABELS), became, mostly_there, number

    # One column at most: what else looks like a label is more likely something about a person.
    labels = [number for number in range(last + 1) if suggested(number, label=True)[0] is Role.LABEL]
    labels.sort(key=likeliest)
    columns = []
    for number, column in enumerate(dataset.schema):
        role, why = suggested(number, label=number in labels[-1:])
        distinct, present = counts[number]
        seen = texts.get(column.name)
        columns.append(
            ColumnProfile(
                name=column.name,
                kind=column.kind,
                distinct=distinct,
                missing=rows - present,
                role=dataset.roles.get(column.name),
                suggested=role,
                why=why,
                rows_each=several_rows_each(column.name, kind(number), distinct=distinct, present=present),
                looks_like=None if seen is None else seen.what,
                mask=None if seen is None else seen.mask,
            )
        )
    kinds = [kind(number) for number in range(last + 1)]
    return Profile(name=dataset.name, rows=rows, columns=_with_same_people(dataset, columns, kinds))


def fractions(numbers: Any) -> Any:
    """How many of a column's real numbers are not whole, as an expression of the engine."""
    # Beyond these bounds every number is whole, and an engine may have no whole number for it.
    held = numbers.clip(lower=-(2.0**52), upper=2.0**52)
    return (held != held.floor()).sum()


def _with_same_people(
    dataset: Dataset, columns: Sequence[ColumnProfile], kinds: Sequence[Kind]
) -> tuple[ColumnProfile, ...]:
    """The columns, where those that nothing else suggests anything of identify if they tell an identifying one."""
    known = [column.name for column in columns if (column.role or column.suggested) is Role.IDENTIFYING]
    others = [
        column.name
        for column, kind in zip(columns, kinds, strict=True)
        if column.role is None and column.suggested is Role.INSENSITIVE and may_say_whose(kind, column.distinct)
    ]
    told = same_people(dataset, known, others)
    return tuple(
        replace(column, suggested=Role.IDENTIFYING, why=same_people_words(by), same_as=by)
        if (by := told.get(column.name)) is not None
        else column
        for column in columns
    )
