"""The page of a tuning: the recommendation, a map for each k, and the command that makes the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import aegis


def test_the_page_holds_the_recommendation_and_the_command_that_follows_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "age": rng.integers(20, 80, 120),
            "gender": rng.choice(["female", "male"], 120),
            "diagnosis": rng.choice(["asthma", "flu", "gout"], 120),
        }
    )
    page = tmp_path / "tuning.html"
    tuned = aegis.tune(
        table,
        quasi=["age", "gender"],
        sensitive=["diagnosis"],
        k_values=[4, 8],
        classes_values=[3, 5],
        trade_off_values=[0.0, 1.0],
        rounds=2,
        search=False,
        jobs=1,
        report=page,
    )
    html = page.read_text(encoding="utf-8")
    best = tuned.tuning.recommended.setting
    assert f"{best.classes} classes, λ {best.trade_off:g}, k {best.k}" in html
    assert html.count("<svg") >= 3  # a map for each k and the front
    assert f"--k {best.k} " in html
    assert "--sensitive diagnosis" in html
    assert "asthma" not in html  # a value of the table is no part of it
