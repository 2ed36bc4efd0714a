"""What a table looks like before anyone decides anything: kinds, distinct values, missing values, suggested roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import DataError
from aegis.inspection.identifying_text import texts_that_identify
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
    ``looks_like`` is what its values look like, where that names people, and ``mask`` what would hide most of it.
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
            # Beyond these bounds every number is whole, and an engine may have no whole number for it.
            held = table[column.name].clip(lower=-(2.0**52), upper=2.0**52)
            measures.append((held != held.floor()).sum().name(f"f{number}"))
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

    def suggested(number: int, *, label: bool) -> tuple[Role, str]:
        column, (distinct, present) = dataset.schema.columns[number], counts[number]
        # Numbers of people that a program once read as reals: 87016831.0.
        whole = column.kind is Kind.REAL and not answer[f"f{number}"][0].as_py()
        return suggest_role(
            column.name,
            Kind.INTEGER if whole else column.kind,
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
                rows_each=several_rows_each(column.name, column.kind, distinct=distinct, present=present),
                looks_like=None if seen is None else seen.what,
                mask=None if seen is None else seen.mask,
            )
        )
    return Profile(name=dataset.name, rows=rows, columns=tuple(columns))
