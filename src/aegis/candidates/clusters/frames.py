"""Data frames as anonymizers take them: every column is a quasi-identifier, as scikit-learn gives X."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError

UNSEEN = -1
"""The code of a category that was not among the fitted ones: it is as far from each of them as any other."""


def columns_by_name(table: Any) -> dict[str, list[Any]]:
    """The columns of a DataFrame, a mapping or a two-dimensional array, whose columns are numbered."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(values, dtype=object).tolist() for name, values in table.items()}
    if hasattr(table, "columns"):
        return {str(name): table[name].tolist() for name in table.columns}
    rows = np.asarray(table, dtype=object)
    if rows.ndim != 2:
        raise AnonymizerError("a table has rows and columns; give a DataFrame, a mapping or a two-dimensional array")
    return {f"x{at}": rows[:, at].tolist() for at in range(rows.shape[1])}


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
