"""The page of a trade-off curve: one without training, with its ratio to the closed form and what each point shows."""

from __future__ import annotations

from pathlib import Path

import aegis


def test_the_page_says_the_ratio_and_draws_both_curves(tmp_path: Path) -> None:
    page = tmp_path / "curve.html"
    drawn = aegis.curve_binary(points=2, trials=0, attackers=["neighbours"], report=page)
    html = page.read_text(encoding="utf-8")
    assert f"{drawn.mean_ratio:.2f} times Proposition 2 in the mean" in html
    assert html.count("<svg") >= 2
    assert "the best release with two symbols" in html
