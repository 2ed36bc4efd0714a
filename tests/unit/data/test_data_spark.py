"""Addresses of Spark, without a Spark: what can be said before anything is started."""

from __future__ import annotations

import sys

import pytest

from aegis.data import spark
from aegis.data.engine import open_dataset
from aegis.errors import EngineError, MissingExtraError


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr(spark, "_java", lambda: None)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", classmethod(lambda cls: None))
    with pytest.raises(EngineError, match="Java 17"):
        open_dataset("people", engine="spark-local://2")


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r"aegis-share\[spark\]"):
        open_dataset("people", engine="spark://host:7077")


def test_java_is_found_by_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("JAVA_HOME", f"{tmp_path}/nothing")
    monkeypatch.setenv("PATH", "")
    assert spark._java() is None
