"""Counts leave an engine, rows do not: what the client receives is counted at the doors of the drivers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import aegis
from aegis.inspection.first_rows import LOOKED_AT
from aegis.privacy.policy import Policy

ROWS = 45_000  # more than pairs are counted on, so that a sample is drawn as well
POLICY = Policy.from_yaml("{quasi_identifying: [age, town], k: 5, label: y, max_suppression: 0.2}")
MASKS = {"age": {"bucketize": {"width": 20}}, "town": "pseudonym", "day": {"date_truncate": {"unit": "month"}}}


def _table() -> pa.Table:
    rng = np.random.default_rng(8)
    age = rng.integers(0, 80, ROWS)
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(ROWS) < 0.01),
            "town": rng.choice(["ulm", "bonn", "jena", "köln"], ROWS),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 60, ROWS).astype("timedelta64[D]"),
            "y": np.where(rng.random(ROWS) < age / 80, "yes", "no"),
        }
    )


def test_summarize_check_and_release_receive_counts_only(
    address: Callable[[pa.Table], tuple[str, str]], received: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", "a key that only this test knows")
    engine, table = address(_table())
    received.rows = 0
    aegis.inspect(table, engine=engine)
    summary = aegis.summarize(
        table, engine=engine, label="y", generate=5, seed=1, race=False, score=["pair-prediction"]
    )
    assert summary.rows == ROWS
    assert summary.scores["pair-prediction"].sample_rows == pytest.approx(40_000, rel=0.02)
    assert aegis.check(table, engine=engine, config=MASKS, policy=POLICY).satisfied
    done = aegis.release(table, engine=engine, config=MASKS, policy=POLICY, out=f"{engine}#released", overwrite=True)
    assert done.rows == ROWS
    assert aegis.verify(f"{engine}#released", done.certificate_path).verified
    assert aegis.verify("released", done.certificate_path, engine=engine).verified
    # Values with labels, classes, pairs of values: thousands at most, and each of them a count. A release also holds
    # the first rows side by side, to see what quasi-identifiers tell.
    assert received.rows < LOOKED_AT + ROWS / 3
    assert received.rows > 0 or engine.startswith("duckdb"), "embedded: the engine is in the client"
    here = aegis.summarize(_table(), label="y", generate=5, seed=1, race=False, score=["pair-prediction"])
    for name, attribute in here.attributes.items():
        joint = summary.attributes[name].joint
        assert joint is not None
        assert attribute.joint is not None
        assert joint.counts.tolist() == attribute.joint.counts.tolist()
