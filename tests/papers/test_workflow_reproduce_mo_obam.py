"""The MO-OBAM chapter: printed values that are whole, and verdicts that follow from them at the same k."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sklearn")

from aegis_papers.mo_obam_hypotheses import hypotheses
from aegis_papers.mo_obam_paper import ADULT, GERMAN, KS, MODELS, Printed
from aegis_papers.mo_obam_rivals import AHEAD, BEHIND, LEVEL, judge, standing
from aegis_papers.reproduction import Between, Claim, Verdict


@pytest.mark.parametrize("printed", [GERMAN, ADULT], ids=lambda one: one.table)
def test_the_printed_values_are_whole(printed: Printed) -> None:
    for rows in (printed.mdav, printed.zheng, printed.mo_obam):
        assert set(rows) == set(KS)
        assert all(a >= b >= c for a, b, c in (row.linkage for row in rows.values()))
    scores = [printed.f1_many, printed.f1_four, *(one for one in (printed.f1_mdav, printed.f1_zheng) if one)]
    assert all(set(one) == set(KS) for one in scores)
    assert {len(row) for one in scores for row in (*one.values(), printed.f1_baseline)} == {len(MODELS)}
    assert all(0.2 < value < 0.9 for one in scores for row in one.values() for value in row)
    assert {*printed.worse_many, *printed.worse_four} <= set(MODELS)


def test_the_text_and_the_printed_scores_agree() -> None:
    """What the text calls worse is lower in the printed means."""
    for printed in (GERMAN, ADULT):
        for worse, scores in ((printed.worse_many, printed.f1_many), (printed.worse_four, printed.f1_four)):
            for model, ks in worse.items():
                place = list(MODELS).index(model)
                assert all(scores[k][place] < printed.f1_baseline[place] for k in ks)


def _rows(*, loss: float, linkage: int) -> dict[str, dict[str, Any]]:
    row = {"loss": 0.5, "linkage": [4, 0, 0], "homogeneity": 0, "smallest_class": 20}
    ours = row | {"loss": loss, "linkage": [linkage, 0, 0]}
    return {
        method: {str(k): ours if method in ("many", "free") else row for k in KS}
        for method in ("mdav", "k-member", "many", "free")
    }


def _models(worse: int, *, splits: int) -> dict[str, Any]:
    """All models at every k and in both settings; the first ones are worse."""
    by_k: dict[str, Any] = {
        str(k): {
            "against_original": [
                {"table": table, "model": model, "worse": False, "worse_corrected": False, "difference": 0.0}
                for table in ("many", "four", "mdav")
                for model in MODELS.values()
            ]
        }
        for k in KS
    }
    for place in range(worse):
        by_k[str(KS[place % 4])]["against_original"][place // 4] |= {"worse": True, "difference": -0.02}
    return {"by_k": by_k, "splits": splits}


def _claims(*, loss: float = 0.1, linkage: int = 0, worse: int = 0, splits: int = 100) -> dict[str, Claim]:
    section = hypotheses(
        {"German credit": GERMAN, "Adult": ADULT},
        {name: _rows(loss=loss, linkage=linkage) for name in ("German credit", "Adult")},
        {name: _models(worse, splits=splits) for name in ("German credit", "Adult")},
    )
    return {claim.what: claim for claim in section.claims}


@pytest.mark.parametrize(("loss", "cases", "verdict"), [(0.1, 8, Verdict.BETTER), (0.9, 0, Verdict.DIFFERENT)])
def test_h1_counts_the_same_cases_as_the_paper(loss: float, cases: int, verdict: Verdict) -> None:
    claims = _claims(loss=loss)
    given = next(claim for what, claim in claims.items() if what.startswith("H1, the paper's"))
    assert (given.paper, given.ours, given.verdict) == (1, cases, verdict)  # printed: German credit at k = 20 alone
    assert "Paper: German credit k = 20;" in given.why
    assert next(claim for what, claim in claims.items() if what.startswith("H1, classes free")).verdict is verdict


@pytest.mark.parametrize(("linkage", "ours", "verdict"), [(0, 8, Verdict.BETTER), (5, 0, Verdict.DIFFERENT)])
def test_h2_counts_people_at_the_same_k(linkage: int, ours: int, verdict: Verdict) -> None:
    claims = _claims(linkage=linkage)
    at_005 = next(claim for what, claim in claims.items() if "at linkage risk at 0.05" in what)
    assert (at_005.paper, at_005.ours, at_005.verdict) == (6, ours, verdict)  # all but k = 20
    assert next(claim for what, claim in claims.items() if what.startswith("eq. 17")).verdict is Verdict.BETTER


def test_h3_compares_cells_of_every_k() -> None:
    claims = _claims(worse=3)
    german, adult = (claims[f"H3, {name}: {_BY_TEST}"] for name in ("German credit", "Adult"))
    assert (german.paper, german.ours, german.unit, german.verdict) == (3, 3, "of 48 cells", Verdict.SAME)
    assert adult.paper == Between(low=10, high=16)  # RF at all k twice, DT and LR with four classes at some
    assert adult.verdict is Verdict.BETTER
    assert _claims(worse=20)[f"H3, German credit: {_BY_TEST}"].verdict is Verdict.DIFFERENT


def test_h3_with_fewer_splits_than_the_paper_is_no_better() -> None:
    """A test that sees less finds less: only more differences than the paper's count against it."""
    claims = _claims(worse=3, splits=50)
    assert claims[f"H3, Adult: {_BY_TEST}"].verdict is Verdict.NOT_COMPARABLE
    assert claims[f"H3, German credit: {_BY_TEST}"].verdict is Verdict.SAME
    assert _claims(worse=20, splits=50)[f"H3, German credit: {_BY_TEST}"].verdict is Verdict.DIFFERENT


def test_h3_counts_falls_by_their_size() -> None:
    claims = _claims(worse=6)
    german, adult = (
        claims[f"H3, {name}: mean F1 that falls by more than 0.01, over both settings and all k"]
        for name in ("German credit", "Adult")
    )
    assert (german.paper, german.ours, german.verdict) == (0, 6, Verdict.DIFFERENT)  # LR falls by .0086 at most
    assert (adult.paper, adult.ours, adult.verdict) == (6, 6, Verdict.SAME)  # RF: two with 100 classes, four with 4
    assert adult.why == "DT with many classes at 4 of 4 k, LR with many classes at 2 of 4 k"


_BY_TEST = "models made worse by the test, over both settings and all k"


@pytest.mark.parametrize(
    ("first", "difference", "p", "expected"),
    [
        ("mdav", 0.02, 0.01, AHEAD),
        ("many", 0.02, 0.01, BEHIND),
        ("many", -0.02, 0.01, AHEAD),
        ("mdav", 0.02, 0.2, LEVEL),
    ],
)
def test_a_rival_is_ahead_whichever_is_named_first(first: str, difference: float, p: float, expected: str) -> None:
    second = "many" if first == "mdav" else "mdav"
    pair = {"first": first, "second": second, "model": MODELS["LR"], "difference": difference, "p": p}
    found = {"by_k": {"10": {"between": [pair]}}}
    assert standing(found, 10, rival="mdav", method="many", model="LR") == expected
    assert standing(found, 10, rival="mdav", method="many", model="DT") is None


@pytest.mark.parametrize(
    ("said", "ours", "weak", "expected"),
    [
        (AHEAD, AHEAD, True, Verdict.SAME),
        (AHEAD, LEVEL, False, Verdict.BETTER),
        (AHEAD, LEVEL, True, Verdict.NOT_COMPARABLE),
        (BEHIND, LEVEL, True, Verdict.NOT_COMPARABLE),
        (LEVEL, AHEAD, True, Verdict.DIFFERENT),
        (LEVEL, BEHIND, True, Verdict.BETTER),
    ],
)
def test_a_weak_test_that_finds_nothing_is_not_compared(said: str, ours: str, weak: bool, expected: Verdict) -> None:
    assert judge(said, ours, weak=weak) is expected
