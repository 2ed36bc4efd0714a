"""What a cap promises is kept where it was asked for, also of columns of tuples and single records, and said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers import capped_column
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import Evidence, audit
from aegis.candidates.sanitizers.audited_column import AuditedColumn, Fitted, refuse_unprotected
from aegis.candidates.sanitizers.capped_column import doubt_of_try, tightened
from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, zero_one
from aegis.candidates.sanitizers.capped_program import most_any_release_leaves, solve, with_bound
from aegis.candidates.sanitizers.caps import CERTAIN, MOST_LOCAL_DP, Caps
from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.law import UNDECIDED, Law, NearlySure, cone_of, exact_law, nearly_sure
from aegis.candidates.sanitizers.proof import (
    AdversaryProof,
    adversary_proofs,
    figures_over_set,
    law_free_figures,
)
from aegis.errors import SanitizerError, VerificationError

Table = dict[str, np.ndarray[Any, Any]]


def asked(law: Law, share: float, caps: Caps) -> CappedProblem:
    cost = zero_one(law.size)
    problem = CappedProblem(law=law, cost=cost, distortions=(1.0,), caps=caps)
    return replace(problem, distortions=(share * problem.silent_distortions[0],))


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3000, 2))
    return {
        "income": np.exp(0.6 * z[:, 0] + 0.2 * z[:, 1]),
        "job": np.array(["x", "y", "z"])[np.clip((0.4 * z[:, 0] + z[:, 1] + 1.5).astype(int), 0, 2)],
        "ill": np.where(z[:, 0] + 0.9 * rng.standard_normal(3000) > 0.3, "yes", "no"),
    }


def fitted(table: Table, distortion: float, **options: Any) -> Fitted:
    return fit(
        table["ill"],
        column="ill",
        authorized={"income": table["income"]},
        adversaries=[{"job": table["job"]}],
        distortion=distortion,
        names=("neighbours",),
        rng=np.random.default_rng(1),
        quick=True,
        **options,
    )


def test_a_cap_that_was_asked_for_has_no_exception_where_side_information_says_nearly_as_much() -> None:
    channel = np.array([[0.85, 0.15], [0.2, 0.8]])
    law = exact_law(np.array([0.8, 0.2]), [np.array([[0.7, 0.3], [0.3, 0.7]])], [channel])
    assert law.surest == pytest.approx(0.68 / 0.72)
    kept, halved = Caps(posterior=0.95, strict=True), Caps(posterior=0.95)
    figures = [figures_over_set(law, solve(asked(law, 0.97, caps)).release, caps)[0] for caps in (kept, halved)]
    assert figures[0] <= 0.95 + 1e-6 < figures[1], "half of the doubt that is left is beyond the cap"


@pytest.mark.parametrize("cap", [0.3, 0.6])
def test_a_cap_below_what_an_adversary_knows_is_refused_with_the_lowest_that_can_hold(table: Table, cap: float) -> None:
    with pytest.raises(SanitizerError, match=r"without any release; the lowest cap .* can hold is 0\.\d+$") as refusal:
        fitted(table, 0.2, caps=Caps(posterior=cap, strict=True))
    lowest = float(str(refusal.value).rsplit(" ", 1)[1])
    assert lowest > 0.6, "more than half of the records have one of two values"
    with pytest.raises(SanitizerError, match="no release keeps posterior at most"):
        fitted(table, 0.1, caps=Caps(posterior=lowest, strict=True))  # the cap can hold now, the distortion cannot
    assert fitted(table, 0.25, caps=Caps(posterior=cap)).proof is not None, "where nobody asked the doubt is halved"


def test_no_column_of_a_tuple_is_told_where_its_tuples_are_not() -> None:
    """Two yes-or-no columns: who shows the first and blurs the second leaves every tuple in doubt."""
    rng = np.random.default_rng(3)
    prior = np.full(4, 0.25)
    know = 0.6 * np.eye(4) + 0.4 * rng.dirichlet(np.ones(4), 4)
    law = exact_law(prior, [know], [0.05 * np.eye(4) + 0.95 * rng.dirichlet(np.full(4, 9.0), 4)])
    columns = (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    events = np.vstack([np.eye(2)[column].T for column in columns])
    caps = Caps(posterior=0.9)

    def told(release: np.ndarray[Any, Any]) -> float:
        joint = law.adversaries[0].T[:, None, :] * release.T[None]
        return float((joint @ events.T / joint.sum(axis=2, keepdims=True)).max())

    tuples_only = solve(asked(law, 0.5, caps))
    with_columns = solve(asked(replace(law, events=events), 0.5, caps))
    assert told(tuples_only.release) > 0.95
    assert told(with_columns.release) <= 0.9 + 1e-6
    assert with_columns.distortions[0] <= 0.5 * asked(law, 0.5, caps).silent_distortions[0] + 1e-6
    constant = np.ones((1, 4))
    assert cone_of(replace(law, events=events), caps).inside(constant).all(), "silence is always allowed"


def test_records_that_are_nearly_certain_are_kept_from_certainty_but_for_a_few() -> None:
    prior = np.array([[0.985, 0.015], [0.97, 0.03], [0.9, 0.1], [0.6, 0.4], [0.995, 0.005]] * 20)
    codes = np.zeros(100, dtype=np.int64)
    kept = nearly_sure([prior], codes, [np.arange(2)], undecided=UNDECIDED, share=0.2, of_set=0.5)
    assert [float(row.shares[0]) for row in kept] == [0.97], "the surest twenty are let go, the certain are certain"
    none_let_go = nearly_sure([prior], codes, [np.arange(2)], undecided=UNDECIDED, share=0.0, of_set=0.5)
    assert [float(row.shares[0]) for row in none_let_go] == [0.985]
    law = exact_law(np.array([0.7, 0.3]), [np.array([[0.8, 0.2], [0.3, 0.7]])], [np.full((2, 1), 1.0)])
    told = replace(law, nearly_sure=(NearlySure(values=np.array([1.0, 0.0]), shares=np.array([0.97, 0.03])),))
    for one, held in ((law, False), (told, True)):
        release = solve(asked(one, 0.6, Caps())).release
        weights = np.array([0.97, 0.03])[:, None] * release
        assert (float((weights / weights.sum(axis=0))[0].max()) < CERTAIN) == held


def test_where_caps_hold_is_said_and_measured(table: Table) -> None:
    wide = fitted(table, 0.2, caps=Caps(posterior=0.97, strict=True))
    assert wide.proof is not None
    assert wide.proof.posterior_under_law is not None
    assert wide.proof.posterior_under_law <= 0.97 + 1e-6
    assert wide.proof.holds_for_set == (wide.proof.posterior is not None and wide.proof.posterior <= 0.97 + 1e-6)
    few = replace(wide.proof, holds_for_set=False, posterior=0.995, exempt_share=0.02)
    assert "hold only if the law is as estimated from" in few.where_caps_hold
    assert "do not hold for every law that these rows allow, where posteriors reach up to 0.995" in few.where_caps_hold
    assert "2.0 % of the records" in few.where_caps_hold
    assert "hold for every law" in replace(few, holds_for_set=True).where_caps_hold
    written = few.to_json()
    assert written["in_words"][2] == few.where_caps_hold


def test_both_sides_of_the_loss_have_names_and_certificates_of_before_are_read(table: Table) -> None:
    result = fitted(table, 0.2)
    assert result.proof is not None
    content = json.loads(json.dumps(result.to_json()))
    proof = content["proof"]
    assert proof["least_loss"] <= proof["loss_under_law"] <= proof["most_any_release_leaves"]
    assert f"at least {proof['least_loss']:.4g}" in proof["in_words"][0]
    assert f"more than {proof['most_any_release_leaves']:.4g}" in proof["in_words"][1]
    assert "bound" not in proof
    before = {**proof, "bound": proof["most_any_release_leaves"], "program_loss": proof["loss_under_law"]}
    for name in ("most_any_release_leaves", "loss_under_law", "posterior_under_law", "exempt_share", "in_words"):
        del before[name]
    del before["caps"]["strict"]
    read = AuditedColumn.from_json({**content, "proof": before}).proof
    assert read is not None
    assert (read.loss_under_law, read.most_any_release_leaves) == (before["program_loss"], before["bound"])
    assert not read.caps.strict, "before, the doubt was halved"


def test_the_headline_is_the_strongest_attacker_of_all() -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(3000)
    view = View(release=(truth + 0.1 * rng.standard_normal(3000))[:, None], side=rng.standard_normal((3000, 1)))
    # a posterior that is taken for exact and is a little worse than what others make of the release
    exact = Evidence(view=view, exact=lambda seen: seen.release[:, 0] + 0.004)
    report = audit(truth, exact, [exact], epsilon=0.1, names=("neighbours",))
    for party in (report.distortion, *report.adversaries):
        assert party.loss == min(party.by_attacker.values())
        assert party.attacker == min(party.by_attacker, key=lambda name: party.by_attacker[name])
        assert party.interval[0] <= party.loss <= party.interval[1]


def test_a_release_that_protects_from_nobody_is_refused_and_one_that_hardly_does_says_so(table: Table) -> None:
    result = fitted(table, 0.2)
    refuse_unprotected(result)
    reached = result.groups[0].reconstruction.loss

    def erring(loss: float) -> AuditedColumn:
        parties = tuple(replace(party, loss=loss) for party in result.audit.adversaries)
        return replace(result, audit=replace(result.audit, adversaries=parties))

    with pytest.raises(VerificationError, match="does not protect from adversary 1"):
        refuse_unprotected(erring(reached))
    assert "nothing protects from it" in erring(reached).unprotected[0]
    assert "next to nothing" in erring(1.02 * reached).unprotected[0]
    assert erring(1.2 * reached).unprotected == erring(1.2 * reached).cautions == ()
    assert "aegis sanitize would refuse it" in erring(reached).cautions[-1]
    assert erring(1.02 * reached).cautions == erring(1.02 * reached).unprotected, "it is written, with a warning"
    refuse_unprotected(replace(erring(reached), method="silence"))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("cap", [0.3, 0.5, 0.8, 0.98])
def test_a_cap_is_never_loosened_where_it_is_to_be_tightened(cap: float, strict: bool) -> None:
    for doubt in (1.0, 3.5, 10.0):
        caps = tightened(Caps(posterior=cap, local_dp=2.0, strict=strict), doubt, surest=min(cap, 0.6))
        assert caps.posterior is not None
        assert caps.posterior <= cap
        assert caps == Caps(posterior=caps.posterior, local_dp=2.0, strict=strict)
    assert tightened(Caps(), 5.0, surest=0.0).posterior == pytest.approx(0.9), "no cap leaves a doubt of 0.02"


@pytest.mark.parametrize("more", ["nearly_sure", "events", "cap"])
def test_what_any_release_leaves_is_bounded_by_what_was_asked_and_nothing_else(more: str) -> None:
    """A bound under further rows or a tighter cap is beaten by a release that keeps what was asked."""
    rng = np.random.default_rng(3)
    know = 0.6 * np.eye(4) + 0.4 * rng.dirichlet(np.ones(4), 4)
    law = exact_law(np.full(4, 0.25), [know], [0.05 * np.eye(4) + 0.95 * rng.dirichlet(np.full(4, 9.0), 4)])
    caps = Caps(posterior=0.9)
    problem = asked(law, 0.5, caps)
    nearly = np.array([0.04 / 3 + (1 - 0.16 / 3) * value for value in np.eye(4)])  # 0.96 of one value
    sure = tuple(NearlySure(values=value, shares=shares) for value, shares in zip(np.eye(4), nearly, strict=True))
    further = {
        "nearly_sure": replace(problem, law=replace(law, nearly_sure=sure)),
        "events": replace(problem, law=replace(law, events=np.repeat(np.eye(2), 2, axis=1))),
        "cap": replace(problem, caps=tightened(caps, 3.0, surest=law.surest)),
    }[more]
    release = solve(problem)
    assert cone_of(law, caps).inside(release.release.T).all()
    assert release.distortions[0] <= problem.distortions[0] + 1e-6
    assert with_bound(further, solve(further)).bound < release.worst - 1e-3, "what was said to be the most"
    most = most_any_release_leaves(replace(further, caps=caps))
    assert release.worst <= most <= 1.01 * release.worst


def test_a_proof_is_of_the_caps_that_were_asked_for(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the release was found under a tighter cap, others that keep what was asked leave more."""
    bounded: list[CappedProblem] = []

    def seen(problem: CappedProblem) -> float:
        bounded.append(problem)
        return most_any_release_leaves(problem)

    monkeypatch.setattr(capped_column, "_TRIES", ((0.05, 3.0),))
    monkeypatch.setattr(capped_column, "most_any_release_leaves", seen)
    caps = Caps(posterior=0.97)
    proof = fitted(table, 0.22, caps=caps).proof
    assert proof is not None
    (problem,) = bounded
    assert problem.caps == proof.caps == caps
    problem = replace(problem, law=problem.law.estimate)
    other = solve(problem)
    under_tighter = replace(problem, caps=tightened(caps, 3.0, surest=0.0))
    assert with_bound(under_tighter, solve(under_tighter)).bound < other.worst
    assert proof.loss_under_law < other.worst <= proof.most_any_release_leaves
    assert proof.gap == pytest.approx(1 - proof.loss_under_law / proof.most_any_release_leaves)


def test_every_try_that_measured_rows_may_choose_has_its_share_of_the_doubt(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that have said which release is the last one prove less of it than rows that see it first."""
    tries = range(1, len(capped_column._TRIES) + 1)
    assert sum(doubt_of_try(number) for number in tries) <= (1 - capped_column.CONFIDENCE) / 2
    doubts: list[float] = []

    def seen(*losses: Any, doubt: float, **figures: Any) -> tuple[AdversaryProof, ...]:
        doubts.append(doubt)
        return adversary_proofs(*losses, doubt=doubt, **figures)

    monkeypatch.setattr(capped_column, "adversary_proofs", seen)
    monkeypatch.setattr(capped_column, "_TRIES", ((0.6, None),) * 3)
    first = fitted(table, 0.22).proof
    answers = iter(["too certain", "too certain", None])
    monkeypatch.setattr(capped_column, "too_certain", lambda *_, **__: next(answers))
    third = fitted(table, 0.22).proof
    assert doubts == [doubt_of_try(1), doubt_of_try(3)]
    assert first is not None
    assert third is not None
    assert third.least_loss < third.loss_under_law


@pytest.mark.parametrize("seed", range(4))
def test_no_adversary_is_said_to_err_more_than_without_the_release(seed: int) -> None:
    """Its columns tell nothing and the release next to nothing: whichever rows are drawn, both are measured on them."""
    rng = np.random.default_rng(seed)
    known = rng.standard_normal(900)
    table = {
        "income": known,
        "job": rng.choice(["x", "y", "z"], 900),
        "ill": np.where(known + 0.5 * rng.standard_normal(900) > 0, "yes", "no"),
    }
    found = fitted(table, 0.16, caps=Caps(local_dp=1.5))
    for party, without in zip(found.audit.adversaries, found.saturation_losses, strict=True):
        assert party.loss <= without == party.by_attacker["side alone"]


@pytest.mark.parametrize("epsilon", [12.0, 16.0, 25.0])
@pytest.mark.parametrize("cost_of", [zero_one, LogCost])
def test_a_large_epsilon_is_kept_exactly_although_a_program_rounds(epsilon: float, cost_of: Any) -> None:
    """A probability of e^-16 is smaller than what a program takes for zero, and zero is no local privacy at all."""
    rng = np.random.default_rng(0)
    law = exact_law(np.full(3, 1 / 3), [rng.dirichlet(np.ones(4), 3)], [rng.dirichlet(np.full(4, 9.0), 3)])
    problem = replace(asked(law, 0.1, Caps(local_dp=epsilon)), cost=cost_of(3))
    found = solve(replace(problem, distortions=(0.1 * problem.silent_distortions[0],)))
    reached = law_free_figures(found.release)[1]
    assert reached is not None
    assert reached <= epsilon + 1e-5
    assert np.allclose(found.release.sum(axis=1), 1.0)


def test_the_nearest_epsilon_is_one_that_may_be_asked_for() -> None:
    assert Caps(local_dp=20.0).looser("local_dp", 1.0).local_dp == MOST_LOCAL_DP


def test_a_release_beyond_its_local_privacy_is_not_written(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capped_column, "law_free_figures", lambda release: (0.0, None))
    with pytest.raises(VerificationError, match="exactly; nothing is written"):
        fitted(table, 0.2, caps=Caps(local_dp=3.0))


def test_a_cap_of_one_is_called_none() -> None:
    assert Caps(posterior=1.0).describe() == "posterior at most 1 (no cap at all)"
