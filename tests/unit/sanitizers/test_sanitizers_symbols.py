"""Networks that release symbols: counts stand for rows, gradients for what they should, and the paper for itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.components import apply_layers
from aegis.candidates.sanitizers.finite import FiniteProblem, binary_problem, coded_sample, finite_problem, optimum
from aegis.candidates.sanitizers.training_settings import (
    SUBSTITUTIONS,
    CodedSample,
    Substitution,
    SymbolSettings,
    zero_one,
)
from aegis.errors import SanitizerError

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from aegis.candidates.sanitizers.finite_training import train_finite_from_rows
from aegis.candidates.sanitizers.symbol_training import SymbolProgram, train_symbols


@pytest.fixture(autouse=True, scope="module")
def compiled_quickly() -> Iterator[None]:
    """Programs of this file run for a second: most of the optimiser's work is not worth its time here."""
    config: Any = jax.config
    config.update("jax_disable_most_optimizations", True)
    yield
    config.update("jax_disable_most_optimizations", False)


PAPER = binary_problem(p=0.54, qy=0.2, qz=[0.44])


def of_three() -> FiniteProblem:
    rng = np.random.default_rng(0)
    return finite_problem(
        prior=[0.5, 0.3, 0.2],
        authorized=0.7 * np.eye(3) + 0.1,
        adversaries=[rng.dirichlet(np.ones(n), size=3) for n in (2, 4)],
    )


def program(problem: FiniteProblem, settings: SymbolSettings) -> tuple[SymbolProgram, Any]:
    rng = np.random.default_rng(1)
    sample = coded_sample(problem, 400, rng=rng)
    made = SymbolProgram(sample, sample, settings)
    state = jax.jit(made.initial_state)(jnp.full(1, 0.5), jax.random.key(2))
    return made, jax.tree.map(lambda leaf: leaf[0], state)


def program_like(other: SymbolProgram, substitution: Substitution) -> SymbolProgram:
    made = copy.copy(other)
    made.settings = replace(other.settings, substitution=substitution)
    return made


def test_counts_stand_for_rows() -> None:
    # three values of X, and parties that know three, two and four
    made, state = program(of_three(), SymbolSettings(symbols=3, hidden=7))
    x, sides = made.test
    uniform = np.random.default_rng(3).random(x.shape[0]).astype(np.float32)

    @jax.jit
    def asked(state: Any) -> Any:
        privatizer, *players = state["networks"]
        release = made.release(privatizer, state["start"])
        shares = [made.counted((x, sides), release, uniform, party) for party in range(len(players))]
        return release, shares, [made.loss(players[i], one, i) for i, one in enumerate(shares)]

    release, shares, losses = asked(state)
    assert np.allclose(release.sum(axis=1), 1.0, atol=1e-6)
    codes = np.asarray(x)
    # each row by itself: its symbol, what the player sees, how wrong its guess is
    symbols = (uniform[:, None] >= np.cumsum(np.asarray(release), axis=1)[codes]).sum(axis=1)
    for party, player in enumerate(state["networks"][1:]):
        assert float(shares[party].sum()) == pytest.approx(1.0, abs=1e-5)
        size = made.sides[party]
        side = np.eye(size)[np.asarray(sides[party])]
        inputs = np.hstack([np.eye(3)[symbols], side[:, 1:] if size == 2 else side])
        out = apply_layers([(np.asarray(w), np.asarray(b)) for w, b in player], inputs)
        chance = np.exp(out) / np.exp(out).sum(axis=1, keepdims=True)
        by_rows = zero_one(np.eye(made.values)[codes], chance).mean()
        assert float(losses[party]) == pytest.approx(float(by_rows), abs=1e-5)


def test_only_the_expected_loss_has_the_gradient_of_the_expected_loss() -> None:
    release, moved = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.7, 0.3], [0.3, 0.7]])
    made, state = program(PAPER, SymbolSettings(hidden=7))
    programs = [program_like(made, kind) for kind in SUBSTITUTIONS]
    uniform = np.random.default_rng(3).random(made.test[0].shape[0]).astype(np.float32)

    def losses(release: Any, players: Any) -> Any:
        shares = [made.counted(made.test, release, uniform, party) for party in (0, 1)]
        return jnp.stack(
            [jnp.stack([one.substituted(players[i], release, shares[i], i) for i in (0, 1)]) for one in programs]
        )

    both = jax.jit(lambda r, players: (losses(r, players), jax.jacobian(losses)(r, players)))
    players = state["networks"][1:]
    value, gradient = (np.asarray(part) for part in both(release, players))
    slopes = dict(zip(SUBSTITUTIONS, gradient, strict=True))
    # the expected loss is linear in the release: its gradient is the difference that one symbol makes
    place = SUBSTITUTIONS.index("expected")
    step = np.asarray(both(moved, players)[0])[place] - value[place]
    expected = slopes["expected"]
    assert step == pytest.approx(0.1 * (expected[:, 0, 1] - expected[:, 0, 0]), abs=1e-5)
    # in the paper nothing of the adversary's loss reaches the privatizer
    assert np.abs(slopes["probability"][1]).max() == 0
    assert np.abs(slopes["probability"][0]).max() > 0
    assert np.abs(slopes["straight_through"][1]).max() > 0


def test_networks_that_learn_from_rows_reach_proposition_2() -> None:
    aims = [0.04, 0.12, 0.17]
    trained = train_finite_from_rows(PAPER, targets=aims, symbols=2, trials=8)
    for point, aim in enumerate(aims):
        release = trained.best(point)
        assert PAPER.distortion_of(release) <= aim * (1 + 1e-6)
        assert PAPER.losses_of(release).min() >= 0.99 * optimum(PAPER, distortion=aim, symbols=2).worst


def test_another_loss_plugs_in_and_patience_ends_a_run() -> None:
    problem = of_three()
    problem = replace(problem, adversaries=problem.adversaries[:1])
    sample = coded_sample(problem, 1000, rng=np.random.default_rng(0))
    settings = SymbolSettings(
        symbols=4,
        epochs=23,
        steps_per_epoch=2,
        hidden=8,
        # hardly anybody moves, so nothing is gained but what drawing symbols anew makes of it
        rates=(1e-9, 1e-9, 1e-9),
        patience=3,
        loss=lambda truth, guess: -jnp.log((truth * guess).sum(axis=-1) + 1e-6),
    )
    epochs_done: list[int] = []
    result = train_symbols(
        sample,
        sample,
        targets=[0.5],
        max_distortion=0.9,
        trials=2,
        settings=settings,
        progress=lambda done, total, what: epochs_done.append(done),
    )
    epochs = result.losses_by_epoch.shape[2]
    assert 4 <= epochs < 23
    assert epochs_done[-1] == epochs
    assert result.releases.shape == (1, 2, epochs, 3, 4)
    # three values guessed blindly: the logarithmic loss is about log 3, not a share of wrong guesses
    assert result.losses_by_epoch.mean() == pytest.approx(np.log(3), abs=0.25)


def test_bad_symbols_are_refused() -> None:
    x = np.arange(60) % 2
    with pytest.raises(SanitizerError, match="at least 50 rows"):
        CodedSample(private=x[:9], authorized=x[:9], adversaries=(x[:9],), private_size=2, side_sizes=(2, 2))
    with pytest.raises(SanitizerError, match="constant"):
        CodedSample(private=0 * x, authorized=x, adversaries=(x,), private_size=2, side_sizes=(2, 2))
    with pytest.raises(SanitizerError, match="one code between 0 and its size"):
        CodedSample(private=x, authorized=x + 1, adversaries=(x,), private_size=2, side_sizes=(2, 2))
    for wrong, said in (
        ({"symbols": 1}, "at least two symbols"),
        ({"substitution": "magic"}, "substitution must be one of"),
        ({"penalty": "none"}, "penalty"),
        ({"epochs": 0}, "'epochs' of the training"),
        ({"patience": 0}, "at least one epoch"),
        ({"rate_slope": -1.0}, "must stay above 0"),
    ):
        with pytest.raises(SanitizerError, match=said):
            SymbolSettings(**wrong)
