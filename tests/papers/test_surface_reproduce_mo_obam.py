"""``aegis reproduce mo-obam``: every table is a section, and claims are judged by what the paper prints."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")

from aegis.command_line import call

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
    assert all(claim["source"] for claim in claims)
    assert not any(claim["better"] for claim in claims)


def test_what_is_not_zheng_is_never_compared_with_it(quick: tuple[dict[str, Any], str]) -> None:
    claims = [claim for section in quick[0].values() for claim in section["claims"] if "Zheng" in claim["what"]]
    assert len(claims) > 20
    assert all(claim["as_printed"] is None for claim in claims)


def test_every_printed_score_stands_beside_the_recipe_and_ours(quick: tuple[dict[str, Any], str]) -> None:
    for name in ("Table VIIa", "Table VIIIa"):
        claims = [
            claim for claim in quick[0][name]["claims"] if "mean F1" in claim["what"] and "Zheng" not in claim["what"]
        ]
        assert all(any(f"k = {k}:" in claim["what"] for claim in claims) for k in QUICK_KS)
        trained = [claim for claim in claims if claim["what"].endswith(("DT", "NB", "LR", "RF"))]
        assert all(0 <= claim["as_printed"] <= 1 for claim in trained)
    ours = [claim["ours"] for claim in quick[0]["Table VIIa"]["claims"] if claim["what"].endswith("mean F1 of DT")]
    assert len(ours) == 1 + 2 * len(QUICK_KS)
    assert all(0 <= score <= 1 for score in ours)
    assert any(figure["kind"] == "ranges" for figure in quick[0]["Table VIIa"]["figures"])  # a plot beside the table


def test_l_is_kept_on_any_data(quick: tuple[dict[str, Any], str]) -> None:
    claims = [claim for section in quick[0].values() for claim in section["claims"]]
    certain = [
        claim["ours"]
        for claim in claims
        if claim["what"].startswith("MO-OBAM") and "secret is certain" in claim["what"]
    ]
    assert len(certain) == 6  # two tables: many classes where a cell can be read, four classes at every k
    assert max(certain) == 0
