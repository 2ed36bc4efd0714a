"""A run of Algorithm 1 for a number: what it starts from, and what everybody sees, loses and learns (JAX)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.jax_extra import jax, jnp
from aegis.candidates.sanitizers.networks import descend, forward, initial, optimizer_state, optimizer_step
from aegis.candidates.sanitizers.starts import period_for, start_weights, starts_for
from aegis.candidates.sanitizers.training_settings import Sample, TrainingSettings


def initial_state(
    run: Any, targets: Sequence[float], trials: int, caps: Sequence[Sequence[float]] | None, seed: int
) -> tuple[Any, Any]:
    """All that the steps change, and what each trial aims for; leading axis: distortion × trial."""
    settings = run.settings
    rng = np.random.default_rng(seed)
    first: list[Floats] = []
    first_bias: list[Floats] = []
    last: list[Floats] = []
    last_bias: list[Floats] = []
    erase: list[float] = []
    for target in targets:
        aim = target / run.scale**2
        for start in starts_for(trials, settings.starts):
            # leave room for the erasure and the noise to add their part of the distortion
            share = 0.8 * float(rng.uniform(0.6, 1.0))
            period = period_for(min(share * aim, 0.95 * run.blank_distortion), run.blank_distortion)
            (w1, b1), (w2, b2) = start_weights(
                start, hidden=settings.hidden, period=period, noise=0.3 * (0.1 * aim) ** 0.5, rng=rng
            )
            for array, part in zip((first, first_bias, last, last_bias), (w1, b1, w2, b2), strict=True):
                array.append(part)
            erase.append(-4.0)
    privatizer = {
        "layers": [
            (jnp.asarray(np.array(first), jnp.float32), jnp.asarray(np.array(first_bias), jnp.float32)),
            (jnp.asarray(np.array(last), jnp.float32), jnp.asarray(np.array(last_bias), jnp.float32)),
        ],
        "erase": jnp.asarray(np.array(erase), jnp.float32),
    }
    batch = len(targets) * trials
    keys = jax.random.split(jax.random.key(seed + 1), (batch, 2 * len(run.sides)))
    players = [
        jax.vmap(lambda k, w=side.shape[1]: initial(k, (1 + w, settings.player_hidden, 1)))(keys[:, i])
        for i, side in enumerate(run.sides)
    ]
    pinners = []
    if settings.exposure_weight > 0:
        pinners = [
            jax.vmap(lambda k, w=side.shape[1]: initial(k, (1 + w, settings.player_hidden, 1)))(keys[:, -1 - i])
            for i, side in enumerate(run.sides[1:])
        ]
    state: dict[str, Any] = {"privatizer": privatizer, "players": players, "pinners": pinners}
    state["optimizers"] = {
        name: jax.vmap(optimizer_state, axis_size=batch)(state[name]) for name in ("privatizer", "players", "pinners")
    }
    state["multiplier"] = jnp.ones(batch)
    state["gap"] = jnp.zeros(batch)
    aims = {"distortion": jnp.repeat(jnp.asarray(targets, jnp.float32) / run.scale**2, trials)}
    limits = np.ones((len(targets), len(run.sides) - 1)) if caps is None else np.asarray(caps, dtype=float)
    aims["caps"] = jnp.repeat(jnp.asarray(limits, jnp.float32), trials, axis=0)
    return state, aims


class Run:
    """The data of a run on the device, in the units the networks see."""

    def __init__(
        self,
        sample: Sample,
        held_out: Sample,
        settings: TrainingSettings,
        center: float,
        scale: float,
        blank: tuple[float, Sequence[float]],
        epsilon: float | None,
    ) -> None:
        self.settings = settings
        self.scale = scale
        sides = [sample.authorized, *sample.adversaries]
        shifts = [(s.mean(0), np.maximum(s.std(0), 1e-12)) if settings.standardize else (0.0, 1.0) for s in sides]

        def placed(data: Sample) -> tuple[Any, list[Any]]:
            features = [
                jnp.asarray((s - m) / d, jnp.float32)
                for s, (m, d) in zip((data.authorized, *data.adversaries), shifts, strict=True)
            ]
            return jnp.asarray((data.private - center) / scale, jnp.float32), features

        self.data = (placed(sample), placed(held_out))
        (self.x, self.sides), (self.test_x, self.test_sides) = self.data
        self.blank_distortion = blank[0] / scale**2
        self.blank_losses = jnp.asarray(blank[1], jnp.float32) / scale**2
        self.epsilon = None if epsilon is None else epsilon / scale

    def seeing(self, data: Any) -> Run:
        """The same run over traced arrays, so that the data is an argument of the program and not part of it."""
        traced = copy.copy(self)
        (traced.x, traced.sides), (traced.test_x, traced.test_sides) = data
        return traced

    def release(self, privatizer: Any, x: Any, r: Any) -> Any:
        return forward(privatizer["layers"], jnp.stack([x, r], axis=-1))

    def erased(self, privatizer: Any) -> Any:
        return jax.nn.sigmoid(privatizer["erase"]) if self.settings.erasure else 0.0

    def player_loss(self, player: Any, f: Any, side: Any, x: Any) -> Any:
        return jnp.mean(self.settings.loss(x, forward(player, jnp.concatenate([f, side], axis=-1))[:, 0]))

    def pinned(self, player: Any, f: Any, side: Any, x: Any) -> Any:
        """A smooth stand-in for the share of records within ε of the player's guess."""
        error = x - forward(player, jnp.concatenate([f, side], axis=-1))[:, 0]
        return jnp.mean(jax.nn.sigmoid(4.0 * (1.0 - (error / self.epsilon) ** 2)))


def run_epoch(run: Run, state: Any, aims: Any, key: Any, epoch: Any) -> Any:
    """The steps of one epoch for all trials, and what they reach on the held-out rows."""
    settings = run.settings
    rows = run.x.shape[0]
    per_epoch = settings.steps // settings.epochs
    test_noise = jax.random.normal(jax.random.fold_in(key, 7), run.test_x.shape)

    def draw(key: Any) -> tuple[Any, list[Any], Any]:
        for_rows, for_noise = jax.random.split(key)
        chosen = jax.random.randint(for_rows, (settings.batch_rows,), 0, rows)
        return run.x[chosen], [s[chosen] for s in run.sides], jax.random.normal(for_noise, (settings.batch_rows,))

    def step(state: Any, number: Any) -> tuple[Any, None]:
        keys = jax.random.split(jax.random.fold_in(key, number), settings.inner_steps + 1)
        progress = number / settings.steps
        decay = 0.02 + 0.98 * 0.5 * (1 + jnp.cos(jnp.pi * progress)) if settings.decay else 1.0
        rate = settings.learning_rate * decay * (number >= settings.warmup_steps)
        state = jax.vmap(lambda s, a: _move_privatizer(run, s, a, draw(keys[0]), rate))(state, aims)
        player_rate = settings.player_learning_rate * decay

        def answer(state: Any, inner: Any) -> tuple[Any, None]:
            batch = draw(inner)
            return jax.vmap(lambda s: _move_players(run, s, batch, player_rate))(state), None

        state, _ = jax.lax.scan(answer, state, keys[1:])
        return state, None

    state, _ = jax.lax.scan(step, state, epoch * per_epoch + jnp.arange(per_epoch))
    return state, jax.vmap(lambda s: _figures(run, s, run.test_x, run.test_sides, test_noise))(state)


def _figures(run: Run, state: Any, x: Any, sides: list[Any], noise: Any) -> tuple[Any, Any]:
    """Distortion and adversary losses with the players as they stand."""
    f = run.release(state["privatizer"], x, noise)
    erased = run.erased(state["privatizer"])
    raw = jnp.stack([run.player_loss(p, f, s, x) for p, s in zip(state["players"], sides, strict=True)])
    return (
        (1 - erased) * raw[0] + erased * run.blank_distortion,
        (1 - erased) * raw[1:] + erased * run.blank_losses,
    )


def _move_privatizer(run: Run, state: Any, aim: Any, batch: Any, rate: Any) -> Any:
    settings = run.settings
    x, sides, noise = batch

    def objective(privatizer: Any) -> tuple[Any, Any]:
        distortion, losses = _figures(run, {**state, "privatizer": privatizer}, x, sides, noise)
        worst = jnp.min(losses)
        if settings.penalty == "symmetric":
            total = -worst + 0.5 * settings.penalty_weight * jnp.abs(distortion - aim["distortion"])
            gap = distortion - aim["distortion"]
        else:
            gap = distortion / aim["distortion"] - 1.0
            total = -worst / aim["distortion"] + state["multiplier"] * gap + 0.5 * settings.penalty_weight * gap**2
        if settings.exposure_weight > 0:
            f = run.release(privatizer, x, noise)
            shares = jnp.stack([run.pinned(p, f, s, x) for p, s in zip(state["pinners"], sides[1:], strict=True)])
            shares = (1 - run.erased(privatizer)) * shares
            total = total + settings.exposure_weight * jnp.sum(jax.nn.relu(shares - aim["caps"]))
        return total, gap

    gradients, gap = jax.grad(objective, has_aux=True)(state["privatizer"])
    moved, moments = optimizer_step(
        state["privatizer"], gradients, state["optimizers"]["privatizer"], rate, settings.optimizer
    )
    smooth = 0.95 * state["gap"] + 0.05 * gap
    multiplier = jnp.clip(state["multiplier"] + 0.05 * smooth * (rate > 0), -2.0, 60.0)
    return {
        **state,
        "privatizer": moved,
        "optimizers": {**state["optimizers"], "privatizer": moments},
        "gap": smooth,
        "multiplier": multiplier,
    }


def _move_players(run: Run, state: Any, batch: Any, rate: Any) -> Any:
    settings = run.settings
    x, sides, noise = batch
    f = run.release(state["privatizer"], x, noise)

    def total(players: Any) -> Any:
        return sum(run.player_loss(p, f, s, x) for p, s in zip(players, sides, strict=True))

    players, moments = descend(total, state["players"], state["optimizers"]["players"], rate, kind=settings.optimizer)
    optimizers = {**state["optimizers"], "players": moments}
    pinners = state["pinners"]
    if settings.exposure_weight > 0:

        def missed(pinners: Any) -> Any:
            return -sum(run.pinned(p, f, s, x) for p, s in zip(pinners, sides[1:], strict=True))

        pinners, optimizers["pinners"] = descend(
            missed, pinners, state["optimizers"]["pinners"], rate, kind=settings.optimizer
        )
    return {**state, "players": players, "pinners": pinners, "optimizers": optimizers}
