"""``--engine URL`` wherever data is read: the data is then a name inside that engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from aegis.command_line import app, call
from aegis.counts.answer import ask, count_rows
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.spark import connect_spark, master_of
from aegis.errors import DataError, EngineError
from aegis.inspection.profile import profile

Uploader = Callable[[pa.Table], tuple[str, str]]


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*path, name))
    else:
        yield " ".join(path), command


def test_every_command_that_takes_data_takes_an_engine() -> None:
    commands = dict(_commands(typer.main.get_command(app)))
    arguments = {
        name: {p.name for p in command.params if p.param_type_name == "argument"} for name, command in commands.items()
    }
    taking = {name for name, given in arguments.items() if {"data", "release"} & given}
    assert {"advise", "summarize", "inspect", "check", "search", "release", "apply", "anonymize", "evaluate"} <= taking
    without = {name for name in taking if "engine" not in {p.name for p in commands[name].params}}
    # Two read the record beside a table, and no row of it; a project says by itself where its table lies.
    assert without == {"ledger show", "ledger forget", "run"}


def _people() -> pa.Table:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, 400)
    return pa.table(
        {
            "age": age,
            "zip": [f"0{z}" for z in rng.integers(1000, 1004, 400)],
            "ill": np.where(rng.random(400) < age / 60, "yes", "no"),
        }
    )


def test_the_commands_read_a_table_by_its_name(
    address: Uploader, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine, table = address(_people())
    roles = table if "/" in table else "people"
    Path(f"{roles}.roles.yaml").write_text("{label: ill, quasi_identifying: [age]}", encoding="utf-8")
    Path("mask.yaml").write_text(
        "{age: {bucketize: {width: 20}}, zip: {star_trailing: {characters: 2}}}", encoding="utf-8"
    )
    Path("policy.yaml").write_text("{quasi_identifying: [age, zip], k: 3}", encoding="utf-8")

    def run(*words: str) -> Any:
        assert call([words[0], table, "--engine", engine, *words[1:], "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert run("inspect")["rows"] == 400
    checked = run("check", "--policy", "policy.yaml", "--config", "mask.yaml")
    assert checked["satisfied"]
    applied = run("apply", "--config", "mask.yaml", "--out", "masked.csv")
    assert applied["masked"] == ["age", "zip"]
    if engine.startswith("spark"):
        return  # each question takes it seconds, and the others open their data by the same door
    assert run("advise", "--generate", "3", "--measure", "g3")["label"] == "ill"
    assert run("summarize", "--generate", "2", "--no-race", "--out", "counts")["rows"] == 400
    assert run("summarize", "--append", "counts", "--part", "more")["rows"] == 800
    assert (
        run("release", "--policy", "policy.yaml", "--config", "mask.yaml", "--out", "released.parquet")["rows"] == 400
    )
    assert run("anonymize", "--method", "mdav", "--k", "5", "--out", "clustered.csv")


def test_an_engine_reads_files_too(tmp_path: Path, spark: Any) -> None:
    """Delimited files get the same kinds and values from Spark as from the embedded engine."""
    rows = ["i,r,code,day,time,yes,late,empty,quoted"]
    rows += [
        f'{i},{i}.5,{i:03d},2024-01-{i % 28 + 1:02d},2024-01-01 10:00:00,true,{i},,"a, ""b"" {i}"' for i in range(1, 60)
    ]
    rows.append("?,1e3,001,2024-01-02,2024-01-01T10:00:00,False,x,,")
    path = tmp_path / "kinds.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    here = open_dataset(path, missing=["?"])
    for engine in ("spark-local://2", "duckdb://"):
        there = open_dataset(path, engine=engine, missing=["?"])
        assert there.schema == here.schema
        assert _rows(there) == _rows(here)
    as_text = open_dataset(path, engine="spark-local://2", as_text=True)
    assert {column.kind for column in as_text.schema} == {Kind.TEXT}
    pq.write_table(_people(), tmp_path / "people.parquet")
    assert count_rows(open_dataset(tmp_path / "people.parquet", engine="spark-local://2").table) == 400


def _rows(dataset: Dataset) -> list[str]:
    return sorted(map(str, ask(dataset.table).to_pylist()))


BAD = {
    "too few fields": "a,b\n1,2\nCANARY\n",
    "a record for a header": "39,CANARY,77516\n1,2,3\n",
    "nothing": "",
    "names twice": "a,a\n1,CANARY\n",
}


@pytest.mark.parametrize("defect", BAD)
def test_spark_refuses_defective_files_in_a_sentence_without_data(defect: str, tmp_path: Path, spark: Any) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(BAD[defect], encoding="utf-8")
    with pytest.raises((DataError, EngineError)) as raised:
        profile(open_dataset(path, engine="spark-local://2"))
    assert "CANARY" not in str(raised.value)


def test_a_name_that_is_not_there(address: Uploader) -> None:
    engine, _ = address(_people())
    with pytest.raises(DataError, match="no table"):
        open_dataset("nobody", engine=engine)
    with pytest.raises(DataError, match="name no other"):
        open_dataset("people", engine=engine, table="other")


def test_tables_of_a_schema_have_its_name_before_theirs(tmp_path: Path, postgres_url: str) -> None:
    import ibis

    with duckdb.connect(tmp_path / "shop.duckdb") as database:
        database.execute("CREATE SCHEMA sales; CREATE TABLE sales.people AS SELECT 1 AS a UNION ALL SELECT 2")
    connection = ibis.connect(postgres_url)
    connection.raw_sql("CREATE SCHEMA IF NOT EXISTS sales; DROP TABLE IF EXISTS sales.people").close()
    connection.raw_sql("CREATE TABLE sales.people AS SELECT 1 AS a UNION ALL SELECT 2").close()
    connection.con.commit()
    for engine in (f"duckdb://{tmp_path}/shop.duckdb", postgres_url):
        assert open_dataset("sales.people", engine=engine).table.count().execute() == 2
        assert open_dataset(f"{engine}#sales.people").table.count().execute() == 2
    connection.disconnect()


def test_a_table_of_sparks_catalog(spark: Any) -> None:
    spark._session.createDataFrame(_people()).createOrReplaceTempView("visitors")
    for dataset in (open_dataset("visitors", engine="spark-local://2"), open_dataset("spark-local://2#visitors")):
        assert dataset.name == "visitors"
        assert dataset.schema.names == ("age", "zip", "ill")


@pytest.mark.parametrize("url", ["spark://", "spark-local://many", "spark-local://0", "pyspark://host"])
def test_an_address_that_is_none_is_said_so(url: str) -> None:
    with pytest.raises(EngineError):
        master_of(url)


def test_one_process_has_one_spark(spark: Any) -> None:
    with pytest.raises(EngineError, match="another address"):
        connect_spark("spark-local://7")
