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
    identifying = {}
    for name in wanted:
        # distinct values in an order of their own: few cells leave an engine, and the same ones each time
        texts = first.select(text=first[name].cast("string")).distinct().order_by("text").limit(_VALUES)
        seen = looks_like(ask(texts)["text"].drop_null().to_pylist())
        if seen is not None:
            identifying[name] = seen
    return identifying
