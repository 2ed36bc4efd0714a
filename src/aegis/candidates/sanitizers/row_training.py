"""Algorithm 1 on a table's own rows: privatizer, reconstructors and adversaries learn from what parties know (JAX).

The privatizer gives every private value, which may be a tuple of several columns, a distribution over symbols. Every
party is a network of its side information, as numbers of any kind, and the symbol. Symbols are not drawn: each is tried
and weighted by its probability, so that the privatizer's gradient is that of the expected loss. Caps are charged for
while training and made exact afterwards (`symbol_tuning`). Several starts run as one program.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.law import Cone
from aegis.candidates.sanitizers.networks import forward, initial, jax, jnp, optimizer_state, optimizer_step
from aegis.candidates.sanitizers.training_settings import Checkpoint, check_counts_of
from aegis.errors import SanitizerError
from aegis.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One column of the private vector: the code of each value there, and what a guess costs.

    ``loss`` ``matrix`` takes ``cost[code, guess]``, ``log`` the logarithm of the belief in the true code, in bits,
    ``squared`` the squared distance between ``cost[:, 0]``, the numbers that codes stand for, and the belief's mean.
    """

    codes: Ints
    cost: Floats
    loss: Literal["matrix", "squared", "log"] = "matrix"

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.cost)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rows:
    """Rows to learn from: the code of the private value, and the side information of groups and adversaries."""

    codes: Ints
    groups: tuple[Floats, ...]
    adversaries: tuple[Floats, ...]
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if len(self.codes) < 50:
            raise SanitizerError("training needs at least 50 rows")
        for side in (*self.groups, *self.adversaries):
            if side.ndim != 2 or len(side) != len(self.codes) or not np.isfinite(side).all():
                raise SanitizerError("side information needs one row of numbers for each private value")

    @property
    def size(self) -> int:
        """How many private values (tuples) there are."""
        return len(self.parts[0].codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSettings:
    """How to train; the defaults suit two CPU cores."""

    symbols: int = 12
    trials: int = 6
    steps: int = 2400
    epochs: int = 12
    inner_steps: int = 2
    batch_rows: int = 256
    hidden: int = 48
    learning_rate: float = 6e-3
    player_learning_rate: float = 6e-3
    penalty_weight: float = 8.0
    cap_weight: float = 20.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts_of(self, "symbols", "trials", "steps", "epochs", "inner_steps", "batch_rows", "hidden")
        if self.steps % self.epochs:
            raise SanitizerError("the steps of the training must be a multiple of its epochs")


def symbols_for(values: int) -> int:
    """How many symbols are enough for a column of so many values; few values are told apart in more than two ways."""
    return min(24, max(8, 2 * values))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRows:
    """What a run leaves: ``releases[trial, x, f] = P(f | x)``, not yet under the caps, and how long it took."""

    releases: Floats
    device: str
    compile_seconds: float
    train_seconds: float


def train_rows(
    rows: Rows,
    *,
    distortions: Sequence[float],
    cone: Cone,
    settings: RowSettings,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> TrainedRows:
    """Train all trials; with a ``checkpoint`` a run that was stopped goes on where it was."""
    if len(distortions) != len(rows.groups) or min(distortions) <= 0:
        raise SanitizerError("give each authorised group a positive distortion")
    saved = None if checkpoint is None else Checkpoint(path=checkpoint, run=_run(rows, distortions, cone, settings))
    stored = None if saved is None else saved.load()
    program = _Program(rows, distortions, cone, settings)
    keys = jax.random.split(jax.random.key(settings.seed), settings.trials)
    state = jax.vmap(program.initial)(keys, jnp.asarray(_starts(rows, settings)))
    done = 0
    if stored is not None:
        leaves, tree = jax.tree.flatten(state)
        state = jax.tree.unflatten(tree, [jnp.asarray(a, b.dtype) for a, b in zip(stored[0], leaves, strict=True)])
        done = len(stored[1])
    per_epoch = settings.steps // settings.epochs
    began = time.perf_counter()
    epoch = jax.jit(program.epoch, static_argnames="steps").lower(state, jnp.int32(0), steps=per_epoch).compile()
    compiled_at = time.perf_counter()
    history: list[tuple[NDArray[Any], ...]] = [(np.zeros(1),)] * done
    for number in range(done, settings.epochs):
        state = epoch(state, jnp.int32(number * per_epoch))
        jax.block_until_ready(state)  # type: ignore[no-untyped-call]  # JAX has no types for it
        history.append((np.zeros(1),))
        if saved is not None:
            saved.save([np.asarray(leaf) for leaf in jax.tree.leaves(state)], history)
        if progress is not None:
            progress(number + 1, settings.epochs, "training on the rows")
    releases = np.asarray(jax.vmap(program.release)(state["privatizer"], state["start"]), dtype=np.float64)
    return TrainedRows(
        releases=releases / releases.sum(axis=2, keepdims=True),
        device=str(jax.devices()[0].device_kind),
        compile_seconds=compiled_at - began,
        train_seconds=time.perf_counter() - compiled_at,
    )


def _run(rows: Rows, distortions: Sequence[float], cone: Cone, settings: RowSettings) -> str:
    digest = hashlib.sha256(repr((sorted(asdict(settings).items()), tuple(distortions))).encode())
    arrays = [rows.codes, *rows.groups, *rows.adversaries, cone.values, cone.least]
    for array in [*arrays, *(part.codes for part in rows.parts), *(part.cost for part in rows.parts)]:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _starts(rows: Rows, settings: RowSettings) -> Floats:
    """Logits of structured starts: a value has a symbol of its own, one that it shares with a group, and a blank.

    Groups are random colourings, and how often each of the three is shown is drawn for each trial; where symbols are
    too few for both, every other trial has groups alone. The first trial starts from nothing.
    """
    rng = np.random.default_rng(settings.seed)
    size, symbols = rows.size, settings.symbols
    starts = np.zeros((settings.trials, size, symbols))
    for trial in range(1, settings.trials):
        groups = rng.permutation(np.arange(size) % rng.integers(2, max(3, size)))
        shown = rng.uniform(0.1, 1.0, size=3)
        chances = np.full((size, symbols), 0.02)
        if symbols > size + groups.max() + 1:
            chances[np.arange(size), np.arange(size)] += shown[0]
            chances[np.arange(size), size + groups] += shown[1]
        else:
            chances[np.arange(size), (groups if trial % 2 else np.arange(size)) % max(1, symbols - 1)] += 1.0
        chances[:, -1] += shown[2]
        starts[trial] = np.log(chances)
    return starts


class _Program:
    """One trial; `epoch` runs all of them."""

    def __init__(self, rows: Rows, distortions: Sequence[float], cone: Cone, settings: RowSettings) -> None:
        self.settings = settings
        self.codes = jnp.asarray(rows.codes)
        self.sides = [jnp.asarray(side, jnp.float32) for side in (*rows.groups, *rows.adversaries)]
        self.group_count = len(rows.groups)
        self.aims = jnp.asarray(distortions, jnp.float32)
        self.parts = [(jnp.asarray(part.codes), jnp.asarray(part.cost, jnp.float32), part.loss) for part in rows.parts]
        self.features = jnp.concatenate([jnp.eye(part.size)[part.codes] for part in rows.parts], axis=1)
        self.outputs = sum(part.size for part in rows.parts)
        self.caps = jnp.asarray(np.hstack([cone.values, cone.least[:, None]]), jnp.float32)
        self.total = settings.steps

    def initial(self, key: Any, start: Any) -> Any:
        settings = self.settings
        keys = jax.random.split(key, 2 + len(self.sides))
        players = [
            initial(k, (side.shape[1] + settings.symbols, settings.hidden, self.outputs))
            for k, side in zip(keys[2:], self.sides, strict=True)
        ]
        privatizer = initial(keys[0], (self.features.shape[1], settings.hidden, settings.symbols))
        return {
            "privatizer": privatizer,
            "moments": optimizer_state(privatizer),
            "players": players,
            "player_moments": [optimizer_state(player) for player in players],
            "start": jnp.asarray(start, jnp.float32),
            "multiplier": jnp.ones(self.group_count),
            "key": jax.random.key_data(keys[1]),  # plain numbers, which a checkpoint can hold
        }

    def release(self, privatizer: Any, start: Any) -> Any:
        return jax.nn.softmax(forward(privatizer, self.features) + start, axis=1)

    def losses(self, player: Any, side: Any, codes: Any) -> Any:
        """What a player loses on each row (first axis) for each symbol."""
        (first, bias), *rest = player
        width = side.shape[1]
        # the symbol's part of the first layer is a row of its weights
        mixed = (side @ first[:width])[:, None, :] + first[width:][None] + bias
        logits = forward(rest, jax.nn.relu(mixed))
        total: Any = 0.0
        at = 0
        for of_value, cost, kind in self.parts:
            size = cost.shape[0]
            belief = jax.nn.log_softmax(logits[..., at : at + size])
            at += size
            truth = of_value[codes]
            if kind == "log":
                losses = -jnp.take_along_axis(belief, truth[:, None, None], axis=2)[..., 0] / math.log(2)
            elif kind == "squared":
                losses = (jnp.exp(belief) @ cost[:, 0] - cost[truth, 0][:, None]) ** 2
            else:
                losses = jnp.einsum("rfg,rg->rf", jnp.exp(belief), cost[truth])
            total = total + losses
        return total / len(self.parts)

    def epoch(self, state: Any, first: Any, *, steps: int) -> Any:
        def step(state: Any, number: Any) -> tuple[Any, None]:
            return jax.vmap(self._step, in_axes=(0, None))(state, number), None

        return jax.lax.scan(step, state, first + jnp.arange(steps))[0]

    def _step(self, state: Any, number: Any) -> Any:
        settings = self.settings
        decay = 0.03 + 0.97 * 0.5 * (1 + jnp.cos(jnp.pi * number / self.total))
        key = jax.random.fold_in(jax.random.wrap_key_data(state["key"]), number)
        keys = jax.random.split(key, 1 + settings.inner_steps)
        release = self.release(state["privatizer"], state["start"])

        def turn(carried: Any, key: Any) -> tuple[Any, None]:
            players, moments = list(carried[0]), list(carried[1])
            chosen = jax.random.randint(key, (settings.batch_rows,), 0, self.codes.shape[0])
            codes = self.codes[chosen]
            weights = release[codes]
            for place, side in enumerate(self.sides):

                def lost(player: Any, side: Any = side, codes: Any = codes, w: Any = weights, c: Any = chosen) -> Any:
                    return jnp.mean(jnp.sum(w * self.losses(player, side[c], codes), axis=1))

                gradient = jax.grad(lost)(players[place])
                players[place], moments[place] = optimizer_step(
                    players[place], gradient, moments[place], settings.player_learning_rate * decay
                )
            return (players, moments), None

        (players, moments), _ = jax.lax.scan(turn, (state["players"], state["player_moments"]), keys[1:])
        chosen = jax.random.randint(keys[0], (settings.batch_rows,), 0, self.codes.shape[0])
        codes = self.codes[chosen]

        def objective(privatizer: Any) -> tuple[Any, Any]:
            release = self.release(privatizer, state["start"])
            lost = jnp.stack(
                [
                    jnp.mean(jnp.sum(release[codes] * self.losses(player, side[chosen], codes), axis=1))
                    for player, side in zip(players, self.sides, strict=True)
                ]
            )
            gap = lost[: self.group_count] / self.aims - 1.0
            worst = jnp.min(lost[self.group_count :]) / jnp.mean(self.aims)
            value = -worst + jnp.sum(state["multiplier"] * gap + 0.5 * settings.penalty_weight * gap**2)
            if self.caps.shape[0]:
                whole = jnp.concatenate([release, release.min(axis=0, keepdims=True)]).T
                value += settings.cap_weight * jnp.sum(jax.nn.relu(whole @ self.caps.T).max(axis=1))
            return value, gap

        gradient, gap = jax.grad(objective, has_aux=True)(state["privatizer"])
        # players that cannot read the structure yet would lead the privatizer away from it
        awake = (number >= self.total // 10).astype(jnp.float32)
        privatizer, own = optimizer_step(
            state["privatizer"], gradient, state["moments"], settings.learning_rate * decay * awake
        )
        return {
            "privatizer": privatizer,
            "moments": own,
            "players": players,
            "player_moments": moments,
            "start": state["start"],
            "multiplier": jnp.clip(state["multiplier"] + 0.02 * gap * awake, -2.0, 60.0),
            "key": state["key"],
        }
