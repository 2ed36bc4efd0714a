"""Files whose lines end in different ways: they were joined, or edited on two systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from aegis.data import unpacked
from aegis.data.engine import open_dataset
from aegis.errors import DataError

ROWS = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\r\n1,2\n3,4\r\n",
        b"a,b\n1,2\r\n3,4\r\n",
        b"a,b\r\n1,2\r3,4\n",
        b"a,b\n1,2\r\n3,4",
        b"a,b\n1,2\r\n3,4\r",
    ],
)
def test_lines_that_end_in_different_ways_are_read(tmp_path: Path, content: bytes) -> None:
    data = tmp_path / "joined.csv"
    data.write_bytes(content)
    assert open_dataset(data).table.to_pyarrow().to_pylist() == ROWS


@pytest.mark.parametrize("block", [1, 3, 1 << 22])
def test_what_stands_in_quotes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(unpacked, "_BLOCK", block)
    data = tmp_path / "joined.csv"
    data.write_bytes(b'a,b\r\n"x\ny",2\n"say ""p\r\nq""",4\r\n')
    rows = open_dataset(data).table.to_pyarrow().to_pylist()
    assert rows == [{"a": "x\ny", "b": 2}, {"a": 'say "p\r\nq"', "b": 4}]


def test_a_quote_that_is_not_closed_is_still_said(tmp_path: Path) -> None:
    data = tmp_path / "open.csv"
    data.write_bytes(b'a,b\n1,"2\r\n3,4\n5,6\n')
    with pytest.raises(DataError, match=r"open.csv has a quote that is not closed"):
        open_dataset(data)
