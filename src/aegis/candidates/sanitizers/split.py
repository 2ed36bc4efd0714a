"""One fitting: what is asked, what the parties know, and which rows serve what.

The first half of the rows finds the mechanism and fits every attacker, a sixth decides how much of the distortion to
spend, and the last third measures. Within the first half, the first part chooses cells and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audited_column import Loss
from aegis.progress import Progress

_MARGIN = 1.6  # standard errors that the reconstructor keeps from the distortion


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """That networks are trained on the rows beside the program, for how many steps, and where the run is kept."""

    steps: int = 2400
    checkpoint: Path | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Split:
    """The rows of one fitting; the first of ``sides`` are the authorised groups', the others are adversaries'.

    ``distortions`` holds how much each authorised group may err. ``cost[value, guess]`` replaces the share of wrong
    guesses of a category where it is given, ``log`` the logarithmic loss in bits; ``parts`` names the columns of a
    tuple. ``training`` says how networks are trained beside the program, if they are.
    """

    column: str
    sides: list[Floats]
    names: Sequence[str]
    rng: np.random.Generator
    quick: bool
    distortions: tuple[float, ...]
    cost: Floats | None = None
    log: bool = False
    parts: tuple[str, ...] = ()
    training: Training | None = None

    @property
    def groups(self) -> int:
        """How many authorised groups there are."""
        return len(self.distortions)

    @property
    def loss(self) -> Loss:
        """How errors on a category are counted."""
        return "log" if self.log else "zero-one" if self.cost is None else "costs"

    @property
    def adversary_sides(self) -> list[Floats]:
        """What each adversary knows."""
        return self.sides[self.groups :]

    @property
    def half(self) -> int:
        return len(self.sides[0]) // 2

    @property
    def measured(self) -> slice:
        return slice(self.half + (len(self.sides[0]) - self.half) // 3, None)

    @property
    def tuned(self) -> slice:
        return slice(self.half, self.measured.start)

    @property
    def celled(self) -> slice:
        """The rows that choose cells."""
        return slice(0, self.half // 2)

    @property
    def counted(self) -> slice:
        """The rows whose cells are counted."""
        return slice(self.half // 2, self.measured.start)

    def spent(self, losses: Floats, aim: float, *, group: int = 0) -> float | None:
        """Another aim that spends a group's distortion better, or None where this one does."""
        reached, distortion = float(losses.mean()), self.distortions[group]
        upper = max(distortion - _MARGIN * standard_error(losses), 0.5 * distortion)
        if 0.9 * upper <= reached <= upper:
            return None
        return aim * float(np.clip(0.96 * upper / max(reached, 1e-12), 0.3, 3.0))

    def needs_release(self, losses: Floats, *, group: int = 0) -> bool:
        """Whether a group errs too much without a release, what it lost on some rows being ``losses``."""
        return self.needed(losses, group=group) > self.distortions[group]

    def needed(self, losses: Floats, *, group: int = 0) -> float:
        """The distortion that a group needs for a release with which it lost so much on some rows."""
        return max(float(losses.mean()) + _MARGIN * standard_error(losses), self.distortions[group])


def standard_error(losses: Floats) -> float:
    """The standard error of a mean; among few rows a rare error may not happen, so one is counted in."""
    return float(np.sqrt((losses.var() + 1.0 / losses.size * losses.max(initial=0.0) ** 2) / losses.size))
