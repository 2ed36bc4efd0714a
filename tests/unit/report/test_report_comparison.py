"""The words of a comparison: a loss is named, chance is not, and a gain is not praised."""

from __future__ import annotations

from typing import Any

import pytest

from aegis.evaluation.comparison_result import Comparison, F1Difference, F1Score
from aegis.report.comparison_report import render_comparison

pytest.importorskip("jinja2")

RISK: dict[str, Any] = {
    "classes_seen": 9, "smallest_class": 5, "linkage": {"0.05": 3, "0.075": 2, "0.1": 1}, "homogeneity": 0,
}  # fmt: skip


def _page(*, difference: float, half: float, p: float, tested_on: Any = "released") -> str:
    scores = [
        F1Score(table=table, model="svm", f1=f1, interval=(f1 - 0.1, f1 + 0.1), f1_by_split=(f1, f1))
        for table, f1 in (("original", 0.6), ("mdav", 0.6 + difference))
    ]
    comparison = Comparison(
        label="ill", positive="yes", balance="none", tested_on=tested_on, rows=100, rare_share=0.3, splits=2,
        training_rows=75, test_rows=25, models=("svm",), tables=("original", "mdav"), scores=tuple(scores),
        against_original=(
            F1Difference(
                first="mdav", second="original", model="svm", f1_difference=difference,
                interval=(difference - half, difference + half), u=1.0, p_value=p, p_adjusted=p,
            ),
        ),
        between=(), importances=(), trained=4, cpu_seconds=1.0,
    )  # fmt: skip
    releases = {"mdav": {**RISK, "information_loss": 0.01, "seconds": 1.0, "before": RISK}}
    return render_comparison(comparison, releases, source="table", quasi=["age"], sensitive=[], notes=["a note"])


def test_a_loss_is_named() -> None:
    page = _page(difference=-0.05, half=0.01, p=0.001)
    assert "<h1>mdav costs some models</h1>" in page
    assert "1 of 1 comparisons" in page
    assert "▼" in page
    assert "a note" in page


@pytest.mark.parametrize(("half", "p"), [(0.1, 0.001), (0.01, 0.2)])
def test_either_doubt_is_enough_not_to_call_it_a_loss(half: float, p: float) -> None:
    assert "<h1>No model can be shown to lose</h1>" in _page(difference=-0.05, half=half, p=p)


def test_a_gain_on_released_records_is_suspicious_and_on_original_ones_is_not() -> None:
    assert "<h1>mdav seems to tell more than the original</h1>" in _page(difference=0.05, half=0.01, p=0.001)
    page = _page(difference=0.05, half=0.01, p=0.001, tested_on="original")
    assert "No model can be shown to lose" in page
    assert "suspicion" not in page
