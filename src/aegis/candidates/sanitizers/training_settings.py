"""How to train, and on what: plain values that need no JAX to be written down and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.starts import STARTS, Start
from aegis.errors import SanitizerError

Floats = NDArray[np.float64]
Loss = Callable[[Any, Any], Any]
Optimizer = Literal["adam", "radam"]


def squared_error(truth: Any, guess: Any) -> Any:
    """The loss of the Gaussian case."""
    return (truth - guess) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How to train; the defaults suit two CPU cores, `paper` is the published protocol.

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

    @classmethod
    def paper(cls, *, epochs: int = 100) -> TrainingSettings:
        """Section V.A to the letter: one hidden layer of 50, Adam 1e-3, batches of 200, ρ = 1000, raw units."""
        return cls(
            steps=50 * epochs,
            epochs=epochs,
            inner_steps=1,
            warmup_steps=0,
            batch_rows=200,
            hidden=50,
            player_hidden=50,
            learning_rate=1e-3,
            player_learning_rate=1e-3,
            decay=False,
            penalty="symmetric",
            penalty_weight=1000.0,
            erasure=False,
            standardize=False,
            starts=("random",),
            keep_epochs=True,
        )


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
