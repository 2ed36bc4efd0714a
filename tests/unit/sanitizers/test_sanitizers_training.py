"""Training: same seed same weights, the constraint is met, structure survives, and the referee tells the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aegis.candidates.sanitizers.checkpoint import load_training, save_training
from aegis.candidates.sanitizers.finite import binary_problem, finite_problem, optimum
from aegis.candidates.sanitizers.gaussian import paper_problem, proposition_1
from aegis.candidates.sanitizers.learned import Learned
from aegis.candidates.sanitizers.protocol import paper_points, paper_targets
from aegis.candidates.sanitizers.starts import period_for, start_weights
from aegis.errors import SanitizerError

pytest.importorskip("jax")

from aegis.candidates.sanitizers.finite_training import train_finite
from aegis.candidates.sanitizers.gaussian_audit import AuditRows
from aegis.candidates.sanitizers.gaussian_training import gaussian_sample, measured_library, train_gaussian
from aegis.candidates.sanitizers.paper_gaussian import paper_curve
from aegis.candidates.sanitizers.training import Trained, train
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings

SHORT = TrainingSettings(steps=600, epochs=6, warmup_steps=100)


@pytest.fixture(scope="module")
def trained() -> Trained:
    problem = paper_problem()
    return train_gaussian(problem, aims=[1.44, 4.32], trials=4, settings=SHORT, train_rows=4000)


def test_training_holds_the_distortion_and_beats_plain_noise(trained: Trained) -> None:
    problem = paper_problem()
    library = measured_library(problem, trained, epsilon=0.4, with_exposure=False, rows=40_000)
    # the first two components are silence and disclosure
    ratios = [
        losses.min() / proposition_1(problem, distortion=d).worst
        for d, losses in zip(library.distortions[2:], library.losses[2:], strict=True)
    ]
    assert max(ratios) > 1.8
    assert min(ratios) > 0.9
    assert np.abs(trained.distortion[0] / 1.44 - 1).min() < 0.2


def test_the_tabulated_referee_agrees_with_draws(trained: Trained) -> None:
    problem = paper_problem()
    rng = np.random.default_rng(0)
    samples = problem.sample(60_000, rng=rng)
    for point in (0, 1):
        component = Learned(
            layers=tuple(trained.weights(point, 0)), center=trained.center, scale=trained.scale, mean=4.0, std=4.0
        )
        released = component.release(samples[:, 0], rng)
        for party in (problem.authorized, *problem.adversaries):
            variance = problem.conditional_variance(party)
            guess = component.posterior_mean(released, problem.score(samples, party), variance)
            assert ((samples[:, 0] - guess) ** 2).mean() == pytest.approx(component.loss(variance), rel=0.06)
        assert 0.0 < component.pinned(9.24, 0.4) <= 1.0
        shares = component.error_share(np.array([0.1, 1.0, 30.0]), 9.24)
        assert shares[0] < shares[1] < shares[2] == pytest.approx(1.0)


def test_the_referee_knows_plain_noise() -> None:
    # a network that is exactly x + noise must be refereed as Proposition 1 says
    layers = start_weights("noise", hidden=4, period=1.0, noise=0.3, rng=np.random.default_rng(0))
    layers[1][0][2:] = 0.0
    component = Learned(layers=tuple(layers), center=0.0, scale=1.0, mean=0.0, std=1.0)
    for variance in (1.0, 0.5, 0.1):
        assert component.loss(variance) == pytest.approx(variance * 0.09 / (variance + 0.09), rel=0.02)


@pytest.mark.parametrize("start", ["fold", "modulo"])
def test_structured_starts_are_the_waves_they_name(start: str) -> None:
    layers = start_weights(start, hidden=50, period=1.7, noise=0.0, rng=np.random.default_rng(1))  # type: ignore[arg-type]
    layers[1][0][np.abs(layers[1][0]) < 0.02] = 0.0
    component = Learned(layers=tuple(layers), center=0.0, scale=1.0, mean=0.0, std=1.0)
    x = np.linspace(-2.0, 0.2, 300)
    f = component.release(x, np.random.default_rng(2))
    again = component.release(x + 1.7, np.random.default_rng(2))
    # periodic, apart from the steep pieces of the sawtooth
    assert (np.abs(f - again) < 0.05).mean() > 0.9
    assert f.max() - f.min() < 1.9


def test_the_period_of_a_start_leaves_the_wanted_distortion() -> None:
    from aegis.candidates.sanitizers.components import Modulo

    for distortion in (0.02, 0.1, 0.3):
        assert Modulo(period=period_for(distortion, 0.36)).loss(0.36) == pytest.approx(distortion, rel=0.03)


def test_the_papers_settings_run_in_raw_units_and_equal_seeds_give_equal_weights() -> None:
    problem = paper_problem()
    settings = TrainingSettings.paper(epochs=2)
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


def test_a_cap_on_exposure_lowers_exposure(trained: Trained) -> None:
    # the first trial of both runs has the same start
    capped = train_gaussian(
        paper_problem(), aims=[4.32], trials=1, settings=SHORT, caps=[[0.12, 0.12]], train_rows=4000
    )
    free, held = (
        Learned(layers=tuple(run.weights(point, 0)), center=run.center, scale=run.scale, mean=4.0, std=4.0)
        for run, point in ((trained, 1), (capped, 0))
    )
    assert capped.starts[0] == trained.starts[0]
    assert held.pinned(9.24, 0.4) < free.pinned(9.24, 0.4) - 0.05


def test_any_differentiable_loss_plugs_in_and_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    import jax.numpy as jnp

    sample = gaussian_sample(paper_problem(), 500, rng=np.random.default_rng(0))
    settings = TrainingSettings(
        steps=20,
        epochs=4,
        hidden=20,
        loss=lambda truth, guess: jnp.log(jnp.cosh(truth - guess)),
        warmup_steps=0,
        inner_steps=1,
    )

    def run(checkpoint: Path | None = None, stop_after: int | None = None, seed: int = 0) -> Trained:
        def interrupt(done: int, total: int) -> None:
            epochs.append(done)
            if done == stop_after:
                raise KeyboardInterrupt

        return train(
            sample,
            sample,
            targets=[0.5],
            trials=2,
            blank=(5.0, [9.0, 9.0]),
            settings=settings,
            seed=seed,
            checkpoint=checkpoint,
            progress=interrupt,
        )

    epochs: list[int] = []
    whole = run()
    assert np.isfinite(whole.losses).all()
    kept = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        run(kept, stop_after=2)
    epochs.clear()
    resumed = run(kept)
    assert epochs == [3, 4], "what was done is not done again"
    assert (resumed.losses_by_epoch == whole.losses_by_epoch).all()
    assert all((a[0] == b[0]).all() for a, b in zip(resumed.layers, whole.layers, strict=True))
    epochs.clear()
    assert (run(kept).distortion == whole.distortion).all()
    assert epochs == []
    with pytest.raises(SanitizerError, match="a run with other settings or data"):
        run(kept, seed=1)
    save_training(whole, tmp_path / "finished.npz")
    with pytest.raises(SanitizerError, match="another version"):
        run(tmp_path / "finished.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["finished.npz", "run.npz"]


def test_a_run_in_which_nothing_is_gained_ends_early() -> None:
    # the privatizer never wakes up and the target is far: adversaries learn, so every loss only falls
    settings = TrainingSettings(
        steps=120, epochs=12, inner_steps=1, hidden=20, warmup_steps=1000, patience=3, starts=("noise",)
    )
    heard: list[tuple[int, int]] = []
    stopped = train_gaussian(
        paper_problem(),
        aims=[50.0],
        trials=2,
        settings=settings,
        train_rows=500,
        progress=lambda done, total: heard.append((done, total)),
    )
    epochs = stopped.losses_by_epoch.shape[2]
    assert 4 <= epochs < 12
    assert heard[-1] == (epochs, 12)
    best = stopped.losses_by_epoch.min(axis=-1).argmax(axis=-1)
    assert best.max() < epochs - 3, "the best epoch of every trial lies before the three in which nothing was gained"


@pytest.mark.parametrize(("symbols", "within"), [(2, 0.01), (3, 0.03)])
def test_learned_finite_releases_reach_the_programs(symbols: int, within: float) -> None:
    problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    aims = [0.2 * i / 10 for i in range(1, 11)]
    result = train_finite(problem, targets=aims, symbols=symbols, trials=15)
    for point, aim in enumerate(aims):
        release = result.best(point)
        assert problem.distortion_of(release) <= aim * (1 + 1e-6)
        best = optimum(problem, distortion=aim, symbols=symbols).worst
        assert problem.losses_of(release).min() >= (1 - within) * best


def test_learned_releases_of_more_values_stay_below_the_program() -> None:
    rng = np.random.default_rng(4)
    problem = finite_problem(
        prior=[0.5, 0.3, 0.2],
        authorized=0.7 * np.eye(3) + 0.1,
        adversaries=[rng.dirichlet(np.ones(3), size=3) for _ in range(2)],
    )
    aim = 0.5 * problem.max_distortion
    result = train_finite(problem, targets=[aim], symbols=5, trials=8, steps=1500)
    best = optimum(problem, distortion=aim).worst
    reached = problem.losses_of(result.best(0)).min()
    assert 0.85 * best <= reached <= best + 1e-6


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
        progress=lambda stage, done, total: rounds.append(stage),
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


def test_bad_training_input_is_refused() -> None:
    x = np.linspace(0, 1, 60)
    side = np.zeros((60, 1))
    with pytest.raises(SanitizerError, match="at least 50 rows"):
        Sample(private=x[:10], authorized=side[:10], adversaries=(side[:10],))
    with pytest.raises(SanitizerError, match="constant"):
        Sample(private=np.ones(60), authorized=side, adversaries=(side,))
    with pytest.raises(SanitizerError, match="missing values"):
        Sample(private=np.where(x > 0.5, np.nan, x), authorized=side, adversaries=(side,))
    with pytest.raises(SanitizerError, match="multiple"):
        TrainingSettings(steps=10, epochs=3)
    with pytest.raises(SanitizerError, match="penalty"):
        TrainingSettings(penalty="none")  # type: ignore[arg-type]


def test_a_checkpoint_gives_the_training_back(trained: Trained, tmp_path: Path) -> None:
    save_training(trained, tmp_path / "run.npz")
    back = load_training(tmp_path / "run.npz")
    assert (back.targets, back.starts, back.center) == (trained.targets, trained.starts, trained.center)
    assert all((a[0] == b[0]).all() for a, b in zip(back.layers, trained.layers, strict=True))
    assert (back.losses_by_epoch == trained.losses_by_epoch).all()
    (tmp_path / "other.npz").write_text("no")
    with pytest.raises(SanitizerError, match="not a checkpoint"):
        load_training(tmp_path / "other.npz")
    with pytest.raises(SanitizerError, match="no checkpoint"):
        load_training(tmp_path / "missing.npz")
