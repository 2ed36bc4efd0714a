"""What a release and its verification read, and how often: the source is opened once, the written file twice."""

from __future__ import annotations

import builtins
import io
from collections import Counter
from pathlib import Path
from typing import Any

import ibis.backends.duckdb
import pytest

import aegis
from aegis.data import delimited, engine
from aegis.data.embedded import Embedded

POLICY = {"quasi_identifying": ["age", "zip"], "insensitive": ["ill"], "k": 4, "max_suppression": 0.1}
MASKS = {"age": {"bucketize": {"width": 20}}, "zip": {"star_trailing": {"characters": 3}}}


class Reads:
    """Counts who opens which file: Python (to hash, to look at a header) or the engine (for rows)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: Counter[tuple[str, str]] = Counter()
        self.datasets: Counter[str] = Counter()
        plain_open, read_text = io.open, delimited.read
        open_source = engine._open

        def opening(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if "r" in mode and "+" not in mode:
                self.opened["python", self._name(file)] += 1
            return plain_open(file, mode, *arguments, **options)

        def reading(connection: Any, path: Path, **options: Any) -> Any:
            self.opened["engine", self._name(path)] += 1
            return read_text(connection, path, **options)

        def scanning(read_parquet: Any) -> Any:
            def scan(backend: Any, path: Any, *arguments: Any, **options: Any) -> Any:
                self.opened["engine", self._name(path)] += 1
                return read_parquet(backend, path, *arguments, **options)

            return scan

        def sourcing(source: Any, **options: Any) -> Any:
            self.datasets[self._name(source)] += 1
            return open_source(source, **options)

        monkeypatch.setattr(builtins, "open", opening)
        monkeypatch.setattr(io, "open", opening)
        monkeypatch.setattr(delimited, "read", reading)
        for connection in (ibis.backends.duckdb.Backend, Embedded):
            monkeypatch.setattr(connection, "read_parquet", scanning(connection.read_parquet))
        monkeypatch.setattr(engine, "_open", sourcing)

    @staticmethod
    def _name(file: Any) -> str:
        """A draft is the file that it becomes."""
        name = Path(str(file)).name
        return ".".join(name.split(".")[1:-2]) if name.endswith(".part") else name


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def _table(folder: Path, suffix: str) -> Path:
    lines = ["age,zip,ill", *(f"{20 + i % 40},{10000 + 100 * (i % 5)},{i % 3 == 0}" for i in range(400))]
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if suffix == "parquet":
        aegis.open_dataset(path).table.to_parquet(folder / "people.parquet")
    return folder / f"people.{suffix}"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_release_opens_its_source_once_and_what_it_wrote_twice(tmp_path: Path, reads: Reads, suffix: str) -> None:
    table, out = _table(tmp_path, suffix), tmp_path / f"out.{suffix}"
    reads.opened.clear()
    reads.datasets.clear()
    released = aegis.release(table, config=MASKS, policy=POLICY, out=out)
    assert reads.datasets == {table.name: 1}
    assert reads.opened["engine", table.name] == 1
    assert reads.opened["python", table.name] == (1 if suffix == "csv" else 0)  # the header, to know the delimiter
    assert reads.opened["engine", out.name] == 1
    assert reads.opened["python", out.name] == 1  # its hash and its header in one go

    reads.opened.clear()
    reads.datasets.clear()
    assert aegis.verify(out, released.certificate_path).verified
    assert reads.datasets == {}
    assert reads.opened["engine", out.name] == 1
    assert reads.opened["python", out.name] == 1


def test_a_release_that_another_file_replaced_is_not_even_parsed(tmp_path: Path, reads: Reads) -> None:
    out = tmp_path / "out.csv"
    released = aegis.release(_table(tmp_path, "csv"), config=MASKS, policy=POLICY, out=out)
    out.write_bytes(b"\xff\xfe not a table")
    reads.opened.clear()
    verification = aegis.verify(out, released.certificate_path)
    assert [check.name for check in verification.checks if not check.passed] == ["release"]
    assert reads.opened["engine", out.name] == 0
