"""Blocks of rows of a Parquet file: a part of the whole, read alike."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from aegis.counts.answer import ask, count_rows
from aegis.data.dataset import expression_of
from aegis.data.engine import open_dataset

ROWS = 300_000


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("it's here") / "many rows.parquet"
    quoted = str(path).replace("'", "''")
    duckdb.execute(
        f"COPY (SELECT r AS number, CAST(r % 7 AS TINYINT) AS small, "
        f"CASE WHEN r % 5 = 0 THEN 'NA' ELSE 'x' END AS text, "
        f"CASE WHEN r % 9 = 0 THEN 'nan'::DOUBLE ELSE r / 2 END AS real FROM range({ROWS}) t(r)) "
        f"TO '{quoted}' (FORMAT parquet, ROW_GROUP_SIZE 50000)"
    )
    return path


def test_some_blocks_are_whole_blocks_of_the_rows_read_alike(parquet: Path) -> None:
    dataset = open_dataset(parquet, missing=("NA",))
    some = dataset.some_blocks(one_in=8, seed=3)
    assert expression_of(some).schema() == dataset.table.schema()
    whole = dataset.table.to_pyarrow().to_pylist()
    found = ask(some).to_pylist()
    assert found == expression_of(some).to_pyarrow().to_pylist()
    assert 0 < len(found) < ROWS / 2
    assert all(row == whole[row["number"]] for row in found)
    numbers = {row["number"] for row in found}
    assert len(numbers) == len(found)
    blocks = {number // 2048 for number in numbers}
    assert len(numbers) == sum(min(2048, ROWS - block * 2048) for block in blocks)


def test_the_seed_draws_other_blocks_and_the_same_ones_again(parquet: Path) -> None:
    dataset = open_dataset(parquet)

    def drawn(seed: int) -> set[int]:
        return set(ask(dataset.some_blocks(one_in=8, seed=seed))["number"].to_pylist())

    assert drawn(0) == drawn(0)
    assert not drawn(0) & drawn(1)


def test_every_block_is_drawn_by_exactly_one_seed(parquet: Path) -> None:
    dataset = open_dataset(parquet)
    assert sum(count_rows(dataset.some_blocks(one_in=4, seed=seed)) for seed in range(4)) == ROWS


def test_a_masked_table_is_not_taken_for_the_file(parquet: Path) -> None:
    dataset = open_dataset(parquet)
    masked = dataset.with_table(dataset.table.mutate(small=dataset.table.small * 0))
    assert set(ask(masked.some_blocks(one_in=4, seed=0))["small"].to_pylist()) == {0}
