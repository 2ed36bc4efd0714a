"""One fitting: which rows serve what, and what every party makes of a release on rows that nothing was fitted on.

The first half of the rows finds the mechanism and fits every attacker, a sixth decides how much of the distortion to
spend, and the last third measures. Within the first half, the first part chooses cells and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import Z_95, AuditReport, Evidence, audit
from aegis.candidates.sanitizers.audited_column import MEASURED_ROWS, Loss, Reconstruction
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism
from aegis.candidates.sanitizers.posterior import (
    EPSILON_SHARES,
    Belief,
    CertainPart,
    Certainty,
    certain_parts,
    certainty,
    fit_category_belief,
    fit_number_belief,
)
from aegis.errors import VerificationError
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawn:
    """A mechanism and what it drew for every row, as numbers: the code of a symbol, or a value with its flags."""

    mechanism: Mechanism
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Evaluator:
    """The private value of every row, and what each party believes before a release: authorised groups first."""

    split: Split
    truth: Floats
    beliefs: Sequence[Belief]

    @classmethod
    def of_category(cls, split: Split, codes: Ints, *, size: int) -> Evaluator:
        """Beliefs about a category of ``size`` values, fitted on the first half of the rows."""
        half = split.half
        beliefs = [
            fit_category_belief(side[:half], codes[:half], size=size, quick=split.quick, cost=split.cost, log=split.log)
            for side in split.sides
        ]
        return cls(split=split, truth=codes.astype(np.float64), beliefs=beliefs)

    @classmethod
    def of_number(cls, split: Split, x: Floats) -> Evaluator:
        """Beliefs about a number, fitted on the first half of the rows; those of authorised groups can be shared."""
        half = split.half
        beliefs = [
            fit_number_belief(side[:half], x[:half], column=x, quick=split.quick, coarse=number < split.groups)
            for number, side in enumerate(split.sides)
        ]
        return cls(split=split, truth=x, beliefs=beliefs)

    def audited(self, drawn: Drawn) -> AuditReport:
        """Fresh attackers and the exact posterior, each party on the same rows."""
        split, truth = self.split, self.truth
        category = isinstance(drawn.mechanism, CategoryMechanism)
        evidence = [
            Evidence(
                view=View(release=drawn.values, side=side),
                exact=partial(_answer, belief, drawn.mechanism),
                unaided=partial(_unaided, belief) if category else None,
            )
            for belief, side in zip(self.beliefs, split.sides, strict=True)
        ]
        return audit(
            truth,
            evidence[0],
            evidence[split.groups :],
            kind="category" if category else "number",
            epsilon=0.5 if category else EPSILON_SHARES[1] * float(truth.std()),
            names=split.names,
            cost=split.cost,
            stated_values=self.beliefs[0].values.size if split.log else None,
            seed=int(split.rng.integers(2**31)),
        )

    def certainties(self, drawn: Drawn) -> list[Certainty]:
        """How sure the exact posterior of each adversary is of the measured rows."""
        rows = self._certain_rows
        epsilons = [share * float(self.truth.std()) for share in EPSILON_SHARES]
        return [
            certainty(belief, drawn.mechanism, _view(drawn, side, rows), self.truth[rows], epsilons=epsilons)
            for belief, side in self.adversaries
        ]

    def certain_parts(self, drawn: Drawn) -> list[CertainPart]:
        """How sure each adversary is of each column of tuples on the measured rows; nothing for a single column."""
        rows = self._certain_rows
        return [
            part
            for belief, side in self.adversaries
            for part in certain_parts(belief, drawn.mechanism, _view(drawn, side, rows), self.truth[rows])
        ]

    def losses(self, drawn: Drawn, rows: slice, *, group: int = 0) -> Floats:
        """What the reconstructor of an authorised group loses on each of some rows."""
        belief, view = self.beliefs[group], _view(drawn, self.split.sides[group], rows)
        if isinstance(drawn.mechanism, CategoryMechanism):
            return belief.losses(drawn.mechanism, view, self.truth[rows].astype(np.int64))
        return np.asarray((self.truth[rows] - belief.guess(drawn.mechanism, view)) ** 2)

    def tuning_losses(self, drawn: Drawn) -> list[Floats]:
        """What the reconstructor of each authorised group loses on the tuning rows."""
        return [self.losses(drawn, self.split.tuned, group=group) for group in range(self.split.groups)]

    def reconstructions(self, drawn: Drawn, *, tuned_too: bool = False) -> tuple[Reconstruction, ...]:
        """What the reconstructor of each group reaches on the measured rows; beyond its distortion nothing is accepted.

        ``tuned_too`` counts the tuning rows in.
        """
        split = self.split
        rows = slice((split.tuned if tuned_too else split.measured).start, None)
        reconstructions = []
        for group, distortion in enumerate(split.distortions):
            losses = self.losses(drawn, rows, group=group)
            mean, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(losses.size))
            if mean > distortion:  # the point estimate counts
                raise VerificationError(
                    f"no mechanism for column '{split.column}' keeps the authorised party's reconstructor within the "
                    f"distortion asked for (it has {mean:.4g}); allow more distortion, or add authorised columns or "
                    "rows"
                )
            interval = (max(0.0, mean - Z_95 * error), mean + Z_95 * error)
            reconstructions.append(Reconstruction(loss=mean, interval=interval))
        return tuple(reconstructions)

    @property
    def adversaries(self) -> list[tuple[Belief, Floats]]:
        """What each adversary believes without a release, and knows."""
        groups = self.split.groups
        return list(zip(self.beliefs[groups:], self.split.sides[groups:], strict=True))

    @property
    def _certain_rows(self) -> slice:
        start = self.split.measured.start
        return slice(start, start + MEASURED_ROWS)


def _view(drawn: Drawn, side: Floats, rows: slice) -> View:
    return View(release=drawn.values[rows], side=side[rows])


def _answer(belief: Belief, mechanism: Mechanism, view: View) -> Floats:
    return belief.stated(mechanism, view) if belief.log else belief.guess(mechanism, view)


def _unaided(belief: Belief, view: View) -> Floats:
    """The best answer about a category from side information alone."""
    prior = belief.prior(view.side)
    return prior if belief.log else belief.values[belief.likeliest(prior)]
