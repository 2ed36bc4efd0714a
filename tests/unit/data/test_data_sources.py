"""Sources that are almost tables: every one is opened whole, or refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from aegis.data import engine
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles, roles_path
from aegis.errors import DataError, EngineError, MissingExtraError


def _two_tables(folder: Path) -> Path:
    path = folder / "two.duckdb"
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE a AS SELECT 1 AS x")
        database.execute("CREATE TABLE b AS SELECT 2 AS y")
    return path


@pytest.mark.parametrize(("first", "kind"), [(5, Kind.INTEGER), (2**63 - 3, Kind.INTEGER), (2**63 - 2, Kind.TEXT)])
def test_unsigned_numbers_are_numbers_while_they_fit(first: int, kind: Kind, tmp_path: Path) -> None:
    values = [first, first + 1, first + 2, None]
    pa.parquet.write_table(pa.table({"id": pa.array(values, pa.uint64())}), tmp_path / "wide.parquet")
    dataset = open_dataset(tmp_path / "wide.parquet")
    assert dataset.schema.kind("id") is kind
    read = dataset.table.to_pyarrow()["id"].to_pylist()
    assert [None if value is None else int(value) for value in read] == values


def test_wide_whole_numbers_and_decimals(tmp_path: Path) -> None:
    path = tmp_path / "wide.duckdb"
    with duckdb.connect(path) as database:
        database.execute(
            "CREATE TABLE t AS SELECT 170141183460469231731687303715884105727::HUGEINT AS huge, "
            "(-9223372036854775809)::HUGEINT AS low, 7::HUGEINT AS small, "
            "12345678901234567890::DECIMAL(20, 0) AS whole, 12::DECIMAL(10, 0) AS short, "
            "1.25::DECIMAL(38, 10) AS part, NULL::HUGEINT AS none"
        )
    dataset = open_dataset(path)
    assert {column.name: column.kind.value for column in dataset.schema} == {
        "huge": "text",
        "low": "text",
        "small": "integer",
        "whole": "text",
        "short": "integer",
        "part": "real",
        "none": "integer",
    }
    assert dataset.table.to_pyarrow().to_pylist() == [
        {
            "huge": "170141183460469231731687303715884105727",
            "low": "-9223372036854775809",
            "small": 7,
            "whole": "12345678901234567890",
            "short": 12,
            "part": 1.25,
            "none": None,
        }
    ]


@pytest.mark.parametrize("name", ["a.xml", "a.txt.pdf", "a.HTML", "a.xml.gz", "a.sas7bdat"])
def test_other_formats_are_named_not_guessed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a,b\nx,y\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"convert it to CSV .*Parquet, Arrow, JSON lines or DuckDB"):
        open_dataset(tmp_path / name)


def test_a_folder_needs_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    for folder in (".", "..", tmp_path, "../inner"):
        with pytest.raises(DataError, match="folder without Parquet files"):
            open_dataset(folder)
    pa.parquet.write_table(pa.table({"x": [1]}), "part.parquet")
    (tmp_path / "inner.roles.yaml").write_text("label: x\n", encoding="utf-8")
    dataset = open_dataset(".")
    assert (dataset.name, dataset.roles) == ("inner", Roles(label="x"))
    assert roles_path(Path("/")).name == ".roles.yaml"


@pytest.mark.parametrize("text", ["x" * 5000, "a,b\n" * 3000, "nul\0byte", "a,b\n1,CANARY\n"])
def test_a_text_that_is_no_path(text: str) -> None:
    with pytest.raises(DataError, match="not the path of a file") as caught:
        open_dataset(text)
    assert "CANARY" not in str(caught.value)


def test_the_table_of_a_file_is_named_after_a_hash(tmp_path: Path) -> None:
    path = _two_tables(tmp_path)
    assert open_dataset(f"{path}#a").table.columns == ("x",)
    assert open_dataset(f"{path}#a", table="b").table.columns == ("y",)
    with pytest.raises(DataError, match="no table 'c'"):
        open_dataset(f"{path}#c")
    with pytest.raises(DataError, match="2 tables"):
        open_dataset(path)
    with pytest.raises(DataError, match="there is no file"):
        open_dataset(tmp_path / "absent.duckdb#a")


@pytest.mark.parametrize("url", ["foo://x", "http://example.org/a.csv", "https://u:SECRET@example.org", "file://a.csv"])
def test_an_address_without_engine_names_those_there_are(url: str) -> None:
    scheme = url.partition(":")[0]
    with pytest.raises(
        EngineError, match=rf"no engine for {scheme}:// addresses; use duckdb://, postgres://"
    ) as caught:
        open_dataset(url)
    assert "SECRET" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(url: str) -> Any:
        raise ModuleNotFoundError("No module named 'MySQLdb'", name="MySQLdb")

    monkeypatch.setattr(ibis, "connect", connect)
    for url in ("postgres://host/db#t", "postgresql://host/db#t"):
        with pytest.raises(MissingExtraError, match=r"aegis-share\[postgres\]"):
            open_dataset(url)
    with pytest.raises(EngineError, match=r"driver for mysql:// .*MySQLdb.*ibis-framework\[mysql\]"):
        open_dataset("mysql://host/db#t")


def test_names_of_columns_become_texts() -> None:
    assert open_dataset(pd.DataFrame({1: [1], "b": [2], ("c", 3): [3]})).table.columns == ("1", "b", "('c', 3)")
    assert open_dataset({1: [1, 2]}).table.columns == ("1",)
    assert open_dataset([{1: 1}, {2: 2}]).table.columns == ("1", "2")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([[1], [2]], names=["a", "a"]),
        {1: [1], "1": [2]},
    ],
)
def test_columns_of_one_name(frame: Any) -> None:
    with pytest.raises(DataError, match="1 column names that occur twice"):
        open_dataset(frame)


@pytest.mark.parametrize(
    "thing",
    [[1, 2], [], [(1, 2)], [{"a": 1}, 2], {1, 2}, 5, None, b"a,b", np.ones((2, 2)), pd.Series([1, 2]), {"a": 1}],
)
def test_what_is_not_a_table(thing: Any) -> None:
    with pytest.raises(DataError, match="is not a table"):
        open_dataset(thing)


def test_a_column_of_mixed_types_is_named_without_its_values() -> None:
    for name in ("weight", 7):
        frame = pd.DataFrame({"age": [1, 2], name: pd.Series([1, "CANARY"], dtype=object)})
        with pytest.raises(DataError, match=f"column '{name}' holds values of several types") as caught:
            open_dataset(frame)
        assert "CANARY" not in str(caught.value)


def test_lazy_and_batched_frames_are_tables() -> None:
    assert open_dataset(pl.LazyFrame({"a": [1]})).table.columns == ("a",)
    assert open_dataset(pa.record_batch({"a": [1]})).table.columns == ("a",)


def test_an_interruption_while_opening_is_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("Query interrupted")

    wide = open_dataset(pa.table({"x": [1]})).table.mutate(y=ibis.literal(1, type="uint64"))
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"x": [1]}), path)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "connect", lambda address: Interrupted())
        patched.setattr(engine, "Embedded", lambda settings: Interrupted())
        for source in (path, pa.table({"x": [1]}), "duckdb://#t"):
            with pytest.raises(KeyboardInterrupt):
                open_dataset(source)
    monkeypatch.setattr(type(wide), "to_pyarrow", lambda table: Interrupted().anything)
    with pytest.raises(KeyboardInterrupt):
        open_dataset(wide)


@pytest.mark.parametrize("frame", [pl.DataFrame({"a": [1], "A": [2]}), pd.DataFrame({"a": [1], "A": [2]})])
def test_columns_that_differ_in_case_only(frame: Any) -> None:
    with pytest.raises(DataError, match="the columns 'a' and 'A' differ in upper and lower case only; rename one"):
        open_dataset(frame)


def test_columns_of_a_parquet_file_that_differ_in_case_only(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"age": [1], "AGE": [2], "y": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'age' and 'AGE' differ in upper and lower case only"):
        open_dataset(tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", ["period", "interval"])
def test_a_pandas_type_that_no_table_has_is_named_with_its_column(kind: str) -> None:
    held = pd.period_range("2020-01", periods=2, freq="M") if kind == "period" else pd.interval_range(0, 2)
    with pytest.raises(DataError, match=rf"column 'when' holds pandas {kind}s, .*astype\(str\)"):
        open_dataset(pd.DataFrame({"a": [1, 2], "when": held}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2], "n": [None, None]}),
        pa.table({"a": [1, 2], "n": pa.nulls(2)}),
        pl.DataFrame({"a": [1, 2], "n": [None, None]}),
    ],
)
def test_a_column_without_values_is_text(frame: Any) -> None:
    assert open_dataset(frame).schema.kind("n") is Kind.TEXT


def test_a_damaged_parquet_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"a": ["CANARY"] * 50}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="damaged, cut short or of another format; copy or write it again") as refused:
        open_dataset(tmp_path / "t.parquet")
    assert "CANARY" not in str(refused.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow"])
def test_a_file_that_is_one_table_has_no_other(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="leave out --table"):
        open_dataset(tmp_path / name, table="visits")
    with pytest.raises(DataError, match="leave out the name of a table"):
        open_dataset(pd.DataFrame({"a": [1]}), table="visits")
