"""Cells: what an engine computes is what numpy computes, and what is counted is what is there."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.counts.cells import Cells, Decimals, Grid, Listed, Magnitudes, Steps, number_from
from aegis.counts.marginals import CodedColumn, CodesCounter, TableCounter, bounded
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind

NUMBERS = [-5e9, -3.5, -1.0, -0.25, 0.0, 1e-12, 0.5, 1.0, 2.0, 2.25, 7.125, 1023.0, 1024.0, 1e12]
WHOLE = [-4097, -2, 0, 1, 2, 3, 31, 32, 1_000_000]
HUGE = [-1.7e308, -1e19, 9.3e12, 1e13, 1234567890123.5, 2.0**53 + 2, 2.0**63, 1e19, 1.7e308]
HUGE_WHOLE = [-(2**63), 2**53 + 2, 2**63 - 1]
"""Numbers that an engine cannot round to one of its whole numbers, alone or times a million."""
DATES = [date(1969, 12, 31), date(1970, 1, 1), date(1970, 1, 2), date(2024, 2, 29)]
FAR_DATES = [-2_147_483_646, -200_000_000, 0, 1, 120_000_000, 2_147_483_646]
"""Days since 1970, most of them so far away that an engine has no time for them."""
TIMES = [datetime(1969, 12, 31, 23, 59, 58), datetime(1970, 1, 1), datetime(2024, 2, 29, 12, 30, 15)]
FACES: list[tuple[Cells, Kind, list[Any]]] = [
    (Magnitudes(), Kind.REAL, NUMBERS),
    (Magnitudes(), Kind.INTEGER, WHOLE),
    (Magnitudes(), Kind.DATE, DATES),
    (Magnitudes(), Kind.TIMESTAMP, TIMES),
    (Grid(low=-4.0, width=0.5, cells=16), Kind.REAL, NUMBERS),
    (Grid(low=0.0, width=10.0, cells=6), Kind.INTEGER, WHOLE),
    (Grid(low=-10.0, width=5.0, cells=40), Kind.DATE, DATES),
    (Steps(starts=(-2.0, 0.0, 2.0, 1000.0)), Kind.REAL, NUMBERS),
    (Steps(starts=(0.0, 18_000.0)), Kind.DATE, DATES),
    (Decimals(), Kind.REAL, NUMBERS),
    (Magnitudes(), Kind.REAL, HUGE),
    (Magnitudes(), Kind.INTEGER, HUGE_WHOLE),
    (Grid(low=-4.0, width=0.5, cells=16), Kind.REAL, HUGE),
    (Grid(low=0.0, width=1.0, cells=6), Kind.INTEGER, HUGE_WHOLE),
    (Steps(starts=(0.0, 1e14)), Kind.REAL, HUGE),
    (Steps(starts=(0.0, 2.0)), Kind.INTEGER, HUGE_WHOLE),
    (Decimals(), Kind.REAL, HUGE),
    (Magnitudes(), Kind.DATE, FAR_DATES),
    (Grid(low=-10.0, width=5.0, cells=40), Kind.DATE, FAR_DATES),
    (Listed(values=("a", "ü")), Kind.TEXT, ["a", "b", "ü", ""]),
    (Listed(values=()), Kind.TEXT, ["a", "b"]),
    (Listed(values=(False, True)), Kind.BOOLEAN, [True, False]),
    (Listed(values=(2, 32)), Kind.INTEGER, WHOLE),
]
TYPES = {
    Kind.REAL: pa.float64(),
    Kind.INTEGER: pa.int64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
}


@pytest.mark.parametrize(("cells", "kind", "values"), FACES, ids=lambda part: type(part).__name__)
def test_both_faces_of_a_rule_agree(cells: Cells, kind: Kind, values: list[Any]) -> None:
    table = pa.table({"a": pa.array([*values, None], type=TYPES[kind])})
    column = CodedColumn(name="a", kind=kind, cells=cells)
    by_engine = TableCounter(open_dataset(table).table).count([column])
    domain = Domain.of(kind, np.array(values, dtype=kind.dtype), missing=True)
    codes = np.append(domain.codes(np.array(values, dtype=kind.dtype)), len(domain.values))
    by_codes = CodesCounter({"a": (domain, codes)}).count([column])
    assert by_engine.tolist() == by_codes.tolist()
    assert by_engine[-1] == 1, "a missing value has the last code"
    assert by_engine.sum() == len(values) + 1


def test_magnitudes_lie_within_their_bounds() -> None:
    sizes = Magnitudes()
    for code, number in zip(sizes.codes(np.array(NUMBERS), Kind.REAL).tolist(), NUMBERS, strict=True):
        low, high = sizes.bounds(code, code)
        assert low <= number <= high


def test_prepared_counts_are_those_of_the_table() -> None:
    table = pa.table({"a": [1, 1, 2, None], "b": ["x", "y", "x", "x"]})
    counter = TableCounter(open_dataset(table).table)
    columns = [
        CodedColumn(name="a", kind=Kind.INTEGER, cells=Steps(starts=(0.0, 2.0))),
        CodedColumn(name="b", kind=Kind.TEXT, cells=Listed(values=("x",))),
    ]
    prepared: Any = counter.prepared(columns)
    assert prepared.count(columns).tolist() == counter.count(columns).tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert prepared.count(columns[1:]).tolist() == [3, 1, 0]
    assert {str(kind) for kind in prepared._table.schema().types} == {"int16"}  # of many rows, memory is what is short


def test_frequent_values_are_those_of_enough_records_and_never_missing() -> None:
    table = pa.table({"a": ["x"] * 5 + ["y"] * 4 + [None] * 9})
    found = TableCounter(open_dataset(table).table).frequent("a", Kind.TEXT, at_least=5)
    assert found.values == ("x",)
    assert found.counts.tolist() == [5]


def test_a_person_counts_with_so_many_rows_and_no_more() -> None:
    table = pa.table({"who": ["a"] * 7 + ["b"] * 2 + [None] * 5, "v": list(range(14))})
    rows = bounded(open_dataset(table), "who", rows_each=3).to_pyarrow()
    assert sorted(rows.column_names) == ["v", "who"]
    assert sorted(map(str, rows["who"].to_pylist())) == ["None"] * 3 + ["a"] * 3 + ["b"] * 2


@pytest.mark.parametrize("wrong", [("x", Kind.DATE), (True, Kind.INTEGER), ("3", Kind.REAL), (3, Kind.DATE)])
def test_what_is_no_number_is_no_number(wrong: tuple[Any, Kind]) -> None:
    with pytest.raises(ValueError, match=r"not a|Invalid isoformat"):
        number_from(*wrong)
