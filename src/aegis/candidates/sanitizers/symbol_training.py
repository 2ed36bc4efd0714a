"""Algorithm 1 for a category: networks that learn from rows which symbol to release (JAX).

The privatizer gives every value of X a distribution over symbols; reconstructor and adversaries guess X from the
symbol and what they know. There are few distinct inputs, so each minibatch is counted first and every network is
asked once for each distinct input, weighted by its count: the figures of the rows, at a fraction of their cost.
All distortions and trials run as one program, as in the case of a number; trials share their minibatches.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.networks import forward, initial, jax, jnp, optimizer_state, optimizer_step
from aegis.candidates.sanitizers.training_settings import CodedSample, SymbolSettings, Watch
from aegis.errors import SanitizerError
from aegis.progress import Progress

_EPOCHS_A_CALL = 20  # Python has the word between calls: progress, interruption, early stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSymbols:
    """What a run leaves behind; leading axes are (distortion, trial, epoch), figures are on the held-out rows.

    ``releases[d, t, e, x, f]`` is the privatizer's P(f | x) after each epoch.
    """

    targets: tuple[float, ...]
    releases: Floats
    distortion_by_epoch: Floats
    losses_by_epoch: Floats
    device: str
    compile_seconds: float
    train_seconds: float


def train_symbols(
    sample: CodedSample,
    held_out: CodedSample,
    *,
    targets: Sequence[float],
    max_distortion: float,
    trials: int,
    settings: SymbolSettings | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainedSymbols:
    """Train ``trials`` privatizers for each target; ``max_distortion`` is what is left when nothing is released."""
    settings = settings or SymbolSettings()
    if trials < 1 or not targets or min(targets) <= 0:
        raise SanitizerError("training needs at least one trial and positive target distortions")
    program = SymbolProgram(sample, held_out, settings)
    aims = jnp.repeat(jnp.asarray(targets, jnp.float32), trials)
    state = jax.jit(program.initial_state)(aims / max_distortion, jax.random.key(seed))
    slope = 1.0 + settings.rate_slope * jnp.minimum(aims / max_distortion, 1.0)
    key = jax.random.key(seed + 1)
    # a last, shorter call would be a second program: the number of epochs of a call divides all of them
    per_call = max(n for n in range(1, _EPOCHS_A_CALL + 1) if settings.epochs % n == 0)
    began = time.perf_counter()
    compiled = (
        jax.jit(program.epochs, static_argnames="count")
        .lower(state, aims, slope, key, jnp.int32(0), count=per_call)
        .compile()
    )
    compiled_at = time.perf_counter()
    watch = Watch(np.repeat(np.asarray(targets, dtype=float), trials), settings.patience)
    parts: list[tuple[Floats, Floats, Floats]] = []
    for first in range(0, settings.epochs, per_call):
        state, figures = compiled(state, aims, slope, key, jnp.int32(first))
        releases, distortion, losses = (np.asarray(part, dtype=np.float64) for part in figures)
        parts.append((releases, distortion, losses))
        if progress is not None:
            progress(first + per_call, settings.epochs, "training")
        if any(watch.tired(distortion[e], losses[e]) for e in range(per_call)):
            break
    ended = time.perf_counter()

    def shaped(place: int) -> Floats:
        # epochs come first out of the scan and last into the result
        values = np.moveaxis(np.concatenate([part[place] for part in parts]), 0, 1)
        return values.reshape((len(targets), trials, *values.shape[1:]))

    return TrainedSymbols(
        targets=tuple(float(t) for t in targets),
        releases=shaped(0),
        distortion_by_epoch=shaped(1),
        losses_by_epoch=shaped(2),
        device=str(jax.devices()[0].device_kind),
        compile_seconds=compiled_at - began,
        train_seconds=ended - compiled_at,
    )


def encoded(probabilities: Any) -> Any:
    """A distribution as a network sees it: a bit is one number, anything else one number for each value."""
    return probabilities[..., 1:] if probabilities.shape[-1] == 2 else probabilities


class SymbolProgram:
    """One step of everybody, for one trial; `epochs` runs it for all."""

    def __init__(self, sample: CodedSample, held_out: CodedSample, settings: SymbolSettings) -> None:
        self.settings = settings
        self.values, self.sides = sample.private_size, sample.side_sizes
        self.rows, self.test = (self._placed(data) for data in (sample, held_out))

    @staticmethod
    def _placed(data: CodedSample) -> tuple[Any, list[Any]]:
        return jnp.asarray(data.private), [jnp.asarray(side) for side in (data.authorized, *data.adversaries)]

    def initial_state(self, shares: Any, key: Any) -> Any:
        """Random networks, empty moments; ``shares`` says how far each trial's target is on the way to silence."""
        settings, batch = self.settings, shares.size
        keys = jax.random.split(key, (1 + len(self.sides), batch))
        of_symbol = 1 if settings.symbols == 2 else settings.symbols
        guesses = 1 if self.values == 2 else self.values
        # a value of X enters as one number for each: two inputs for a bit, as the paper's 2 × 50 layer has
        widths = [(self.values, settings.hidden, of_symbol)]
        widths += [(of_symbol + (1 if size == 2 else size), settings.hidden, guesses) for size in self.sides]
        networks = [jax.vmap(lambda k, w=w: initial(k, w))(keys[i]) for i, w in enumerate(widths)]
        moments = [jax.vmap(optimizer_state, axis_size=batch)(network) for network in networks]
        start, structured = self._starts(shares)
        return {
            "networks": networks,
            "moments": moments,
            "start": start,
            "structured": structured,
            "multiplier": jnp.ones(batch),
            "gap": jnp.zeros(batch),
        }

    def _starts(self, shares: Any) -> tuple[Any, Any]:
        """Logits that are added to the privatizer's, and whether they are an erasure (every other trial) or nothing.

        With a symbol to spare each value has one of its own and the last one is a blank; random networks hardly
        ever find that by themselves.
        """
        if self.settings.symbols <= self.values or not self.settings.erasure_starts:
            return jnp.zeros((shares.size, 1, 1)), jnp.zeros(shares.size)
        blank = jnp.clip(shares, 0.02, 0.98)[:, None, None]
        own = jnp.eye(self.values, self.settings.symbols)
        silent = jnp.eye(self.settings.symbols)[-1]
        structured = (jnp.arange(shares.size) % 2 == 0).astype(jnp.float32)
        return jnp.log((1 - blank) * own + blank * silent + 1e-3) * structured[:, None, None], structured

    def release(self, privatizer: Any, start: Any) -> Any:
        """P(f | x) of every value."""
        return _distribution(forward(privatizer, jnp.eye(self.values)) + start)

    def guess(self, player: Any, symbol: Any, side: int) -> Any:
        """The player's distribution over X for each encoded symbol (leading axes) and each of its side values."""
        side_codes = encoded(jnp.eye(side))
        shape = (*symbol.shape[:-1], side)
        wide = jnp.broadcast_to(symbol[..., None, :], (*shape, symbol.shape[-1]))
        inputs = jnp.concatenate([wide, jnp.broadcast_to(side_codes, (*shape, side_codes.shape[-1]))], axis=-1)
        return _distribution(forward(player, inputs))

    def counted(self, rows: Any, release: Any, uniform: Any, party: int) -> Any:
        """Shares of (x, side, f) among the rows, f drawn by comparing one uniform number a row."""
        x, sides = rows
        steps = jnp.cumsum(release, axis=1).at[:, -1].set(2.0)
        below = (uniform[:, None] < steps[x]).astype(jnp.float32)
        drawn = below - jnp.pad(below, ((0, 0), (1, 0)))[:, :-1]
        size = self.sides[party]
        cells = jax.nn.one_hot(x * size + sides[party], self.values * size)
        return (cells.T @ drawn).reshape(self.values, size, -1) / x.shape[0]

    def loss(self, player: Any, shares: Any, party: int) -> Any:
        """The mean loss of a player over shares of (x, side, f)."""
        guess = self.guess(player, encoded(jnp.eye(self.settings.symbols)), self.sides[party])  # f, side, x̂
        losses = self.settings.loss(jnp.eye(self.values)[:, None, None, :], jnp.swapaxes(guess, 0, 1)[None])
        return jnp.sum(shares * losses)

    def substituted(self, player: Any, release: Any, shares: Any, party: int) -> Any:
        """The loss as the privatizer sees it, with a gradient in the release where the substitution has one."""
        kind = self.settings.substitution
        if kind == "expected":
            return self.loss(player, shares.sum(axis=2)[:, :, None] * release[:, None, :], party)
        truth = jnp.eye(self.values)
        if kind == "probability":
            if party > 0:
                return self.loss(player, jax.lax.stop_gradient(shares), party)
            losses = self.settings.loss(truth[:, None, :], self.guess(player, encoded(release), self.sides[party]))
            return jnp.sum(shares.sum(axis=2) * losses)
        # the symbol's own value, and the gradient of its probability
        shown = jnp.eye(self.settings.symbols)[None] + (release - jax.lax.stop_gradient(release))[:, None, :]
        losses = self.settings.loss(truth[:, None, None, :], self.guess(player, encoded(shown), self.sides[party]))
        return jnp.sum(jax.lax.stop_gradient(shares) * jnp.swapaxes(losses, 1, 2))

    def epochs(self, state: Any, aims: Any, slope: Any, key: Any, first: Any, *, count: int) -> Any:
        return jax.lax.scan(lambda s, epoch: self._epoch(s, aims, slope, key, epoch), state, first + jnp.arange(count))

    def _epoch(self, state: Any, aims: Any, slope: Any, key: Any, epoch: Any) -> Any:
        settings = self.settings
        total = settings.epochs * settings.steps_per_epoch

        def step(state: Any, number: Any) -> tuple[Any, None]:
            turns = [self._draw(k) for k in jax.random.split(jax.random.fold_in(key, number), 1 + len(self.sides))]
            decay = 0.02 + 0.98 * 0.5 * (1 + jnp.cos(jnp.pi * number / total)) if settings.decay else 1.0
            awake = number >= settings.warmup_steps
            return jax.vmap(lambda s, a, r: self._step(s, a, r * decay, awake, turns))(state, aims, slope), None

        state, _ = jax.lax.scan(step, state, epoch * settings.steps_per_epoch + jnp.arange(settings.steps_per_epoch))
        uniform = jax.random.uniform(jax.random.fold_in(key, total + epoch), self.test[0].shape)
        return state, jax.vmap(lambda s: self._figures(s, uniform))(state)

    def _draw(self, key: Any) -> tuple[Any, Any]:
        for_rows, for_symbols = jax.random.split(key)
        chosen = jax.random.randint(for_rows, (self.settings.batch_rows,), 0, self.rows[0].shape[0])
        rows = self.rows[0][chosen], [side[chosen] for side in self.rows[1]]
        return rows, jax.random.uniform(for_symbols, (self.settings.batch_rows,))

    def _step(self, state: Any, aim: Any, slope: Any, awake: Any, turns: list[Any]) -> Any:
        settings = self.settings
        privatizer, *players = state["networks"]

        def objective(privatizer: Any) -> tuple[Any, Any]:
            release = self.release(privatizer, state["start"])
            losses = [
                self.substituted(player, release, self.counted(turns[0][0], release, turns[0][1], party), party)
                for party, player in enumerate(players)
            ]
            worst = jnp.min(jnp.stack(losses[1:]))
            if settings.penalty == "symmetric":
                gap = losses[0] - aim
                return -worst + 0.5 * settings.penalty_weight * jnp.abs(gap), gap
            gap = losses[0] / aim - 1.0
            penalty = settings.penalty_weight * (1.0 + 3.0 * state["structured"])
            return -worst / aim + state["multiplier"] * gap + 0.5 * penalty * gap**2, gap

        gradients, gap = jax.grad(objective, has_aux=True)(privatizer)
        # a structure is lost to players that cannot read it yet, and to a privatizer in a hurry
        haste = jnp.where(state["structured"] > 0, 0.2 * awake, 1.0)
        moved = [self._moved(state, 0, gradients, slope * haste)]
        release = self.release(moved[0][0], state["start"])
        for party, player in enumerate(players):
            rows, uniform = turns[1 + party]
            shares = self.counted(rows, release, uniform, party)
            if settings.substitution == "expected":
                shares = shares.sum(axis=2)[:, :, None] * release[:, None, :]
            moved.append(self._moved(state, 1 + party, jax.grad(self.loss)(player, shares, party), slope))
        smooth = 0.95 * state["gap"] + 0.05 * gap
        return {
            "networks": [network for network, _ in moved],
            "moments": [moments for _, moments in moved],
            "start": state["start"],
            "structured": state["structured"],
            "multiplier": jnp.clip(state["multiplier"] + 0.02 * smooth * (haste > 0), -2.0, 60.0),
            "gap": smooth,
        }

    def _moved(self, state: Any, place: int, gradients: Any, slope: Any) -> Any:
        rate = self.settings.rates[min(place, 2)] * slope
        return optimizer_step(
            state["networks"][place], gradients, state["moments"][place], rate, self.settings.optimizer
        )

    def _figures(self, state: Any, uniform: Any) -> tuple[Any, Any, Any]:
        privatizer, *players = state["networks"]
        release = self.release(privatizer, state["start"])
        losses = [
            self.loss(player, self.counted(self.test, release, uniform, party), party)
            for party, player in enumerate(players)
        ]
        return release, losses[0], jnp.stack(losses[1:])


def _distribution(logits: Any) -> Any:
    """One logit is a sigmoid's, several a softmax's."""
    if logits.shape[-1] > 1:
        return jax.nn.softmax(logits, axis=-1)
    chance = jax.nn.sigmoid(logits)
    return jnp.concatenate([1.0 - chance, chance], axis=-1)
