"""Rows to equivalence classes: one GROUP BY over the quasi-identifiers and what is to be known of each class.

`rows_alone` asks for less: only how many rows are a class by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ibis
import numpy as np
import pyarrow as pa

from aegis.arrays import Codes
from aegis.counts.answer import ask, encode, plain
from aegis.counts.class_table import ClassTable, width_of
from aegis.counts.grouping import appended
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.errors import DataError, RoleError
from aegis.masking.masks.suppress import STAR

_COUNT = "_aegis_count"
PERSON = "_aegis_ledger_person"
"""A copy of the column that says whose records they are, which stays when that column is masked; never written."""
_MANY = 0.02
"""A column is counted by itself where it has as many values for each row: few values leave hardly a row alone."""


def with_person(dataset: Dataset, unit: str | None) -> Dataset:
    """The dataset with a copy of the column that says whose records they are, where people are counted.

    A table that was made of others' rows has the copy already, of those.
    """
    if unit is None or PERSON in dataset.table.columns:
        return dataset
    dataset.schema.kind(unit)  # says which columns there are if it is not one of them
    return dataset.with_table(dataset.table.mutate(**{PERSON: dataset.table[unit]}))


def count_classes(
    dataset: Dataset,
    columns: Sequence[str],
    *,
    contents: Sequence[str] = (),
    released: bool = False,
    unit: str | None = None,
) -> ClassTable:
    """Count the distinct tuples of ``columns``, with the values of each of ``contents`` in them.

    ``unit`` names the column that says whose records they are; the table then knows who is in which class.

    ``released`` says that the table was written by a release: records with ``*`` in every quasi-identifier are its
    suppressed ones and form one class.
    """
    if not columns:
        raise RoleError("no column is quasi-identifying; name some in the roles or the policy")
    for name in (*columns, *contents):
        dataset.schema.kind(name)  # says which columns there are if it is not one of them
    names = list(dict.fromkeys((*columns, *contents)))
    person = None
    if unit is not None:
        person = PERSON if PERSON in dataset.table.columns else unit
        names = list(dict.fromkeys((*names, person)))
    answer = ask(dataset.table.group_by(names).aggregate(**{_COUNT: ibis._.count()}))
    if not len(answer):
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    counts = np.asarray(plain(answer[_COUNT]), dtype=np.int64)
    held_values = {name: encode(answer[name], dataset.schema.kind(name)) for name in contents}
    persons = None if unit is None or person is None else (unit, codes_of_people(answer[person], unit))
    if (
        not released
        and persons is None
        and (packed := _packed(answer, [(name, dataset.schema.kind(name)) for name in columns]))
    ):
        domains, keys = packed
        table = ClassTable.from_keys(columns=columns, domains=domains, keys=keys, counts=counts, contents=held_values)
        if table is not None:
            return table
    encoded = {name: held_values.get(name) or encode(answer[name], dataset.schema.kind(name)) for name in columns}
    codes = np.stack([encoded[name][1] for name in columns], axis=1)
    suppressed = None
    if released and all(dataset.schema.kind(name) is Kind.TEXT for name in columns):
        starred = [_code_of_star(encoded[name][0].values) for name in columns]
        suppressed = (codes == np.array(starred)).all(axis=1)
        # Tuples that are all stars because every column is suppressed are one ordinary class.
        if all(encoded[name][0].size == 1 for name in columns):
            suppressed = None
    return ClassTable.from_codes(
        columns=tuple(columns),
        domains=[encoded[name][0] for name in columns],
        codes=codes,
        counts=counts,
        contents=held_values,
        suppressed=suppressed,
        encoded=True,
        persons=persons,
    )


def codes_of_people(column: pa.ChunkedArray, unit: str) -> Codes:
    """A number for each person; which one it is says nothing."""
    if column.null_count:
        raise DataError(
            f"column {unit!r} is empty in some records, so nobody can say whose they are; fill it, or leave them out"
        )
    return np.asarray(column.combine_chunks().dictionary_encode().indices, dtype=np.int64)


def _packed(answer: pa.Table, columns: Sequence[tuple[str, Kind]]) -> tuple[list[Domain], Codes] | None:
    """The domains, and the tuples as one number each; None where they do not fit into one.

    One buffer serves all columns: fresh memory for a million tuples costs as much as coding them.
    """
    domains: list[Domain] = []
    keys, buffer = np.zeros(len(answer), dtype=np.int64), np.empty(len(answer), dtype=np.int64)
    for name, kind in columns:
        domain, codes = encode(answer[name], kind, out=buffer)
        domains.append(domain)
        if sum(map(width_of, domains)) > 63:
            return None
        appended(keys, [(codes, width_of(domain))])
    return domains, keys


def _code_of_star(values: Values) -> int:
    stars = np.flatnonzero(values == STAR)
    return int(stars[0]) if len(stars) else -2


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAlone:
    """Of ``rows``, those that no other row equals in all columns together, and in single columns of many values."""

    rows: int
    together: int
    by_column: Mapping[str, int] = field(default_factory=dict)


def rows_alone(dataset: Dataset, columns: Sequence[str]) -> RowsAlone:
    """Count rows that stand alone; a missing value is a value like any other."""
    if not columns:
        return RowsAlone(rows=0, together=0)
    table = dataset.table
    values = [table[name].nunique().name(f"d{number}") for number, name in enumerate(columns)]
    distinct = ask(table.aggregate([table.count().name("rows"), *values]))
    rows = int(distinct["rows"][0].as_py())
    many = [name for number, name in enumerate(columns) if distinct[f"d{number}"][0].as_py() >= _MANY * rows]
    by_column = {} if len(columns) == 1 else {name: _alone(dataset, [name]) for name in many}
    return RowsAlone(rows=rows, together=_alone(dataset, columns), by_column=by_column)


def _alone(dataset: Dataset, columns: Sequence[str]) -> int:
    groups = dataset.table.group_by(list(columns)).aggregate(size=lambda table: table.count())
    answer = ask(groups.filter(groups["size"] == 1).aggregate(alone=lambda table: table.count()))
    return int(answer["alone"][0].as_py())
