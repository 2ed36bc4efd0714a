"""Training: same seed same weights, the constraint is met, structure survives, and the referee tells the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aegis.candidates.sanitizers.components import Learned
from aegis.candidates.sanitizers.finite import binary_problem, finite_problem, optimum
from aegis.candidates.sanitizers.gaussian import paper_problem, proposition_1
from aegis.candidates.sanitizers.training_settings import period_for, start_weights
from aegis.errors import SanitizerError

pytest.importorskip("jax")

from aegis.candidates.sanitizers.finite_training import train_finite
from aegis.candidates.sanitizers.gaussian_curve import gaussian_sample, measured_library, train_gaussian
from aegis.candidates.sanitizers.number_training import Trained, train
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
        def interrupt(done: int, total: int | None, what: str) -> None:
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
    header = np.frombuffer(b'{"format": "aegis-training-state", "version": 99}', dtype=np.uint8)
    np.savez(tmp_path / "later.npz", header=header)
    with pytest.raises(SanitizerError, match="another version"):
        run(tmp_path / "later.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["later.npz", "run.npz"]


def test_a_run_in_which_nothing_is_gained_ends_early() -> None:
    # the privatizer never wakes up and the target is far: adversaries learn, so every loss only falls
    settings = TrainingSettings(
        steps=120, epochs=12, inner_steps=1, hidden=20, warmup_steps=1000, patience=3, starts=("noise",)
    )
    calls: list[tuple[int, int | None, str]] = []
    stopped = train_gaussian(
        paper_problem(),
        aims=[50.0],
        trials=2,
        settings=settings,
        train_rows=500,
        progress=lambda done, total, what: calls.append((done, total, what)),
    )
    epochs = stopped.losses_by_epoch.shape[2]
    assert 4 <= epochs < 12
    assert calls[-1] == (epochs, 12, "training")
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
