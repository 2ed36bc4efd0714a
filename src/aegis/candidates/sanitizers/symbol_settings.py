"""How to train networks that release one of a few symbols, and on what: plain values that need no JAX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.training_settings import Loss, Optimizer
from aegis.errors import SanitizerError

Codes = NDArray[np.int64]
Substitution = Literal["paper", "straight_through", "expected"]
SUBSTITUTIONS: tuple[Substitution, ...] = ("paper", "straight_through", "expected")


def zero_one(truth: Any, guess: Any) -> Any:
    """How often a guess that is drawn from ``guess`` is wrong; for a bit this is x(1 − x̂) + (1 − x)x̂.

    ``truth`` and ``guess`` hold a probability for each value in their last axis.

    >>> float(zero_one(np.array([0.0, 1.0]), np.array([0.25, 0.75])))
    0.25
    """
    return 1.0 - (truth * guess).sum(axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolSettings:
    """How to train; `paper` is the published protocol of the binary case.

    A drawn symbol has no gradient, so something takes its place while the privatizer learns (``substitution``):

    - ``paper``: the reconstructor sees the probability of the symbol; adversaries see the symbol, so nothing of their
      loss reaches the privatizer;
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

    @classmethod
    def paper(cls, *, epochs: int = 1000, steps_per_epoch: int = 50) -> SymbolSettings:
        """Section V.B to the letter: RAdam, η₀ = .01 × (5, 2, 1), γ = −.98, batches of 200, ρ = 1, 1,000 epochs."""
        return cls(
            epochs=epochs,
            steps_per_epoch=steps_per_epoch,
            erasure_starts=False,
            rates=(0.05, 0.02, 0.01),
            rate_slope=-0.98,
            decay=False,
            optimizer="radam",
            penalty="symmetric",
            penalty_weight=1.0,
            substitution="paper",
        )


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
