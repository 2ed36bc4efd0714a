"""``aegis reproduce mo-obam``: every table is a section, and claims are judged by what the paper prints."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")

from aegis.main import call

QUICK_KS = (5, 10)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What the command answers, by section, and its page; made once for all tests."""
    page, printed = tmp_path_factory.mktemp("page") / "mo-obam.html", io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert call(["reproduce", "mo-obam", "--quick", "--json", "--report", str(page)]) == 0
    sections = json.loads(printed.getvalue())["sections"]
    return {section["title"].split(":")[0]: section for section in sections}, page.read_text(encoding="utf-8")


def test_every_table_of_the_paper_is_a_section(quick: tuple[dict[str, Any], str]) -> None:
    sections, page = quick
    assert list(sections) == [
        "Table IVa", "Table IVb", "Table Va", "Table Vb", "Table VI", "Fig. 2", "Table VIIa", "Table VIIb",
        "Table VIIc", "Table VIIIa", "Table VIIIb", "Table IXa", "Table IXb", "Table X", "Feature importances",
        "Hypotheses",
    ]  # fmt: skip
    assert all(section["claims"] for section in sections.values())
    assert all(f"<h2>{section['title']}</h2>" in page for section in sections.values())


def test_a_quick_run_says_nothing_about_the_paper(quick: tuple[dict[str, Any], str]) -> None:
    claims = [claim for section in quick[0].values() for claim in section["claims"]]
    assert {claim["verdict"] for claim in claims} == {"not comparable"}
    assert all(claim["source"] and claim["ours"] is not None for claim in claims)


def test_models_are_trained_at_every_k(quick: tuple[dict[str, Any], str]) -> None:
    for name in ("Table VIIa", "Table VIIb", "Table VIIc", "Table VIIIa", "Table IXa", "Table IXb", "Table X"):
        figure = quick[0][name]["figures"][0]
        ks = {row[figure["columns"].index("k")] for row in figure["rows"]} - {""}
        assert ks == set(QUICK_KS), name
    for name in ("Table VIIa", "Table VIIIa"):
        printed = [claim for claim in quick[0][name]["claims"] if "mean F1" in claim["what"]]
        assert all(any(f"k = {k}:" in claim["what"] for claim in printed) for k in QUICK_KS)


def test_l_is_kept_on_any_data(quick: tuple[dict[str, Any], str]) -> None:
    claims = [claim for section in quick[0].values() for claim in section["claims"]]
    certain = [
        one["ours"] for one in claims if one["what"].startswith("MO-OBAM") and "secret is certain" in one["what"]
    ]
    assert len(certain) == 6  # two tables: many classes where a cell can be read, four classes at every k
    assert max(certain) == 0
