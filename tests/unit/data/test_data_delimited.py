"""Delimited files: no key is lost, no record is taken for a header, no option is misread."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.data import delimited
from aegis.data.delimited import checked_encoding
from aegis.data.engine import connect, open_dataset
from aegis.data.engine_words import is_interruption
from aegis.data.kind import Kind
from aegis.errors import DataError


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "people.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("first", [10**15, 2**53, 10**18, 2**63 - 150, 10**19, 10**25])
@pytest.mark.parametrize("extra", ["", "1.5", "-2"])
def test_long_whole_numbers_stay_distinct(first: int, extra: str, write: Callable[[str], Path]) -> None:
    rows = [f"{first + i},x" for i in range(300)] + ([f"{extra},x"] if extra else [])
    table = open_dataset(write("\n".join(["key,other", *rows]) + "\n")).table
    assert table["key"].nunique().execute() == len(rows)


def test_a_long_whole_number_far_down_makes_the_column_text(write: Callable[[str], Path]) -> None:
    path = write("key,other\n" + "\n".join(f"{i},x" for i in range(12_000)) + "\n10000000000000000001,x\n")
    assert open_dataset(path).schema.kind("key") is Kind.TEXT


def test_values_far_down_decide_the_type_of_a_column_that_begins_empty(write: Callable[[str], Path]) -> None:
    rows = [f"{i},,,," for i in range(12_000)]
    path = write(
        "\n".join(["key,whole,part,day,never", *rows, "12000,7,7,2020-05-01,", "12001,8,7.5,2020-05-02,"]) + "\n"
    )
    kinds = {column.name: column.kind for column in open_dataset(path).schema}
    assert kinds == {
        "key": Kind.INTEGER, "whole": Kind.INTEGER, "part": Kind.REAL, "day": Kind.DATE, "never": Kind.TEXT
    }  # fmt: skip


def test_measurements_with_many_digits_are_numbers(write: Callable[[str], Path]) -> None:
    path = write("a,b,c\n1.000000000000000000e+00,0.10000000000000000555,1234567890123456.0\n")
    assert {column.kind for column in open_dataset(path).schema} == {Kind.REAL}


HEADERLESS = {
    "numbers": "39,CANARY,13\n50,b,12\n38,c,9\n",
    "one number among others": "CANARY,39,x\nb,50,y\nc,?,z\n" + "d,1,z\n" * 30,
    "dates": "CANARY,1985-03-01\nb,1990-04-02\n",
    "e-mail": "CANARY@example.org,a\nb@example.org,c\n",
    "birth years": "CANARY,1985\nb,1990\n",
    "two years": "CANARY,1985,2019\nb,1990,2020\n",
    "leading zeros": "CANARY,02139\nb,02140\n",
    "values of their columns": "CANARY,red,m\nb,red,f\nc,blue,m\n",
    "only one line": "CANARY,39\n",
    "spaces": "39, CANARY\n50, b\n",
}


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("case", HEADERLESS)
def test_a_record_is_no_header(case: str, as_text: bool, write: Callable[[str], Path]) -> None:
    with pytest.raises(DataError, match=r"people\.csv looks like a record, not a header") as caught:
        open_dataset(write(HEADERLESS[case]), as_text=as_text)
    assert "CANARY" not in str(caught.value)
    assert "39" not in str(caught.value)


HEADERS = {
    "years of counts": "country,2019,2020\nx,12,13\ny,14,15\n",
    "every tenth year": "country,1990,2000,2010\nx,1950,1960,1970\n",
    "one year": "country,2020\nx,12\ny,14\n",
    "numbered columns": "0,1,2\n5,6,7\n",
    "a number above texts": "name,5\nx,often\ny,never\n",
    "a choice of a survey": "id,Python,R\n1,Python,\n2,,R\n3,Python,R\n",
    "one value like its name": "age,kind,other\n1,a,other\n2,b,x\n3,a,y\n",
    "no rows": "a,b\n",
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_may_hold_numbers(case: str, write: Callable[[str], Path]) -> None:
    text = HEADERS[case]
    assert open_dataset(write(text)).table.columns == tuple(text.splitlines()[0].split(","))


@given(numbers=st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=30))
def test_a_column_of_numbers_never_names_itself(numbers: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("numbers") / "n.csv"
    path.write_text("\n".join(map(str, numbers)), encoding="utf-8")
    years = [1900 <= number < 2100 for number in numbers]
    if years[0] and sum(years[1:]) < 0.95 * len(years[1:]):
        return  # a single year above other numbers is a name
    with pytest.raises(DataError, match="looks like a record"):
        open_dataset(path)


@pytest.mark.parametrize("delimiter", [";;", "", '"', "\n"])
def test_a_delimiter_is_one_character(delimiter: str, write: Callable[[str], Path]) -> None:
    with pytest.raises(DataError, match="one character"):
        open_dataset(write("a;;b\nx;;y\n"), delimiter=delimiter)


def test_an_encoding_exists_and_is_read(write: Callable[[str], Path], tmp_path: Path) -> None:
    path = write("a,b\nx,y\n")
    for absent in ("klingon", "base64"):
        with pytest.raises(DataError, match=f"no encoding called '{absent}'"):
            open_dataset(path, encoding=absent)
    with pytest.raises(DataError, match="convert it to utf-8"):
        checked_encoding("cp037")  # as an engine is asked that reads the file by itself
    with pytest.raises(DataError, match="not text in utf-16"):
        open_dataset(path, encoding="utf-16")
    other = tmp_path / "other.csv"
    for name in ("latin1", "ISO-8859-1", "UTF8", "utf-16", "cp037", "windows-1252"):
        other.write_bytes("a,b\nx,café\n".encode(name))
        assert open_dataset(other, encoding=name).table.to_pyarrow()["b"].to_pylist() == ["café"]


class _Interrupted:
    """A database in which somebody pressed Ctrl-C."""

    def execute(self, query: str) -> Any:
        raise RuntimeError("Query interrupted")


def test_an_interruption_is_no_defect_of_the_file(write: Callable[[str], Path]) -> None:
    class Connection:
        con = _Interrupted()

    with pytest.raises(KeyboardInterrupt):
        delimited.read(Connection(), write("a,b\nx,y\n"), delimiter=None, encoding="utf-8")


def test_the_interruption_of_a_real_query_is_recognised() -> None:
    database = connect(None).con
    timer = threading.Timer(0.2, database.interrupt)
    timer.start()
    with pytest.raises((duckdb.Error, RuntimeError)) as caught:
        database.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchall()
    timer.join()
    assert is_interruption(caught.value)
    assert not is_interruption(duckdb.CatalogException("no column interrupted"))


@pytest.mark.parametrize(("damage", "said"), [("cut", "cut short"), ("none", "no gzip file"), ("flipped", "damaged")])
def test_a_damaged_archive_is_no_smaller_table(tmp_path: Path, damage: str, said: str) -> None:
    text = "a,b\n" + "".join(f"{i},{i * 7919 % 1013}\n" for i in range(50_000))
    packed = bytearray(gzip.compress(text.encode()))
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    elif damage == "none":
        packed = bytearray(text.encode())
    else:
        packed[-6] ^= 0xFF  # in the checksum
    file = tmp_path / "table.csv.gz"
    file.write_bytes(packed)
    with pytest.raises(DataError, match=said):
        open_dataset(file)
    file.write_bytes(gzip.compress(text.encode()))
    assert open_dataset(file).table.count().execute() == 50_000


@pytest.mark.parametrize("header", ['"new\nline",y', 'a,"one, two\r\nthree"', '"a\n\nb";"c\nd"', '"new,y', 'a,"b""\n'])
def test_a_quote_of_the_header_that_its_line_does_not_close_is_said(header: str, write: Callable[[str], Path]) -> None:
    with pytest.raises(DataError, match="has a quote that is not closed on its line") as error:
        open_dataset(write(f"{header}\n" + "1,secret\n" * 50))
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("name", ['5" pipe', '"a ""b"""', '"a,"', '""""'])
def test_quotes_that_are_closed_may_stand_in_a_header(name: str, write: Callable[[str], Path]) -> None:
    assert open_dataset(write(f"{name},y\n1,a\n")).schema.names[1] == "y"
