"""Numbers with a decimal comma and dates with the day or the month first, in columns that somebody names."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import read_roles
from aegis.errors import AegisError, DataError, RoleError

PRICES = ["1.234,5", "0,25", "-7", "+12,0", "1.234.567", " 3,5 "]
NUMBERS = [1234.5, 0.25, -7.0, 12.0, 1234567.0, 3.5]


def _csv(path: Path, **columns: list[str]) -> Path:
    lines = [";".join(columns), *(";".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _column(source: Any, name: str, **reading: Any) -> list[Any]:
    values: list[Any] = open_dataset(source, **reading).table[name].to_pyarrow().to_pylist()
    return values


def test_numbers_with_a_decimal_comma_are_read_where_somebody_says_so(tmp_path: Path) -> None:
    data = _csv(tmp_path / "shop.csv", price=PRICES, city=list("abcdef"))
    assert open_dataset(data).schema.kind("price") is Kind.TEXT
    assert open_dataset(data, decimal_comma=("price",)).schema.kind("price") is Kind.REAL
    assert _column(data, "price", decimal_comma=("price",)) == NUMBERS


def test_a_point_is_no_decimal_point_in_such_a_column(tmp_path: Path) -> None:
    data = _csv(tmp_path / "shop.csv", price=["1.234", "5.678"], city=["a", "b"])
    assert _column(data, "price", decimal_comma=("price",)) == [1234.0, 5678.0]
    whole = _csv(tmp_path / "tomorrow.csv", price=["12", "13"], city=["a", "b"])
    assert _column(whole, "price", decimal_comma=("price",)) == [12.0, 13.0], "tomorrow nothing may be broken"


def test_dates_are_read_with_the_day_or_the_month_first(tmp_path: Path) -> None:
    data = _csv(tmp_path / "shop.csv", born=["31.12.1980", "1/2/1990"], seen=["12/31/2024", "03-04-2024"])
    reading: dict[str, Any] = {"day_first": ("born",), "month_first": ("seen",)}
    assert _column(data, "born", **reading) == [datetime.date(1980, 12, 31), datetime.date(1990, 2, 1)]
    assert _column(data, "seen", **reading) == [datetime.date(2024, 12, 31), datetime.date(2024, 3, 4)]
    assert open_dataset(data, **reading).schema.kind("born") is Kind.DATE


@pytest.mark.parametrize("kind", ["parquet", "frame"])
def test_frames_and_parquet_are_read_so_too(tmp_path: Path, kind: str) -> None:
    table = pa.table({"price": PRICES, "city": list("abcdef")})
    pyarrow.parquet.write_table(table, tmp_path / "shop.parquet")
    source = table if kind == "frame" else tmp_path / "shop.parquet"
    assert _column(source, "price", decimal_comma=("price",)) == NUMBERS


def test_marks_of_missing_values_are_gaps_and_nothing_else_is(tmp_path: Path) -> None:
    data = _csv(tmp_path / "shop.csv", price=["1,5", "?", "", "2,5"], city=list("abcd"))
    assert _column(data, "price", decimal_comma=("price",), missing=("?",)) == [1.5, None, None, 2.5]
    with pytest.raises(
        DataError, match=r"in 1 row of shop the value of 'price' is none of numbers written 1\.234,5; repair it"
    ):
        open_dataset(data, decimal_comma=("price",))


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        ({"day_first": ("nobody",)}, "shop has no column 'nobody'"),
        ({"day_first": ("born",), "month_first": ("born",)}, "'born' is said to be written in two ways"),
        ({"month_first": ("born",)}, "in 1 row of shop the value of 'born' is none of dates written 12/31/2024"),
        ({"day_first": ("short",)}, "in 2 rows of shop the value of 'short'"),
        ({"day_first": ("never",)}, "in 1 row of shop the value of 'never'"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, reading: dict[str, Any], sentence: str) -> None:
    data = _csv(
        tmp_path / "shop.csv",
        born=["31.12.1980", "01.02.1990"],
        short=["1.2.80", "2.3.81"],
        never=["30.02.2020", "1.1.2020"],
    )
    with pytest.raises(AegisError) as caught:
        open_dataset(data, **reading)
    assert sentence in str(caught.value)
    assert "1980" not in str(caught.value)


def test_a_column_that_is_no_text_needs_no_notation() -> None:
    with pytest.raises(DataError, match="'age' is read as int64 without help; leave it out of --day-first"):
        open_dataset(pa.table({"age": [1, 2]}), day_first=("age",))


def test_a_release_is_not_read_as_its_source_is_written(tmp_path: Path) -> None:
    (tmp_path / "shop.roles.yaml").write_text("day_first: [born]\n", encoding="utf-8")
    released = _csv(tmp_path / "shop.released.csv", born=["[1980, 1990)", "*"], city=["a", "b"])
    assert _column(released, "born") == ["[1980, 1990)", "*"]
    packed = tmp_path / "shop.csv.gz"
    packed.write_bytes(gzip.compress(b"born;city\n31.12.1980;a\n01.02.1990;b\n"))
    assert open_dataset(packed).schema.kind("born") is Kind.DATE
    plain = _csv(tmp_path / "shop.csv", born=["31.12.1980", "01.02.1990"], city=["a", "b"])
    assert open_dataset(plain, as_text=True).schema.kind("born") is Kind.TEXT


def test_a_roles_file_says_how_columns_are_written(tmp_path: Path) -> None:
    data = _csv(tmp_path / "shop.csv", price=["1,5", "2,5"], born=["31.12.1980", "01.02.1990"])
    roles = tmp_path / "shop.roles.yaml"
    roles.write_text("decimal_comma: [price]\nday_first: born\n", encoding="utf-8")
    assert read_roles(roles).notation.day_first == ("born",)
    schema = open_dataset(data).schema
    assert (schema.kind("price"), schema.kind("born")) == (Kind.REAL, Kind.DATE)
    with pytest.raises(DataError, match="none of dates written 12/31/2024"):
        open_dataset(data, month_first=("born",))
    roles.write_text("day_first: {born: yes}\n", encoding="utf-8")
    with pytest.raises(RoleError, match="day_first must be a list of column names"):
        open_dataset(data)
    roles.write_text("day_first: [born]\nmonth_first: [born]\n", encoding="utf-8")
    with pytest.raises(RoleError, match=r"shop.roles.yaml: 'born' is said to be written in two ways"):
        open_dataset(data)
