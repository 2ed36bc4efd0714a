"""How to train, on what, where from, when to stop, and where a run is kept: all that needs no JAX.

Training starts with privatizers that already fold the line, written as weights of the same small network. A
one-hidden-layer ReLU network is a piecewise linear function of (x, r), so a triangle wave, a steep sawtooth and plain
noise are all among its weights. Gradient descent from random weights finds the fold only sometimes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from aegis.arrays import Codes, Floats
from aegis.candidates.sanitizers.components import Modulo
from aegis.candidates.sanitizers.mechanism import UNREADABLE, read_arrays, write_arrays
from aegis.data.output import draft_of
from aegis.errors import SanitizerError

Start = Literal["random", "noise", "fold", "modulo"]
STARTS: tuple[Start, ...] = ("modulo", "fold", "noise", "random")
_SPAN = 4.5  # folds are laid this many standard deviations to either side
Loss = Callable[[Any, Any], Any]
Optimizer = Literal["adam", "radam"]
Substitution = Literal["probability", "straight_through", "expected"]
SUBSTITUTIONS: tuple[Substitution, ...] = ("probability", "straight_through", "expected")
CHECKPOINT_FORMAT = "aegis-training-state"
CHECKPOINT_VERSION = 1
Arrays = Sequence[NDArray[Any]]


def period_for(distortion: float, variance: float) -> float:
    """The period at which ``X mod period`` leaves an observer with this ``variance`` exactly ``distortion``."""
    deviation = math.sqrt(variance)
    low, high = 0.05 * deviation, 14.0 * deviation

    def gap(period: float) -> float:
        return Modulo(period=period).loss(variance) - distortion

    if gap(high) >= 0:
        return high
    if gap(low) <= 0:
        return low
    return float(brentq(gap, low, high, xtol=1e-3 * deviation))


def start_weights(
    start: Start, *, hidden: int, period: float, noise: float, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Two layers (weights, bias) of a privatizer of (x, r) with standardised x."""
    if start == "random":
        return _random(hidden, rng)
    layers = _random(hidden, rng)
    # units beyond the structure stay small, so that training can use them
    first, bias = layers[0][0].copy(), layers[0][1].copy()
    last = 0.02 * layers[1][0]
    pieces = _pieces(start, period, float(rng.uniform(0, period)))
    # the noise passes through one unit that is linear over its whole range
    pieces.append((0.0, 1.0, 6.0, noise))
    if len(pieces) > hidden:
        raise SanitizerError("the privatizer has too few hidden units for so many folds; raise 'hidden'")
    for unit, (of_x, of_r, shift, out) in enumerate(pieces):
        first[:, unit] = (of_x, of_r)
        bias[unit] = shift
        last[unit, 0] = out
    return [(first, bias), (last, np.zeros(1))]


def _pieces(start: Start, period: float, phase: float) -> list[tuple[float, float, float, float]]:
    """Hidden units as (weight of x, weight of r, bias, output weight)."""
    base = (1.0, 0.0, _SPAN + 1.0, 1.0)
    if start == "noise":
        return [base]
    joints = np.arange(-_SPAN + phase % period, _SPAN, period)
    if start == "fold":
        joints = np.arange(-_SPAN + phase % (period / 2), _SPAN, period / 2)
        signs = -2.0 * (-1.0) ** np.arange(joints.size)
        return [base, *((1.0, 0.0, -float(j), float(s)) for j, s in zip(joints, signs, strict=True))]
    steep = 60.0 / period
    pieces: list[tuple[float, float, float, float]] = [base]
    for joint in joints:
        pieces.append((steep, 0.0, -steep * float(joint), -period))
        pieces.append((steep, 0.0, -steep * float(joint) - 1.0, period))
    return pieces


def _random(hidden: int, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    layers = []
    for fan_in, fan_out in ((2, hidden), (hidden, 1)):
        bound = fan_in**-0.5
        layers.append((rng.uniform(-bound, bound, (fan_in, fan_out)), rng.uniform(-bound, bound, fan_out)))
    return layers


def starts_for(trials: int, allowed: Sequence[Start] = STARTS) -> tuple[Start, ...]:
    """Which start each trial takes: all allowed ones in turn."""
    return tuple(allowed[i % len(allowed)] for i in range(trials))


def squared_error(truth: Any, guess: Any) -> Any:
    """The loss of the Gaussian case."""
    return (truth - guess) ** 2


def check_counts_of(settings: object, *names: str) -> None:
    """Refuse settings of which one of these counts is below 1."""
    for name in names:
        if getattr(settings, name) < 1:
            raise SanitizerError(f"'{name}' of the training must be at least 1")


def _check_ends(penalty: str, patience: int | None) -> None:
    if penalty not in ("symmetric", "lagrangian"):
        raise SanitizerError("the penalty must be 'symmetric' or 'lagrangian'")
    if patience is not None and patience < 1:
        raise SanitizerError("the patience of the training must be at least one epoch")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How to train; the defaults suit two CPU cores.

    ``penalty`` is the paper's ρ/2·|distortion − D|, or an augmented Lagrangian on the relative gap, which meets D more
    tightly. ``exposure_weight`` above 0 trains a pinning adversary beside each mean adversary and charges the
    privatizer for shares above the caps. ``patience`` stops after that many epochs in which no trial gained anything.
    """

    steps: int = 2500
    epochs: int = 25
    inner_steps: int = 3
    warmup_steps: int = 150
    batch_rows: int = 200
    hidden: int = 50
    player_hidden: int = 64
    learning_rate: float = 1e-3
    player_learning_rate: float = 4e-3
    decay: bool = True
    optimizer: Optimizer = "adam"
    penalty: Literal["symmetric", "lagrangian"] = "lagrangian"
    penalty_weight: float = 8.0
    erasure: bool = True
    exposure_weight: float = 0.0
    standardize: bool = True
    patience: int | None = None
    keep_epochs: bool = False
    starts: tuple[Start, ...] = STARTS
    loss: Loss = field(default=squared_error)

    def __post_init__(self) -> None:
        check_counts_of(self, "steps", "epochs", "inner_steps", "batch_rows", "hidden", "player_hidden")
        if self.steps % self.epochs:
            raise SanitizerError("the steps of the training must be a multiple of its epochs")
        _check_ends(self.penalty, self.patience)
        if not self.starts:
            raise SanitizerError("the training needs at least one kind of start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Rows to learn from: the private column, the authorised party's features, and each adversary's."""

    private: Floats
    authorized: Floats
    adversaries: tuple[Floats, ...]

    def __post_init__(self) -> None:
        rows = self.private.shape[0]
        if self.private.ndim != 1 or rows < 50:
            raise SanitizerError("training needs one private column with at least 50 rows")
        for side in (self.authorized, *self.adversaries):
            if side.ndim != 2 or side.shape[0] != rows:
                raise SanitizerError("side information needs one row for each private value")
        if not all(np.isfinite(a).all() for a in (self.private, self.authorized, *self.adversaries)):
            raise SanitizerError("training cannot use missing values; drop or fill those rows first")
        if self.private.std() == 0:
            raise SanitizerError("the private column is constant; there is nothing to protect")


class Watch:
    """Tired when no trial of any point has gained a thousandth for ``patience`` epochs."""

    def __init__(self, targets: Floats, patience: int | None) -> None:
        self.targets, self.patience = targets, patience
        self.best = np.full(targets.shape, -np.inf)
        self.idle = 0

    def tired(self, distortion: Floats, losses: Floats) -> bool:
        """Look at one epoch. Distortion that was overspent counts against the loss it bought."""
        over = np.maximum(distortion / self.targets, 1.0)
        score = losses.min(axis=1) / over**4
        gained = score > self.best * np.where(self.best > 0, 1.001, 1.0)
        self.best = np.maximum(self.best, score)
        self.idle = 0 if gained.any() else self.idle + 1
        return self.patience is not None and self.idle >= self.patience


def zero_one(truth: Any, guess: Any) -> Any:
    """How often a guess that is drawn from ``guess`` is wrong; for a bit this is x(1 − x̂) + (1 − x)x̂.

    ``truth`` and ``guess`` hold a probability for each value in their last axis.

    >>> float(zero_one(np.array([0.0, 1.0]), np.array([0.25, 0.75])))
    0.25
    """
    return 1.0 - (truth * guess).sum(axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolSettings:
    """How to train a release of a few symbols.

    A drawn symbol has no gradient, so something takes its place while the privatizer learns (``substitution``):

    - ``probability``, as in the paper: the reconstructor sees the probability of the symbol; adversaries see the
      symbol, so nothing of their loss reaches the privatizer;
    - ``straight_through``: everybody sees the symbol, and the gradient passes as if it were the probability;
    - ``expected``: every symbol is tried and weighted by its probability, so value and gradient are those of the
      expected loss and nothing is substituted.

    Rates are those of privatizer, reconstructor and adversaries, times 1 + ``rate_slope``·D/D_max. Where there is a
    symbol to spare, ``erasure_starts`` lets every other trial begin with a release that shows X or a blank. Such a
    privatizer waits for ``warmup_steps``, in which the others learn to read it, and then moves slowly.
    """

    symbols: int = 2
    epochs: int = 300
    steps_per_epoch: int = 10
    warmup_steps: int = 300
    batch_rows: int = 200
    hidden: int = 50
    rates: tuple[float, float, float] = (0.01, 0.02, 0.02)
    rate_slope: float = 0.0
    decay: bool = True
    optimizer: Optimizer = "adam"
    penalty: Literal["symmetric", "lagrangian"] = "lagrangian"
    penalty_weight: float = 8.0
    substitution: Substitution = "expected"
    erasure_starts: bool = True
    patience: int | None = None
    loss: Loss = field(default=zero_one)

    def __post_init__(self) -> None:
        check_counts_of(self, "epochs", "steps_per_epoch", "batch_rows", "hidden")
        if self.symbols < 2:
            raise SanitizerError("a learned release needs at least two symbols")
        _check_ends(self.penalty, self.patience)
        if self.substitution not in SUBSTITUTIONS:
            raise SanitizerError(f"the substitution must be one of {', '.join(SUBSTITUTIONS)}")
        if min(self.rates) <= 0 or self.rate_slope <= -1:
            raise SanitizerError("learning rates must stay above 0 at every distortion")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedSample:
    """Rows to learn from as codes 0 … size − 1: the private column, the authorised party's, and each adversary's."""

    private: Codes
    authorized: Codes
    adversaries: tuple[Codes, ...]
    private_size: int
    side_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        rows = self.private.shape[0]
        if self.private.ndim != 1 or rows < 50:
            raise SanitizerError("training needs one private column with at least 50 rows")
        if not self.adversaries or len(self.side_sizes) != 1 + len(self.adversaries):
            raise SanitizerError(
                "side information needs one column of codes for each party, and one adversary at least"
            )
        sizes = (self.private_size, *self.side_sizes)
        for codes, size in zip((self.private, self.authorized, *self.adversaries), sizes, strict=True):
            if codes.shape != (rows,) or codes.min() < 0 or codes.max() >= size:
                raise SanitizerError("every column needs one code between 0 and its size for each row")
        if np.ptp(self.private) == 0:
            raise SanitizerError("the private column is constant; there is nothing to protect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where a run keeps its state after every epoch; ``run`` tells it from any other run."""

    path: Path
    run: str

    def save(self, state: Arrays, history: Sequence[Arrays]) -> None:
        """Write the state and the figures of all epochs so far, whole or not at all."""
        header = {"format": CHECKPOINT_FORMAT, "version": CHECKPOINT_VERSION, "run": self.run, "epochs": len(history)}
        arrays = {f"state{number}": part for number, part in enumerate(state)}
        for number, parts in enumerate(zip(*history, strict=True)):
            arrays[f"history{number}"] = np.stack(parts)
        with draft_of(self.path, overwrite=True) as draft, draft.open("wb") as stream:
            write_arrays(stream, header, arrays)

    def load(self) -> tuple[list[NDArray[Any]], list[tuple[NDArray[Any], ...]]] | None:
        """State and figures by epoch, or None where there is no file yet."""
        try:
            header, arrays = read_arrays(self.path)
            if (header["format"], header["version"]) != (CHECKPOINT_FORMAT, CHECKPOINT_VERSION):
                raise SanitizerError(f"{self.path.name} is a checkpoint of another version; name a new file")
            state = [arrays[f"state{i}"] for i in range(sum(name.startswith("state") for name in arrays))]
            figures = [arrays[f"history{i}"] for i in range(sum(name.startswith("history") for name in arrays))]
        except FileNotFoundError:
            return None
        except UNREADABLE:
            raise SanitizerError(f"{self.path.name} is not a checkpoint of a training; name a new file") from None
        if header["run"] != self.run:
            raise SanitizerError(
                f"{self.path.name} is a checkpoint of a run with other settings or data; name a new file"
            )
        return state, list(zip(*figures, strict=True))


def check_checkpoint(path: Path) -> None:
    """Refuse a file that no run can go on from, before anything is computed."""
    if path.exists():
        try:
            is_ours = read_arrays(path)[0]["format"] == CHECKPOINT_FORMAT
        except UNREADABLE:
            is_ours = False
        if not is_ours:
            raise SanitizerError(f"{path.name} is not a checkpoint of a training; name a new file")


def run_name(settings: TrainingSettings, *numbers: Any, arrays: Iterable[NDArray[Any]]) -> str:
    """A digest of all that decides what a run computes."""
    plain = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name != "loss"}
    described = json.dumps([plain, getattr(settings.loss, "__qualname__", ""), numbers], default=str)
    digest = hashlib.sha256(described.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
