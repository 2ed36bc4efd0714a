"""The minimax chapter: closed forms that need no training, and sections from points that were made up."""

from __future__ import annotations

from typing import Any

import pytest

from aegis_papers import minimax_binary, minimax_gaussian
from aegis_papers.minimax import reproduce
from aegis_papers.minimax_closed_forms import closed_forms
from aegis_papers.minimax_full_size import FULL_BINARY
from aegis_papers.reproduction import Claim, Verdict
from aegis_papers.setting import Setting


def claim(claims: tuple[Claim, ...], words: str) -> Claim:
    (found,) = [one for one in claims if words in one.what]
    return found


def point(target: float, **other: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "target": target,
        "distortion": target,
        "claimed_distortion": 0.98 * target,
        "adversary_losses": [2 * target, target],
        "learned": target,
        "worst": target,
        "theory": target,
        "erasure": 1.3 * target,
        "ratio": 1.0,
        "interval": [0.9 * target, 1.1 * target],
        "exposure": {"pinned_share": 0.5, "reference_pinned_share": 0.4},
        "attacker": "exact",
        "method": "paper, 5 accepted",
        "baselines": {"at_own_distortion": target},
        "release": [[0.9, 0.1], [0.2, 0.8]],
    }
    return made | other


def test_the_closed_forms_are_the_papers_and_its_slips_are_named() -> None:
    claims = closed_forms().claims
    assert claim(claims, "Var[X|Z₁]").verdict is Verdict.SAME
    assert claim(claims, "Var[X|Z₂]").verdict is Verdict.SAME
    assert claim(claims, "Proposition 1 against its printed form").verdict is Verdict.SAME
    assert claim(claims, "against a fine grid").verdict is Verdict.SAME
    assert claim(claims, "the end of the sweep").verdict is Verdict.DIFFERENT
    more = claim(claims, "over Proposition 1 at 30 distortions")
    assert more.verdict is Verdict.NOT_COMPARABLE  # another family of releases than the paper's
    assert more.ours == pytest.approx(2.69, abs=0.05)
    assert claim(claims, "largest loss over Proposition 2").ours == pytest.approx(2.2, abs=0.01)
    # the coalition that motivates the paper does not exist in its covariance
    assert claim(claims, "two adversaries together").as_printed == pytest.approx(1.0, abs=0.001)
    assert claim(claims, "two adversaries together").printed is None  # the paper prints no number of it


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    weak = point(0.1, learned=0.3, worst=0.1, method="paper, 5 accepted, adversary stronger than claimed")
    made = {"gaussian": [point(1.0), point(4.0)], "bits": [point(0.02), weak], "ours": [point(0.1, worst=0.0995)]}
    monkeypatch.setattr(minimax_gaussian, "_protocol", lambda *_: made["gaussian"])
    monkeypatch.setattr(minimax_gaussian, "_ours", lambda *_, capped: [point(2.0, ratio=1.2 if capped else 2.6)])
    monkeypatch.setattr(minimax_binary, "_protocol", lambda *_: made["bits"])
    monkeypatch.setattr(minimax_binary, "_networks", lambda *_: made["ours"])
    return made


def test_a_weak_adversary_is_told_from_a_strong_privatizer(untrained: dict[str, list[dict[str, Any]]]) -> None:
    done = reproduce(Setting(chapter="minimax"))
    gaussian, bits = done.sections[1].claims, done.sections[2].claims
    assert claim(gaussian, "as the protocol reports it").verdict is Verdict.SAME
    assert claim(gaussian, "without a cap").ours == pytest.approx(2.6)
    assert not claim(gaussian, "without a cap").better  # one distortion shows nothing
    # as printed is the full-size run; the smaller one of the page is told beside it: twice the proposition reported,
    # no more than it in truth
    assert claim(bits, "as the protocol reports it").as_printed == FULL_BINARY.claimed_ratio
    assert "reports 2.00" in claim(bits, "as the protocol reports it").why
    assert claim(bits, "as the protocol reports it").verdict is Verdict.DIFFERENT
    assert claim(bits, "as it holds").as_printed == FULL_BINARY.audited_ratio
    assert "run of this page 1.00" in claim(bits, "as it holds").why
    assert "At 1 of 2 points" in claim(bits, "as it holds").why
    assert claim(bits, "networks with the gradient").ours == pytest.approx(0.995)
    assert claim(bits, "slope of the penalty").as_printed == pytest.approx(0.5)
    lines = {series.name for figure in done.sections[2].figures for series in getattr(figure, "series", ())}
    assert {"paper's training, reported", "the same, in truth", "Proposition 2", "erasure"} <= lines
    lines = {series.name for figure in done.sections[1].figures for series in getattr(figure, "series", ())}
    assert {"the same, audited", "Proposition 1 (noise)", "erasure", "modulo, time-shared"} <= lines


def test_no_accepted_trial_is_no_crash_and_a_quick_run_compares_nothing(
    untrained: dict[str, list[dict[str, Any]]],
) -> None:
    for points in untrained.values():
        points.clear()
    done = reproduce(Setting(chapter="minimax", quick=True))
    assert {one.verdict for section in done.sections[1:] for one in section.claims} == {Verdict.NOT_COMPARABLE}
    assert done.to_json()["sections"][2]["figures"]
