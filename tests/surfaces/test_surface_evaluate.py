"""``aegis evaluate``: the exhaustive way on a table of one's own, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Aegis = Callable[..., Any]


def test_the_contract_and_a_second_run_that_trains_nothing(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    ask = (
        "evaluate", clinic / "clinic.csv", "--generate", "4", "--models", "logistic-regression", "--splits", "2",
        "--most-rows", "300", "--shortlist", "2", "--cache", tmp_path / "results.jsonl", "--json",
    )  # fmt: skip
    answer = aegis(*ask, "--report", tmp_path / "page.html")
    assert answer.status == 0, answer.err
    (table,) = answer.json["datasets"]
    assert {"name", "rows", "attributes", "selectors"} <= set(table)
    assert len(table["gold"]["configurations"]) == 4
    names = {one["name"] for one in table["selectors"]}
    assert {"pair-prediction", "verify-2", "random", "Aegis+1D mutual-information", "Mascara"} <= names
    for one in table["selectors"]:
        assert {"name", "spearman", "kendall", "regret", "top5", "cpu_seconds"} <= set(one)
        assert one["regret"] >= 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "://" not in page.replace("http://www.w3.org/", "")
    kept = (tmp_path / "results.jsonl").read_bytes()
    again = aegis(*ask).json["datasets"][0]
    assert again["gold"]["configurations"] == table["gold"]["configurations"]
    assert (tmp_path / "results.jsonl").read_bytes() == kept, "nothing was trained again"


def test_an_unknown_model_is_said(aegis: Aegis, clinic: Path) -> None:
    answer = aegis("evaluate", clinic / "clinic.csv", "--generate", "2", "--models", "magic")
    assert answer.status == 2
    assert "magic" in answer.err
