"""Writing a table: what an engine says when it fails is an error of ours, and Ctrl-C is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from aegis.errors import EngineError, OutputError
from aegis.releases.write import write_table


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (RuntimeError("Query interrupted"), KeyboardInterrupt),  # how DuckDB says Ctrl-C
        (RuntimeError("No space left on device"), OutputError),
        (OSError(28, "No space left on device"), OutputError),
        (RuntimeError("the value canary-7 does not fit"), EngineError),
    ],
)
def test_a_table_that_cannot_be_written_is_told_in_our_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: type[BaseException]
) -> None:
    table = ibis.memtable(pa.table({"age": [1]}))

    def failing(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr(type(table), "to_parquet", failing)
    with pytest.raises(expected) as caught:
        write_table(table, tmp_path / "draft", like=tmp_path / "out.parquet", shuffle=False)
    assert "canary" not in str(caught.value)
