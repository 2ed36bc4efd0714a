"""The ways to find the releases of a curve, by name; other packages may add theirs (entry points ``aegis.trainings``).

This module imports no training: JAX is loaded when one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.errors import SanitizerError
from aegis.progress import Progress
from aegis.registry import Registry

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.curve import Curve
    from aegis.candidates.sanitizers.finite import FiniteProblem
    from aegis.candidates.sanitizers.gaussian import GaussianProblem

WORDS = {
    "exposure_capped": "a cap on exposure (--cap-exposure)",
    "steps": "a number of steps (--steps)",
    "patience": "an early stop (--patience)",
    "checkpoint": "a checkpoint (--checkpoint)",
    "symbols": "another number of symbols than 2 (--symbols)",
    "epochs": "a number of epochs (--epochs)",
}
NEUTRAL: dict[str, Any] = {"exposure_capped": False, "symbols": 2}
ELSEWHERE = {"paper": "aegis-papers"}  # trainings that a package of their own brings


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One way to train.

    ``gaussian`` and ``binary`` give the audited curve of such a problem, None where there is no such curve. Both are
    called with the problem and, by keyword, ``points``, ``trials``, ``attackers``, ``seed``, ``progress`` and those
    options of ``uses`` that were asked for. ``least_trials`` is 0 where closed forms can stand alone.
    """

    name: str
    summary: str
    uses: frozenset[str]
    gaussian: Callable[..., Curve] | None = None
    binary: Callable[..., Curve] | None = None
    least_trials: int = 1

    def options(self, requested: dict[str, Any], *, trials: int) -> dict[str, Any]:
        """Those options that ask for something; one that this training does not use is refused in words."""
        options = {name: value for name, value in requested.items() if value != NEUTRAL.get(name)}
        for name in options:
            if name not in self.uses:
                raise SanitizerError(f"the training {self.name!r} does not use {WORDS.get(name, name)}; leave it out")
        if trials < self.least_trials:
            raise SanitizerError(f"the training {self.name!r} needs at least one trial; give --trials 1 or more")
        return options


def training_for(name: str, law: str) -> Training:
    """The training of this name that knows a law, ``gaussian`` or ``binary``."""
    if name in ELSEWHERE and name not in TRAININGS:
        raise SanitizerError(
            f"the training {name!r} is in a package of its own: pip install {ELSEWHERE[name]}, or leave --training out"
        )
    training = TRAININGS[name]
    if getattr(training, law) is None:
        able = [other for other, entry in TRAININGS.items() if getattr(entry, law) is not None]
        raise SanitizerError(f"the training {name!r} has no {law} curve; use {' or '.join(able)}")
    return training


def _ours_gaussian(
    problem: GaussianProblem,
    *,
    points: int,
    trials: int,
    attackers: Sequence[str] | None,
    seed: int,
    progress: Progress | None,
    exposure_capped: bool = False,
    steps: int | None = None,
    patience: int | None = None,
    checkpoint: Path | None = None,
) -> Curve:
    from aegis.candidates.sanitizers.gaussian_curve import gaussian_curve
    from aegis.candidates.sanitizers.training_settings import TrainingSettings

    settings = TrainingSettings(patience=patience)
    if steps is not None:
        if steps < 1:
            raise SanitizerError("training needs at least one step")
        epochs = min(settings.epochs, steps)
        settings = replace(settings, steps=epochs * max(1, round(steps / epochs)), epochs=epochs)
    return gaussian_curve(
        problem,
        points=points,
        trials=trials,
        exposure_capped=exposure_capped,
        settings=settings,
        checkpoint=checkpoint,
        attackers=attackers,
        seed=seed,
        progress=progress,
    )


def _ours_binary(problem: FiniteProblem, *, symbols: int | None = 2, **options: Any) -> Curve:
    from aegis.candidates.sanitizers.finite_curve import finite_curve

    return finite_curve(problem, symbols=symbols, **options)


def _network_binary(problem: FiniteProblem, *, symbols: int | None = 2, epochs: int = 300, **options: Any) -> Curve:
    from aegis.candidates.sanitizers.finite_curve import finite_curve
    from aegis.candidates.sanitizers.training_settings import SymbolSettings

    return finite_curve(problem, symbols=symbols, networks=SymbolSettings(epochs=epochs), **options)


TRAININGS: Registry[Training] = Registry("trainings", noun="training", error=SanitizerError)
for _training in (
    Training(
        name="ours",
        summary="structured starts, the exact losses of the law where they are known, closed forms beside them",
        uses=frozenset({"exposure_capped", "steps", "patience", "checkpoint", "symbols"}),
        gaussian=_ours_gaussian,
        binary=_ours_binary,
        least_trials=0,
    ),
    Training(
        name="network",
        summary="networks that learn from 10,000 rows by Algorithm 1, every symbol tried and weighted",
        uses=frozenset({"symbols", "epochs"}),
        binary=_network_binary,
    ),
):
    TRAININGS.add(_training.name, _training)
