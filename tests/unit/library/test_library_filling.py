"""Missing values where every cell needs one: a category, or the median, and always said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import aegis
from aegis.library.tables.records import MISSING, filled_columns, filled_table


def test_numbers_stand_at_the_median_and_other_kinds_stay_as_they_are() -> None:
    table = pa.table({"age": [20, None, 31, 40], "weight": [1.5, 2.5, None, 9.0], "sex": ["f", None, "m", "f"]})
    full, filled = filled_table(table, ("age", "weight", "sex"))
    assert full["age"].to_pylist() == [20, 31, 31, 40]
    assert full["weight"].to_pylist() == [1.5, 2.5, 2.5, 9.0]
    assert full["sex"].to_pylist() == ["f", None, "m", "f"]
    assert [(each.name, each.values) for each in filled] == [("age", 1), ("weight", 1)]
    assert (
        filled[0].sentence()
        == "age: 1 missing values stand at the median of the others (an infinite number counts as missing)"
    )


def test_missing_texts_are_a_category_and_empty_columns_stay_empty() -> None:
    texts = np.array(["a", None, "b"], dtype=object)
    columns = {
        "text": texts,
        "number": np.array([1.0, np.nan, 5.0]),
        "whole": np.array([1, 2, 3]),
        "nothing": np.array([None, None, None], dtype=object),
    }
    full, filled = filled_columns(columns)
    assert full["text"].tolist() == ["a", MISSING, "b"]
    assert full["number"].tolist() == [1.0, 3.0, 5.0]
    assert full["nothing"].tolist() == [None, None, None]
    assert texts.tolist() == ["a", None, "b"], "what was given stays as it was"
    assert [each.name for each in filled] == ["text", "number"]


def test_an_anonymized_table_names_what_was_filled() -> None:
    ages = [None, *range(20, 60)]
    table = pa.table({"age": ages, "sex": ["f", "m"] * 20 + ["f"]})
    done = aegis.anonymize(table, k=3, method="mdav", quasi=["age", "sex"])
    assert [each.name for each in done.filled] == ["age"]
    assert done.table is not None
    assert done.table["age"].null_count == 0
    assert type(done).from_json(done.to_json()).filled == done.filled
    assert aegis.anonymize(table.slice(1), k=3, method="mdav", quasi=["age", "sex"]).filled == ()
