"""Data frames as anonymizers take and give them: every column is a quasi-identifier, as scikit-learn gives X."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError

UNSEEN = -1
"""The code of a category that was not among the fitted ones: it is as far from each of them as any other."""


def columns_by_name(table: Any) -> dict[str, list[Any]]:
    """The columns of a data frame, an Arrow table, a mapping or a two-dimensional array, whose columns are numbered."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(values, dtype=object).tolist() for name, values in table.items()}
    if hasattr(table, "column_names"):
        return {str(name): table[name].to_pylist() for name in table.column_names}
    if hasattr(table, "columns"):
        return {str(name): table[name].to_list() for name in table.columns}
    rows = np.asarray(table, dtype=object)
    if rows.ndim != 2:
        raise AnonymizerError("a table has rows and columns; give a DataFrame, a mapping or a two-dimensional array")
    return {f"x{at}": rows[:, at].tolist() for at in range(rows.shape[1])}


def in_kind_of(table: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Published columns as the kind of table that was given: pandas with its index, Polars or Arrow, or a mapping."""
    package, kind = type(table).__module__.partition(".")[0], type(table)
    if package == "pandas":
        frame = kind(dict(columns), index=table.index)
        frame.columns = table.columns
        return frame
    values_by_name = {name: values.tolist() for name, values in columns.items()}
    if package == "polars":
        return kind(values_by_name)
    if package == "pyarrow":
        return kind.from_pydict(values_by_name)
    return dict(columns)


def records_of(table: Any) -> Records:
    """The rows of a table whose columns are all quasi-identifiers; a missing category is one more."""
    columns = columns_by_name(table)
    return Records.from_columns(columns, quasi_identifiers=tuple(columns), missing="category")


def records_like(table: Any, fitted: Records) -> Records:
    """Other rows of the same columns, coded as the fitted ones are."""
    columns = columns_by_name(table)
    if tuple(columns) != fitted.quasi_identifiers:
        raise AnonymizerError("these rows have other columns than the fitted ones; give the same in that order")
    fresh = Records.from_columns(
        columns,
        quasi_identifiers=fitted.quasi_identifiers,
        categorical=fitted.categorical_names,
        missing="category",
    )
    if fresh.numeric_names != fitted.numeric_names:
        raise AnonymizerError("a column of numbers holds something else in these rows; give the same kind of values")
    coded = np.empty_like(fresh.categorical)
    for at, (own, known) in enumerate(zip(fresh.categories, fitted.categories, strict=True)):
        place = {value: code for code, value in enumerate(known.tolist())}
        recoded = np.array([place.get(value, UNSEEN) for value in own.tolist()], dtype=np.int64)
        coded[:, at] = recoded[fresh.categorical[:, at]]
    return Records(
        numeric=fresh.numeric,
        categorical=coded,
        sensitive=fresh.sensitive,
        numeric_names=fitted.numeric_names,
        categorical_names=fitted.categorical_names,
        sensitive_names=(),
        categories=fitted.categories,
        quasi_identifiers=fitted.quasi_identifiers,
    )
