"""How many rows stand alone by some columns: what somebody finds who knows those of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset

_MANY = 0.02
"""A column is counted by itself where it has as many values for each row: few values leave hardly a row alone."""


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
