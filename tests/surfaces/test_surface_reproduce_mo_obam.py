"""``aegis reproduce mo-obam``: every section is there, and claims are judged by what the paper prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("jinja2")

from aegis.evaluation.reproduction import Verdict
from aegis.workflows.reproduce.mo_obam_hypotheses import hypotheses
from aegis.workflows.reproduce.mo_obam_paper import ADULT, GERMAN, KS, MODELS


def test_the_mo_obam_paper_in_a_few_seconds(aegis: Callable[..., Any], tmp_path: Path) -> None:
    page = tmp_path / "mo-obam.html"
    answer = aegis("reproduce", "mo-obam", "--quick", "--json", "--report", page)
    assert answer.status == 0, answer.err
    sections = {section["title"].split(":")[0]: section for section in answer.json["sections"]}
    assert list(sections) == [
        "Table IV", "Table V", "Table VI", "Fig. 2", "Table VIIa", "Table VIIb", "Tables VIII to X", "Hypotheses",
    ]  # fmt: skip
    claims = [claim for section in sections.values() for claim in section["claims"]]
    assert {claim["verdict"] for claim in claims} == {"not comparable"}  # a clinic says nothing about the paper
    assert all(claim["source"] and claim["ours"] is not None for claim in claims)
    assert [claim["what"][:2] for claim in sections["Hypotheses"]["claims"]].count("H3") == 1
    assert {claim["source"].split()[0] for claim in sections["Table IV"]["claims"]} == {"Table"}
    zheng = [
        claim["what"] for claim in sections["Table IV"]["claims"] if claim["what"].startswith("Zheng et al., k = 5")
    ]
    assert {what.split(": ")[1][:10] for what in zheng} == {"classes", "informatio", "people at "}  # what is worse too
    certain = [c["ours"] for c in claims if c["what"].startswith("MO-OBAM") and "secret is certain" in c["what"]]
    assert len(certain) == 4
    assert max(certain) == 0  # l = 2 is kept on any data
    assert "Fig. 2a" in page.read_text(encoding="utf-8")


def test_the_printed_values_are_whole() -> None:
    for printed in (GERMAN, ADULT):
        assert len(printed.f1_baseline) == len(MODELS)
        assert all(set(rows) == set(KS) for rows in (printed.mdav, printed.zheng, printed.mo_obam))
        for rows in (printed.mdav, printed.mo_obam):
            assert all(a >= b >= c for a, b, c in (row.linkage for row in rows.values()))


@pytest.mark.parametrize(
    ("loss", "verdict"), [(0.1, Verdict.BETTER), (0.9, Verdict.DIFFERENT)], ids=["below both", "above both"]
)
def test_a_hypothesis_is_judged_by_the_rows(loss: float, verdict: Verdict) -> None:
    row = {"loss": 0.5, "linkage": [4, 0, 0], "homogeneity": 0, "smallest_class": 5}
    rows = {
        "a table": {"mdav": {"5": row}, "k-member": {"5": row}, "many": {"5": row}, "free": {"5": row | {"loss": loss}}}
    }
    model = {"against_original": [{"table": "many", "worse": True, "worse_corrected": False}]}
    claims = {claim.what: claim for claim in hypotheses({}, rows, {"a table": model}).claims}
    assert next(claim for what, claim in claims.items() if what.startswith("H1, classes free")).verdict is verdict
    assert next(claim for what, claim in claims.items() if what.startswith("H3")).verdict is Verdict.DIFFERENT
    assert next(claim for what, claim in claims.items() if what.startswith("eq. 17")).verdict is Verdict.BETTER
