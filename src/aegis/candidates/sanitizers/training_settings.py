"""How to train, on what, and when to stop: plain values that need no JAX to be written down and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from aegis.arrays import Codes, Floats
from aegis.candidates.sanitizers.starts import STARTS, Start
from aegis.errors import SanitizerError

Loss = Callable[[Any, Any], Any]
Optimizer = Literal["adam", "radam"]
Substitution = Literal["probability", "straight_through", "expected"]
SUBSTITUTIONS: tuple[Substitution, ...] = ("probability", "straight_through", "expected")


def squared_error(truth: Any, guess: Any) -> Any:
    """The loss of the Gaussian case."""
    return (truth - guess) ** 2


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
        for name in ("steps", "epochs", "inner_steps", "batch_rows", "hidden", "player_hidden"):
            if getattr(self, name) < 1:
                raise SanitizerError(f"'{name}' of the training must be at least 1")
        if self.steps % self.epochs:
            raise SanitizerError("the steps of the training must be a multiple of its epochs")
        if self.penalty not in ("symmetric", "lagrangian"):
            raise SanitizerError("the penalty must be 'symmetric' or 'lagrangian'")
        if self.patience is not None and self.patience < 1:
            raise SanitizerError("the patience of the training must be at least one epoch")
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
        for name in ("epochs", "steps_per_epoch", "batch_rows", "hidden"):
            if getattr(self, name) < 1:
                raise SanitizerError(f"'{name}' of the training must be at least 1")
        if self.symbols < 2:
            raise SanitizerError("a learned release needs at least two symbols")
        if self.penalty not in ("symmetric", "lagrangian"):
            raise SanitizerError("the penalty must be 'symmetric' or 'lagrangian'")
        if self.substitution not in SUBSTITUTIONS:
            raise SanitizerError(f"the substitution must be one of {', '.join(SUBSTITUTIONS)}")
        if self.patience is not None and self.patience < 1:
            raise SanitizerError("the patience of the training must be at least one epoch")
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
