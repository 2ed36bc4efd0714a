"""The same release to and from every engine: masked there, written there, verified there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import aegis
from aegis.data.dataset import Dataset
from aegis.errors import OutputError, PolicyNotSatisfiedError
from aegis.privacy.policy import Policy

# Ibis keeps connections until the process ends, for it drops temporary tables through them; psycopg remarks on that.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

POLICY = Policy.from_yaml("{quasi_identifying: [age, zip], k: 4, l: {ill: 2}, label: y, max_suppression: 0.3}")
MASKS = {"age": {"bucketize": {"width": 20}}, "zip": {"star_trailing": {"characters": 1}}, "name": "token"}


def _table() -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(400)],
            "age": pa.array(rng.integers(18, 80, 400), mask=rng.random(400) < 0.05),
            "zip": [f"0{z}" for z in rng.integers(1000, 1040, 400)],
            "ill": [["flu", "none", "cold"][i] for i in rng.integers(0, 3, 400)],
            "y": rng.integers(0, 2, 400),
        }
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_from_every_engine(engine: Callable[[pa.Table], Dataset], tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"r.{suffix}"
    done = aegis.release(engine(_table()), config=MASKS, policy=POLICY, out=out)
    assert done.suppressed > 0
    assert done.smallest_class >= 4
    assert aegis.verify(out, done.certificate_path).verified
    same = aegis.release(_table(), config=MASKS, policy=POLICY, out=tmp_path / "other.parquet")
    assert same.certificate.content["classes"] == done.certificate.content["classes"]
    assert same.suppressed == done.suppressed


def test_a_table_of_a_database(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ibis

    monkeypatch.chdir(tmp_path)
    connection = ibis.connect(postgres_url)
    connection.create_table("people", ibis.memtable(_table()), overwrite=True)
    url = f"{postgres_url}#released"
    for source in (_table(), f"{postgres_url}#people"):
        done = aegis.release(source, config=MASKS, policy=POLICY, out=url, overwrite=True)
        assert aegis.verify(url, done.certificate_path).verified
        rows = connection.table("released").to_pyarrow().to_pylist()
        assert min(Counter((row["age"], row["zip"]) for row in rows).values()) >= 4
        assert not [name for name in connection.list_tables() if name.startswith("aegis_draft")]
    with pytest.raises(OutputError, match="already"):
        aegis.release(_table(), config=MASKS, policy=POLICY, out=f"{postgres_url}#people")
    before = sorted(connection.list_tables())
    with pytest.raises(PolicyNotSatisfiedError):
        aegis.release(_table(), config={"name": "suppress"}, policy=POLICY, out=f"{postgres_url}#second")
    assert sorted(connection.list_tables()) == before
    connection.raw_sql("UPDATE released SET y = 7 WHERE age <> '*'")
    assert not aegis.verify(url, done.certificate_path).verified
