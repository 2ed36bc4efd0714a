"""Records are checked when they are built, and say what is wrong without showing a value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aegis.candidates.clusters.records import Records, collapse, group_rows
from aegis.errors import AnonymizerError, DataError, RoleError

COLUMNS: dict[str, Any] = {"age": [30, 40, 50], "sex": ["f", "m", "f"], "ill": ["x", "y", "x"]}


def build(columns: dict[str, Any] | None = None, **kwargs: Any) -> Records:
    options: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": ["ill"]} | kwargs
    return Records.from_columns(columns or COLUMNS, **options)


def test_numbers_stay_numbers_and_text_becomes_codes() -> None:
    records = build()
    assert records.numeric_names == ("age",)
    assert records.numeric.tolist() == [[30.0], [40.0], [50.0]]
    assert records.categories[0][records.categorical[:, 0]].tolist() == ["f", "m", "f"]
    assert records.sensitive_levels.tolist() == [2]


def test_decimals_are_numbers() -> None:
    assert build(COLUMNS | {"age": [Decimal("30.5"), Decimal(40), 50]}).numeric.ravel().tolist() == [30.5, 40.0, 50.0]


def test_a_number_may_be_named_categorical() -> None:
    assert build(categorical=["age"]).categorical_names == ("age", "sex")


@pytest.mark.parametrize(
    ("columns", "options", "error", "words"),
    [
        ({"age": ["30", "40", "canary"]}, {}, AnonymizerError, "2 of its 3 cells read as numbers"),
        ({"age": [30.0, np.nan, 50.0]}, {}, AnonymizerError, "misses 1 of 3"),
        ({"age": [30.0, np.inf, 50.0]}, {}, AnonymizerError, "infinite"),
        ({"sex": ["f", None, "m"]}, {}, AnonymizerError, "misses 1 of 3"),
        ({"ill": ["x", None, "canary"]}, {}, AnonymizerError, "misses 1 of 3"),
        ({"sex": np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="M8[D]")}, {}, AnonymizerError, "misses 1 of 3"),
        ({"ill": ["x", "y"]}, {}, DataError, "differ in length"),
        ({}, {"sensitive": ["sex"]}, RoleError, "both a quasi-identifier and sensitive"),
        ({}, {"quasi_identifiers": ["age", "age"]}, RoleError, "twice"),
        ({}, {"quasi_identifiers": ["agee"]}, RoleError, "no column 'agee'"),
        ({}, {"quasi_identifiers": []}, RoleError, "no quasi-identifier"),
        ({"age": [1], "sex": ["f"], "ill": ["x"]}, {}, AnonymizerError, "at least two records"),
    ],
)
def test_bad_input_is_refused_with_the_reason(
    columns: dict[str, Any], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        build(COLUMNS | columns, **options)
    assert "canary" not in str(caught.value)


def test_missing_may_count_as_a_category_but_never_as_a_number() -> None:
    records = build(COLUMNS | {"sex": ["f", None, "m"]}, missing="category")
    assert records.categories[0].tolist() == ["f", "m", None]
    assert records.categorical[:, 0].tolist() == [0, 2, 1]
    with pytest.raises(AnonymizerError, match="misses 1"):
        build(COLUMNS | {"age": [30, None, 50]}, missing="category")


def test_the_repr_shows_no_value() -> None:
    assert "30" not in repr(build())


@given(arrays.arrays(np.int64, st.tuples(st.integers(2, 30), st.integers(1, 3)), elements=st.integers(0, 3)))
def test_collapsing_loses_no_record(matrix: np.ndarray[Any, Any]) -> None:
    records = Records.from_arrays(numeric=matrix[:, :1].astype(float), categorical=matrix[:, 1:])
    tuples = collapse(records)
    assert tuples.weight.sum() == len(matrix)
    assert len(tuples) == len({tuple(row) for row in matrix.tolist()})
    assert (tuples.numeric[tuples.tuple_of] == records.numeric).all()
    assert (tuples.categorical[tuples.tuple_of] == records.categorical).all()


def test_grouping_many_wide_columns_does_not_overflow() -> None:
    columns = [np.arange(2000) * 7 for _ in range(12)]
    assert (group_rows(columns, rows=2000) == np.arange(2000)).all()
