"""The search for a release goes down to what the caps allow, and a refusal names a distortion that would do."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers import symbol_tuning
from aegis.candidates.sanitizers.capped_problem import CappedProblem, zero_one
from aegis.candidates.sanitizers.capped_program import CappedOptimum
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator, Split
from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.law import exact_law
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.candidates.sanitizers.written import Written
from aegis.errors import AegisError, VerificationError

ROWS, ASKED, LOWEST, MORE = 7_500, 0.152, 0.1402, 0.004
"""Of one group: rows, its distortion, the smallest aim under the caps, and what its reconstructor errs beyond it."""


@pytest.fixture
def aims(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The aims for which a release was asked, in a world where every error is known."""
    seen: list[float] = []

    def solved(problem: CappedProblem, **_: Any) -> CappedOptimum | None:
        seen.append(problem.distortions[0])
        if problem.distortions[0] < LOWEST:
            return None
        return CappedOptimum(
            release=np.full((2, 1), problem.distortions[0]),
            distortions=problem.distortions,
            adversary_losses=(0.3,),
            bound=0.3,
            value=0.3,
        )

    def wrong(rows: int, share: float) -> np.ndarray[Any, Any]:
        return (np.arange(rows) < round(rows * share)).astype(float)

    def tuning_losses(self: Evaluator, drawn: Drawn) -> list[np.ndarray[Any, Any]]:
        return [wrong(ROWS, float(drawn.values[0, 0]) + MORE)]

    monkeypatch.setattr(symbol_tuning, "solve_or_none", solved)
    monkeypatch.setattr(Evaluator, "tuning_losses", tuning_losses)
    monkeypatch.setattr(Evaluator, "losses", lambda self, drawn, rows, group: wrong(ROWS, 0.16))
    return seen


COLUMN: Any = SimpleNamespace(drawn=lambda release, rng: Drawn(None, release))  # type: ignore[arg-type]


def asked(distortion: float) -> tuple[CappedProblem, Evaluator]:
    cost, even = zero_one(2), np.array([0.5, 0.5])
    law = exact_law(even, [np.array([[0.7, 0.3], [0.3, 0.7]])], [np.array([[0.6, 0.4], [0.4, 0.6]])])
    problem = CappedProblem(law=law, cost=cost, distortions=(distortion,), caps=Caps(posterior=0.98))
    sides = [np.zeros((6 * ROWS, 1))] * 2
    rng = np.random.default_rng(0)
    split = Split(column="x", sides=sides, names=(), rng=rng, quick=True, distortions=(distortion,))
    return problem, Evaluator(split=split, truth=np.zeros(6 * ROWS), beliefs=())


def test_an_aim_that_the_caps_do_not_allow_ends_no_search(aims: list[float]) -> None:
    problem, evaluator = asked(ASKED)
    found = symbol_tuning._spent(problem, COLUMN, evaluator, (ASKED,))
    assert found is not None
    assert min(aims) < LOWEST, "a step went too far"
    assert not found.short, "and the release between was found"
    assert LOWEST <= found.problem.distortions[0] < ASKED


def test_of_releases_that_all_err_too_much_the_nearest_is_kept_and_says_what_it_needs(aims: list[float]) -> None:
    problem, evaluator = asked(0.1405)
    found = symbol_tuning._spent(problem, COLUMN, evaluator, (0.1405,))
    assert found is not None
    assert found.short
    assert 0.1405 < LOWEST + MORE < found.needed[0] < 0.155
    with pytest.raises(
        VerificationError, match=r"\(it has 0\.16\).* tells it more; a distortion of about 0\.15\d* would"
    ):
        symbol_tuning._accepted(found, COLUMN, evaluator)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_distortion_that_a_refusal_names_would_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((3000, 2))
    ill = np.where(z[:, 0] + 0.9 * rng.standard_normal(3000) > 0.3, "yes", "no")
    job = np.array(["x", "y", "z"])[np.clip((0.4 * z[:, 0] + z[:, 1] + 1.5).astype(int), 0, 2)]

    def error_at(distortion: float) -> float:
        return fit(
            ill,
            column="ill",
            authorized={"income": np.exp(0.6 * z[:, 0] + 0.2 * z[:, 1])},
            adversaries=[{"job": job}],
            distortion=distortion,
            caps=Caps(local_dp=1.5),
            names=("neighbours",),
            rng=np.random.default_rng(1),
            quick=True,
        ).reconstruction.loss

    with pytest.raises(AegisError, match="a distortion of about") as refused:
        error_at(0.1)
    (named,) = re.findall(r"a distortion of about ([0-9.]+)", str(refused.value))
    assert error_at(float(named)) <= float(named)


def test_how_far_beliefs_lie_beyond_the_cap_is_said() -> None:
    beyond = Written(column="x", equal=0.0, determined=0.0, both_files_loss=0.1, above_cap=0.036, highest=0.9823)
    assert "for 3.6 % of the records" in beyond.beyond_cap
    assert "more than the cap on posteriors, up to 0.982;" in beyond.beyond_cap
    few = Written(column="x", equal=0.0, determined=0.0, both_files_loss=0.1, above_cap=0.0002)
    assert "for fewer than 0.1 % of the records" in few.beyond_cap


def test_what_is_determined_stands_beside_what_was_before() -> None:
    from aegis.candidates.sanitizers.audited_column import AuditedColumn, Protection

    def sure(share: float) -> Certainty:
        return Certainty(certain=share, by_value=(), epsilons=(), pinned=(), loss=0.1)

    audited = AuditedColumn(
        column="x",
        method="program under caps",
        groups=(),
        saturation_losses=(),
        audit=None,  # type: ignore[arg-type]
        protection=(Protection(before=sure(0.02), after=sure(0.03)), Protection(before=sure(0.09), after=sure(0.097))),
    )
    assert (audited.determined_before, audited.determined) == (0.09, 0.097)
