"""What the texts of a table look like: a sample of the distinct values of each column, looked at and forgotten."""

from __future__ import annotations

from collections.abc import Collection

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.identifying_text import LooksLike, looks_like
from aegis.data.kind import Kind

_ROWS = 20_000
_VALUES = 500


def texts_that_identify(dataset: Dataset, columns: Collection[str] | None = None) -> dict[str, LooksLike]:
    """The columns of texts and whole numbers whose values look like something that names people."""
    wanted = [
        column.name
        for column in dataset.schema
        if column.kind in (Kind.TEXT, Kind.INTEGER) and (columns is None or column.name in columns)
    ]
    if not wanted:
        return {}
    first = dataset.table.select(*wanted).limit(_ROWS)
    found = {}
    answer = ask(first.select(**{f"c{place}": first[name].cast("string") for place, name in enumerate(wanted)}))
    for place, name in enumerate(wanted):
        values = answer[f"c{place}"].combine_chunks().unique().drop_null()
        seen = looks_like(values.slice(0, _VALUES).to_pylist())
        if seen is not None:
            found[name] = seen
    return found
