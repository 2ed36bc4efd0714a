"""Algorithm 1 for a number: privatizer, reconstructor and adversaries trained against each other (JAX).

All distortions and trials run as one program: ``vmap`` over (distortion, trial), ``scan`` over the steps of an epoch.
Between epochs Python has the word: it can be interrupted there, report progress, and stop early. The privatizer is a
network of (x, r), r fresh normal noise; it may also learn how often to release nothing, whose effect on every loss
is linear and needs no sampling. Minibatches are shared by the trials of one run; trials differ in their weights.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.networks import descend, forward, initial, jax, jnp, optimizer_state, optimizer_step
from aegis.candidates.sanitizers.training_settings import (
    Checkpoint,
    Sample,
    Start,
    TrainingSettings,
    Watch,
    period_for,
    run_name,
    start_weights,
    starts_for,
)
from aegis.errors import SanitizerError
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """Everything a run leaves behind. Leading axes are (distortion, trial); losses are in units of X squared.

    ``distortion_by_epoch[d, t, e]`` and ``losses_by_epoch[d, t, e, i]`` are on the held-out rows. ``layers_by_epoch``
    holds the privatizers after each epoch if the settings keep them.
    """

    targets: tuple[float, ...]
    starts: tuple[Start, ...]
    layers: tuple[tuple[Floats, Floats], ...]
    erasure_share: Floats
    center: float
    scale: float
    distortion_by_epoch: Floats
    losses_by_epoch: Floats
    device: str
    compile_seconds: float
    train_seconds: float
    layers_by_epoch: tuple[tuple[tuple[Floats, Floats], ...], ...] = ()

    @property
    def distortion(self) -> Floats:
        """Held-out distortion after the last epoch."""
        return np.asarray(self.distortion_by_epoch[:, :, -1])

    @property
    def losses(self) -> Floats:
        """Held-out adversary losses after the last epoch."""
        return np.asarray(self.losses_by_epoch[:, :, -1])

    def weights(self, point: int, trial: int) -> list[tuple[Floats, Floats]]:
        """The privatizer of one trial, as numpy layers."""
        return [(w[point, trial], b[point, trial]) for w, b in self.layers]

    def weights_at(self, point: int, trial: int, epoch: int) -> list[tuple[Floats, Floats]]:
        """The same after an epoch, where epochs were kept."""
        return [(w[point, trial], b[point, trial]) for w, b in self.layers_by_epoch[epoch]]


def train(
    sample: Sample,
    held_out: Sample,
    *,
    targets: Sequence[float],
    trials: int,
    blank: tuple[float, Sequence[float]],
    settings: TrainingSettings | None = None,
    caps: Sequence[Sequence[float]] | None = None,
    epsilon: float | None = None,
    seed: int = 0,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train ``trials`` privatizers for each target distortion; ``progress`` is called after every epoch.

    ``blank`` holds the distortion and the adversary losses when nothing is released. ``caps[d][i]`` bounds the pinned
    share of adversary i at target d, for windows of half-width ``epsilon``, when the settings charge for exposure.
    A run that was interrupted goes on from its ``checkpoint``, and ends as if nothing had happened.
    """
    settings = settings or TrainingSettings()
    if trials < 1 or not targets or min(targets) <= 0:
        raise SanitizerError("training needs at least one trial and positive target distortions")
    if settings.exposure_weight > 0 and (caps is None or epsilon is None):
        raise SanitizerError("charging for exposure needs a cap for each adversary and an epsilon")
    center = float(sample.private.mean()) if settings.standardize else 0.0
    scale = float(sample.private.std()) if settings.standardize else 1.0
    run = _Run(sample, held_out, settings, center, scale, blank, epsilon)
    state, aims = _initial_state(run, targets, trials, caps, seed)
    key = jax.random.key(seed)
    program = jax.jit(lambda d, s, a, k, number: _run_epoch(run.seeing(d), s, a, k, number))
    saved = None if checkpoint is None else _checkpoint(checkpoint, run, targets, trials, caps, seed)
    history: list[tuple[Floats, Floats]] = []
    state = state if saved is None else _resumed(saved, state, history)
    states: list[Any] = []
    watch = Watch(np.repeat(np.asarray(targets, dtype=float) / scale**2, trials), settings.patience)
    tired = any([watch.tired(*figures) for figures in history])  # noqa: C419 - every epoch has to be seen
    ahead = range(settings.epochs if tired else len(history), settings.epochs)
    began = time.perf_counter()
    # a run that its checkpoint has finished needs no program
    compiled = program.lower(run.data, state, aims, key, jnp.int32(0)).compile() if ahead else program
    compiled_at = time.perf_counter()
    for number in ahead:
        state, figures = compiled(run.data, state, aims, key, jnp.int32(number))
        history.append((np.asarray(figures[0], dtype=np.float64), np.asarray(figures[1], dtype=np.float64)))
        if settings.keep_epochs:
            states.append([(np.asarray(w), np.asarray(b)) for w, b in state["privatizer"]["layers"]])
        if saved is not None:
            saved.save([np.asarray(leaf) for leaf in jax.tree.leaves(state)], history)
        if progress is not None:
            progress(number + 1, settings.epochs, "training")
        if watch.tired(*history[-1]):
            break
    final = state
    ended = time.perf_counter()

    def shaped(array: Any) -> Floats:
        values = np.asarray(array, dtype=np.float64)
        return values.reshape((len(targets), trials, *values.shape[1:]))

    distortion, losses = (np.stack(part, axis=1) for part in zip(*history, strict=True))
    return Trained(
        targets=tuple(float(t) for t in targets),
        starts=starts_for(trials, settings.starts),
        layers=tuple((shaped(w), shaped(b)) for w, b in final["privatizer"]["layers"]),
        erasure_share=shaped(jax.nn.sigmoid(final["privatizer"]["erase"]))
        if settings.erasure
        else np.zeros((len(targets), trials)),
        center=center,
        scale=scale,
        distortion_by_epoch=shaped(distortion) * scale**2,
        losses_by_epoch=shaped(losses) * scale**2,
        device=str(jax.devices()[0].device_kind),
        compile_seconds=compiled_at - began,
        train_seconds=ended - compiled_at,
        layers_by_epoch=tuple(tuple((shaped(w), shaped(b)) for w, b in layers) for layers in states),
    )


def _checkpoint(
    path: Path, run: _Run, targets: Sequence[float], trials: int, caps: Sequence[Sequence[float]] | None, seed: int
) -> Checkpoint:
    if run.settings.keep_epochs:
        raise SanitizerError("a training that keeps every epoch has no checkpoint; train it in one go")
    arrays = [np.asarray(part) for part in jax.tree.leaves(run.data)]
    numbers = (list(targets), trials, None if caps is None else [list(cap) for cap in caps], seed, run.epsilon)
    return Checkpoint(path=path, run=run_name(run.settings, numbers, arrays=arrays))


def _resumed(saved: Checkpoint, state: Any, history: list[tuple[Floats, Floats]]) -> Any:
    stored = saved.load()
    if stored is None:
        return state
    leaves, figures = stored
    history += [(distortion, losses) for distortion, losses in figures]
    return jax.tree.unflatten(jax.tree.structure(state), [jnp.asarray(leaf) for leaf in leaves])


def _initial_state(
    run: _Run, targets: Sequence[float], trials: int, caps: Sequence[Sequence[float]] | None, seed: int
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


class _Run:
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

    def seeing(self, data: Any) -> _Run:
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


def _run_epoch(run: _Run, state: Any, aims: Any, key: Any, epoch: Any) -> Any:
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


def _figures(run: _Run, state: Any, x: Any, sides: list[Any], noise: Any) -> tuple[Any, Any]:
    """Distortion and adversary losses with the players as they stand."""
    f = run.release(state["privatizer"], x, noise)
    erased = run.erased(state["privatizer"])
    raw = jnp.stack([run.player_loss(p, f, s, x) for p, s in zip(state["players"], sides, strict=True)])
    return ((1 - erased) * raw[0] + erased * run.blank_distortion, (1 - erased) * raw[1:] + erased * run.blank_losses)


def _move_privatizer(run: _Run, state: Any, aim: Any, batch: Any, rate: Any) -> Any:
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


def _move_players(run: _Run, state: Any, batch: Any, rate: Any) -> Any:
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
