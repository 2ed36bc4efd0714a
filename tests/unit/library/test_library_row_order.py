"""Without shuffling, rows are written in the order of the source, whatever was joined to them on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aegis

ROWS = 125_000  # more than the engine keeps in one block: below that a join keeps the order by luck
POLICY = {"quasi_identifying": ["q"], "insensitive": ["n"], "k": 5, "max_suppression": 0.01}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    numbers = np.arange(ROWS)
    return pa.table({"n": numbers, "q": np.where(numbers < 3, "rare", "usual")})


@pytest.mark.parametrize("suppressed", ["judged", "dropped"])
def test_a_release_keeps_the_order_where_records_are_suppressed(
    tmp_path: Path, table: pa.Table, suppressed: str
) -> None:
    out = tmp_path / "r.parquet"
    policy: dict[str, Any] = {**POLICY, "suppressed": suppressed}
    if suppressed == "judged":
        policy["k"] = 2
        table = table.set_column(1, "q", pa.array(["usual"] * (ROWS - 2) + ["one", "other"]))
    done = aegis.release(table, policy=policy, out=out, shuffle=False)
    assert done.suppressed in (2, 3)
    numbers = pq.read_table(out)["n"].to_numpy()
    assert (np.diff(numbers) > 0).all()
    assert done.certificate.content["release"]["columns"] == ["n", "q"]


def test_apply_keeps_the_order_where_tokens_are_joined(tmp_path: Path, table: pa.Table) -> None:
    out = tmp_path / "a.parquet"
    aegis.apply(table, config={"q": "token"}, out=out)
    written = pq.read_table(out)
    assert written.column_names == ["n", "q"]
    assert (written["n"].to_numpy() == np.arange(ROWS)).all()
