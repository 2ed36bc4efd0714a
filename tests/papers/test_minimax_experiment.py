"""The minimax paper's experiments to the letter: its settings, its protocol, and the audit of what it publishes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from aegis.candidates.sanitizers.finite import binary_problem, coded_sample, finite_problem
from aegis.candidates.sanitizers.gaussian import paper_problem
from aegis.candidates.sanitizers.gaussian_curve import AuditRows, train_gaussian
from aegis.candidates.sanitizers.symbol_training import SymbolProgram
from aegis.candidates.sanitizers.trainings import TRAININGS, training_for
from aegis.errors import SanitizerError
from aegis_papers.minimax_binary_experiment import binary_settings, paper_binary_curve
from aegis_papers.minimax_gaussian_experiment import gaussian_settings, paper_curve
from aegis_papers.minimax_protocol import paper_points, paper_targets

PAPER = binary_problem(p=0.54, qy=0.2, qz=[0.44])


def test_the_papers_settings_run_in_raw_units_and_equal_seeds_give_equal_weights() -> None:
    problem = paper_problem()
    settings = gaussian_settings(epochs=2)
    assert (settings.penalty_weight, settings.batch_rows, settings.learning_rate) == (1000.0, 200, 1e-3)
    result, again = (
        train_gaussian(problem, aims=[2.0], trials=2, settings=settings, train_rows=1000, seed=3) for _ in range(2)
    )
    assert (again.layers[0][0] == result.layers[0][0]).all()
    assert (again.losses == result.losses).all()
    assert result.scale == 1.0
    assert result.distortion_by_epoch.shape == (1, 2, 2)
    assert (result.erasure_share == 0).all()
    # the privatizers of every epoch are kept: the protocol chooses an epoch, not the end
    first, last = result.weights_at(0, 1, 0)[0][0], result.weights_at(0, 1, 1)[0][0]
    assert (last == result.weights(0, 1)[0][0]).all()
    assert (first != last).any()


def test_the_papers_protocol_takes_medians_and_never_falls() -> None:
    targets = (1.0, 2.0)
    distortions = np.array([[[0.9, 0.99, 1.2], [0.7, 0.7, 0.6]], [[1.9, 1.8, 1.95], [1.9, 1.9, 1.9]]])
    losses = np.array([[[5.0], [6.0], [9.0]], [[8.0]] * 3, [[5.5], [5.0], [4.0]], [[7.0], [8.0], [7.5]]])
    first, second = paper_points(targets, distortions, losses.reshape(2, 2, 3, 1))
    # the third epoch of the first trial is above D and the second trial outside the tolerance
    assert (first.trial, first.adversary_losses, first.accepted) == (0, (6.0,), 1)
    # the first trial at 2.0 would let the curve fall
    assert (second.trial, second.adversary_losses) == (1, (7.5,))
    (empty,) = paper_points([1.0], np.full((1, 1, 2), 9.0), np.ones((1, 1, 2, 1)))
    assert empty.trial is None
    assert paper_targets(5.76, first=0.005)[-1] == pytest.approx(5.76)


def test_the_papers_loop_adds_trials_and_audits_the_epoch_it_chose() -> None:
    rounds: list[str] = []
    curve = paper_curve(
        paper_problem(),
        points=2,
        trials=1,
        epochs=6,
        most_rounds=2,
        rows=AuditRows(fit=3000, compare=3000, measure=30_000),
        attackers=("neighbours",),
        progress=lambda done, total, what: rounds.append(what.split(":")[0]),
    )
    # D0 is out of reach in so few epochs, so a second round was asked for; the other end has its point
    assert {"round 1", "round 2", "audit"} <= set(rounds)
    (point,) = [p for p in curve.points if p.target == pytest.approx(5.76)]
    assert point.method.startswith("paper, ")
    assert point.mixture is not None
    # after so few steps the adversary that was trained alongside is weak, and the audit says so
    assert point.learned is not None
    assert point.worst < 0.95 * point.learned
    assert "adversary stronger than claimed" in point.method
    assert point.exposure.reference_pinned_share is not None


def test_the_papers_numbers_are_the_papers() -> None:
    settings = binary_settings()
    assert (settings.epochs, settings.batch_rows, settings.hidden) == (1000, 200, 50)
    assert settings.rates == pytest.approx((5 * 0.01, 2 * 0.01, 0.01))
    assert (settings.rate_slope, settings.penalty_weight, settings.penalty) == (-0.98, 1.0, "symmetric")
    assert (settings.optimizer, settings.substitution, settings.decay) == ("radam", "probability", False)
    sample = coded_sample(PAPER, 400, rng=np.random.default_rng(1))
    made = SymbolProgram(sample, sample, settings)
    state = jax.eval_shape(made.initial_state, jnp.ones(1), jax.random.key(2))
    # 2 × 50 and 50 × 1 for everybody
    assert {tuple(w.shape for w, _ in network) for network in state["networks"]} == {((1, 2, 50), (1, 50, 1))}
    # 10,000 rows in batches of 200
    assert settings.steps_per_epoch == 50
    # no structured starts: nothing is added to the privatizer's logits
    assert state["start"].shape == (1, 1, 1)


def test_the_papers_binary_loop_says_what_it_claims_and_what_holds() -> None:
    curve = paper_binary_curve(
        PAPER,
        points=3,
        trials=2,
        settings=binary_settings(epochs=20),
        most_rounds=1,
        rows=6_000,
        attackers=("neighbours",),
    )
    assert curve.kind == "binary"
    assert {p.target for p in curve.points} <= {0.0025, 0.10125, 0.2}
    for point in curve.points:
        assert point.method.startswith("paper, ")
        assert point.table is not None
        # what holds is exact; what was claimed stands beside it, within the protocol's tolerance of the target
        assert point.worst == pytest.approx(float(PAPER.losses_of(point.table).min()))
        assert point.claimed_distortion is not None
        assert point.target - 0.1975 / 6 <= point.claimed_distortion <= point.target
        assert point.worst <= point.baselines["at_own_distortion"] + 1e-9
    claims = [point.learned or 0.0 for point in curve.points]
    assert claims == sorted(claims), "the published curve never falls"


def test_the_binary_protocol_needs_a_bit() -> None:
    three = finite_problem(
        prior=[0.5, 0.3, 0.2], authorized=0.7 * np.eye(3) + 0.1, adversaries=[np.full((3, 3), 1 / 3)]
    )
    with pytest.raises(SanitizerError, match="two values"):
        paper_binary_curve(three, points=2, trials=1)


def test_the_training_is_offered_by_name_where_this_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    training = training_for("paper", "gaussian")
    assert training.options({"steps": 100, "patience": None, "exposure_capped": False}, trials=1) == {"steps": 100}
    with pytest.raises(SanitizerError, match="does not use an early stop"):
        training.options({"patience": 3}, trials=1)
    with pytest.raises(SanitizerError, match="needs at least one trial"):
        training.options({}, trials=0)
    monkeypatch.delitem(TRAININGS._entries, "paper")
    with pytest.raises(SanitizerError, match="pip install aegis-papers"):
        training_for("paper", "gaussian")
