"""Opening tables: the same questions to every kind of source, and one clear sentence for every defect."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import DataError, EngineError, RoleError

ROWS: dict[str, list[Any]] = {"age": [10, 43, None], "weight": [30.5, None, 71.0], "zip": ["02139", "21162", None]}
KINDS = {"age": Kind.INTEGER, "weight": Kind.REAL, "zip": Kind.TEXT}


def _csv(folder: Path, delimiter: str = ",") -> Path:
    lines = [delimiter.join(ROWS)]
    lines += [delimiter.join("" if v is None else str(v) for v in row) for row in zip(*ROWS.values(), strict=True)]
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _arrow() -> pa.Table:
    return pa.table(ROWS)


def _parquet(folder: Path) -> Path:
    pa.parquet.write_table(_arrow(), folder / "people.parquet")
    return folder / "people.parquet"


def _feather(folder: Path) -> Path:
    pa.feather.write_feather(_arrow(), folder / "people.arrow")
    return folder / "people.arrow"


def _duckdb(folder: Path) -> Path:
    with duckdb.connect(folder / "people.duckdb") as database:
        rows = _arrow()  # noqa: F841  duckdb finds it by name
        database.execute("CREATE TABLE people AS FROM rows")
    return folder / "people.duckdb"


def _duckdb_url(folder: Path) -> str:
    return f"duckdb://{_duckdb(folder)}#people"


def _sqlite_url(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "people.sqlite")) as database, database:
        database.execute("CREATE TABLE people (age INTEGER, weight REAL, zip TEXT)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", list(zip(*ROWS.values(), strict=True)))
    return f"sqlite://{folder / 'people.sqlite'}#people"


def _pandas(folder: Path) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array(values) for name, values in ROWS.items()})


def _polars(folder: Path) -> pl.DataFrame:
    return pl.DataFrame(ROWS)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "comma": _csv,
    "semicolon": lambda folder: _csv(folder, ";"),
    "tab": lambda folder: _csv(folder, "\t"),
    "bar": lambda folder: _csv(folder, "|"),
    "parquet": _parquet,
    "arrow file": _feather,
    "duckdb file": _duckdb,
    "duckdb url": _duckdb_url,
    "sqlite url": _sqlite_url,
    "pandas": _pandas,
    "polars": _polars,
    "arrow": lambda folder: _arrow(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_table(source: str, tmp_path: Path) -> None:
    dataset = open_dataset(SOURCES[source](tmp_path))
    assert {column.name: column.kind for column in dataset.schema} == KINDS
    assert dataset.table.to_pyarrow().to_pydict() == ROWS


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    there = f"duckdb://{tmp_path}/no.duckdb"
    for engine, data in ((None, f"{there}#t"), (there, "t"), (None, f"sqlite://{tmp_path}/no.sqlite#t")):
        with pytest.raises(DataError, match="no database"):
            open_dataset(data, engine=engine)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    for part in range(3):
        pa.parquet.write_table(_arrow(), tmp_path / f"part-{part}.parquet")
    assert open_dataset(tmp_path).table.count().execute() == 9


def test_numbers_that_are_not_finite_are_missing() -> None:
    table = open_dataset(pa.table({"x": [1.0, float("nan"), float("inf"), float("-inf")]})).table
    assert table.to_pyarrow().to_pydict() == {"x": [1.0, None, None, None]}


def test_numbers_that_are_not_finite_are_missing_in_sqlite_too(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database, database:
        database.execute("CREATE TABLE t (x REAL)")
        database.executemany("INSERT INTO t VALUES (?)", [(1.0,), (None,), (float("inf"),), (float("-inf"),)])
    table = open_dataset(f"sqlite://{tmp_path}/x.sqlite#t").table
    assert table.to_pyarrow().to_pydict() == {"x": [1.0, None, None, None]}


def test_kinds_come_from_the_whole_file_and_codes_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "kinds.csv"
    rows = ["i,r,code,day,time,yes,late,empty"]
    rows += [f"{i},{i}.5,{i:03d},2024-01-01,2024-01-01 10:00:00,true,{i}," for i in range(1, 12_000)]
    rows.append("1,1,001,2024-01-02,2024-01-01T10:00:00,False,x,")
    path.write_text("\n".join(rows), encoding="utf-8")
    kinds = {column.name: column.kind.value for column in open_dataset(path).schema}
    assert kinds == {
        "i": "integer",
        "r": "real",
        "code": "text",
        "day": "date",
        "time": "timestamp",
        "yes": "boolean",
        "late": "text",
        "empty": "text",
    }


def test_texts_can_mean_missing(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("a,b\n1,?\n?,x\n", encoding="utf-8")
    dataset = open_dataset(path, missing=["?"])
    assert dataset.table.to_pyarrow().to_pydict() == {"a": [1, None], "b": [None, "x"]}
    assert dataset.schema.kind("a") is Kind.INTEGER


def test_roles_stand_beside_the_data_and_flags_override_them(tmp_path: Path) -> None:
    path = _csv(tmp_path)
    (tmp_path / "people.roles.yaml").write_text("label: zip\nquasi_identifying: [age, weight]\n", encoding="utf-8")
    assert open_dataset(path).roles == Roles(label="zip", quasi_identifying=("age", "weight"))
    roles = open_dataset(path, roles=Roles(sensitive=("weight",))).roles
    assert roles == Roles(label="zip", quasi_identifying=("age",), sensitive=("weight",))


BAD_FILES = {
    "ragged": (b"a,b\n1,CANARY\n3\n", "line 3 .* as many fields"),
    "too wide": (b"a,b\n1,2,CANARY\n", "line 2 .* as many fields"),
    "latin-1": (b"a,b\n1,CANARY\xe9\n", "not text in utf-8"),
    "empty": (b"", "is empty"),
    "open quote": (b'a,b\n1,"CANARY\n', "quote"),
    "two columns of one name": (b"a,a\n1,CANARY\n", "1 column name more than once"),
    "a column without name": (b"a,,c\n1,CANARY,3\n", "no name"),
}


@pytest.mark.parametrize("defect", BAD_FILES)
def test_a_defective_file_is_one_sentence_without_data(defect: str, tmp_path: Path) -> None:
    content, said = BAD_FILES[defect]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        open_dataset(path)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_another_encoding_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a,b\n1,café\n".encode("latin-1"))
    assert open_dataset(path, encoding="latin-1").table.to_pyarrow()["b"].to_pylist() == ["café"]


def test_what_is_not_there_or_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        open_dataset(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="not a table"):
        open_dataset(object())
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        open_dataset(broken)
    no_database = tmp_path / "broken.duckdb"
    no_database.write_bytes(b"not a database" * 1_000)
    with pytest.raises(EngineError, match="cannot be reached"):
        open_dataset(f"duckdb://{no_database}#t")
    with pytest.raises(DataError, match="no table 'absent'"):
        open_dataset(_duckdb(tmp_path), table="absent")
    with pytest.raises(RoleError, match="does not have"):
        open_dataset(_csv(tmp_path), roles=Roles(label="absent"))


def test_a_column_has_one_role() -> None:
    with pytest.raises(RoleError, match="both identifying and sensitive"):
        Roles(identifying=("a",), sensitive=("a",))
    assert Roles(label="y", sensitive=("y",)).label == "y"


def _threads(path: Path) -> int:
    backend = open_dataset(path).table.get_backend()
    return int(backend.raw_sql("SELECT current_setting('threads')").fetchone()[0])


def test_a_short_file_of_text_takes_one_thread_and_others_as_many_as_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = duckdb.connect().execute("SELECT current_setting('threads')").fetchone()
    assert usual is not None
    assert _threads(_csv(tmp_path)) == 1
    assert _threads(_parquet(tmp_path)) == usual[0]
    monkeypatch.setattr("aegis.data.engine._SHORT_BYTES", 10)
    assert _threads(_csv(tmp_path)) == usual[0]
