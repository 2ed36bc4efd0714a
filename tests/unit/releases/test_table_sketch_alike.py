"""A sample of rows is the same whether equal rows are counted before or after they are hashed."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from aegis.releases.table_sketch import Sketch, sketch_of


def _kept(sketch: Sketch | None) -> tuple[int, list[tuple[int, int, int]]]:
    assert sketch is not None
    columns = (sketch.ways.tolist(), sketch.digests.tolist(), sketch.zeros.tolist())
    return sketch.level, sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("classes", [40, 3_000])
def test_counting_first_keeps_the_same_digests(classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = 9_000
    box = rng.integers(0, classes, rows)
    columns = {
        "age": [f"[{at % 7}, {at % 7 + 3})" for at in box.tolist()],
        "town": [None if at % 11 == 0 else f"{at // 7}" for at in box.tolist()],
        "ill": rng.integers(0, 3, rows).tolist(),
    }
    connection = ibis.duckdb.connect()
    table = connection.create_table("rows", ibis.memtable(columns).to_pyarrow())
    sketches = [
        sketch_of(table, list(columns), focus=["age", "town"], rows=rows, key=b"k" * 16, alike=alike)
        for alike in (False, True)
    ]
    assert _kept(sketches[0]) == _kept(sketches[1])
    assert len(_kept(sketches[0])[1]) > 50
