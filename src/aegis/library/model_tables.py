"""A table, and what an anonymizer makes of it, as models see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aegis.counts.answer import encode
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError, LabelError
from aegis.evaluation.model_table import ModelTable

MOST_LABELS = 20
_ARROW = {Kind.DATE: pa.date32(), Kind.TIMESTAMP: pa.timestamp("us")}
_TOO_MANY_TEXTS = 0.5  # distinct texts per record from which a column names records instead of describing them


def model_table(
    name: str, table: pa.Table, dataset: Dataset, *, leave: Sequence[str], keep: Sequence[str]
) -> tuple[ModelTable, tuple[str, ...]]:
    """Every column but some as codes, without texts that name records instead of describing them."""
    domains, codes, skipped = {}, {}, []
    for column in dataset.schema.names:
        if column in leave:
            continue
        domain, coded = encode(table[column], dataset.schema.kind(column))
        if (
            domain.kind is Kind.TEXT
            and len(domain.values) > max(40, _TOO_MANY_TEXTS * len(coded))
            and column not in keep
        ):
            skipped.append(column)
            continue
        domains[column], codes[column] = domain, coded
    return ModelTable(name=name, domains=domains, codes=codes), tuple(skipped)


def with_published(original: ModelTable, method: str, columns: pa.Table, *, raw: pa.Table | None) -> ModelTable:
    """The original with its quasi-identifiers as an anonymizer publishes them; test rows as in ``raw``, if given."""
    domains, codes, tested = dict(original.domains), dict(original.codes), {}
    for name in columns.column_names:
        kind, column = original.domains[name].kind, columns[name]
        if pa.types.is_string(column.type) and kind in _ARROW and _are_dates(column):  # clustered as categories
            column = column.cast(_ARROW[kind])
        elif pa.types.is_string(column.type):
            kind = Kind.TEXT
        elif kind.is_number and pa.types.is_floating(column.type):  # means of whole numbers
            kind = Kind.REAL
        if raw is None:
            domains[name], codes[name] = encode(column, kind)
            continue
        both = [part.combine_chunks().cast(column.type) for part in (column, raw[name])]
        domains[name], coded = encode(pa.chunked_array(both), kind)
        codes[name], tested[name] = coded[: len(column)], coded[len(column) :]
    return replace(original, name=method, domains=domains, codes=codes, tested=tested)


def _are_dates(column: pa.ChunkedArray) -> bool:
    """Whether texts are single dates or times, not ranges of them."""
    return bool(pc.all(pc.match_substring_regex(column, r"^\d{4}-\d\d-\d\d")).as_py())


def label_codes(table: pa.Table, label: str, dataset: Dataset) -> tuple[Domain, np.ndarray[Any, np.dtype[np.int64]]]:
    """The label as codes of its domain; a missing label, or too many different ones, are refused."""
    domain, codes = encode(table[label], dataset.schema.kind(label))
    if not len(codes):
        raise DataError("the table has no rows")
    if domain.missing:
        absent = int((codes == len(domain.values)).sum())
        raise LabelError(f"label {label!r} misses {absent} of {len(codes)} values: leave those records out first")
    if len(domain.values) > MOST_LABELS:
        raise LabelError(
            f"label {label!r} has {len(domain.values)} values and these models tell at most {MOST_LABELS} apart: "
            "name a label of few classes"
        )
    return domain, codes
