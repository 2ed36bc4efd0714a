"""One fitting: what is asked, what the parties know, and which rows serve what.

The first half of the rows finds the mechanism and fits every attacker, a sixth decides how much of the distortion to
spend, and the last third measures. Within the first half, the first part chooses cells and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import Z_95, AuditReport, Evidence, audit
from aegis.candidates.sanitizers.audited_column import Loss, Protection, Reconstruction
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism
from aegis.candidates.sanitizers.posterior import (
    EPSILON_SHARES,
    Belief,
    CertainPart,
    Certainty,
    certain_parts,
    certainty,
)
from aegis.errors import VerificationError
from aegis.plural import count
from aegis.progress import Progress

CERTAIN_CAP = 0.01  # records whose value is determined, beyond those that side information alone determines
VALUE_CAP = 0.05  # the same among the records of any one category
MEASURED_ROWS = 4_000
_MARGIN = 1.6  # standard errors that the reconstructor keeps from the distortion
_FEWEST = 20  # measured records of a category from which its own share is judged


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

    def audited(self, mechanism: Mechanism, release: Floats, truth: Floats, beliefs: Sequence[Belief]) -> AuditReport:
        """Fresh attackers and the exact posterior, each party on the same rows."""
        category = isinstance(mechanism, CategoryMechanism)
        evidence = [
            Evidence(
                view=View(release=release, side=side),
                exact=partial(_answer, belief, mechanism),
                unaided=partial(_unaided, belief) if category else None,
            )
            for belief, side in zip(beliefs, self.sides, strict=True)
        ]
        return audit(
            truth,
            evidence[0],
            evidence[self.groups :],
            kind="category" if category else "number",
            epsilon=0.5 if category else EPSILON_SHARES[1] * float(truth.std()),
            names=self.names,
            cost=self.cost,
            stated_values=beliefs[0].values.size if self.log else None,
            seed=int(self.rng.integers(2**31)),
        )

    def known_channel(
        self, mechanism: Mechanism, release: Floats, truth: Floats, beliefs: Sequence[Belief]
    ) -> list[Certainty]:
        """What the posterior of each adversary comes to on the measured rows."""
        start = self.measured.start
        rows = slice(start, start + MEASURED_ROWS)
        epsilons = [share * float(truth.std()) for share in EPSILON_SHARES]
        return [
            certainty(belief, mechanism, View(release=release[rows], side=side[rows]), truth[rows], epsilons=epsilons)
            for belief, side in zip(beliefs[self.groups :], self.adversary_sides, strict=True)
        ]

    def known_parts(
        self, mechanism: Mechanism, release: Floats, truth: Floats, beliefs: Sequence[Belief]
    ) -> list[CertainPart]:
        """How sure each adversary is of each column of tuples on the measured rows; nothing for a single column."""
        start = self.measured.start
        rows = slice(start, start + MEASURED_ROWS)
        return [
            part
            for belief, side in zip(beliefs[self.groups :], self.adversary_sides, strict=True)
            for part in certain_parts(belief, mechanism, View(release=release[rows], side=side[rows]), truth[rows])
        ]

    def losses(
        self, belief: Belief, mechanism: Mechanism, release: Floats, truth: Floats, rows: slice, *, group: int = 0
    ) -> Floats:
        """What the reconstructor of an authorised group loses on each of some rows."""
        view = View(release=release[rows], side=self.sides[group][rows])
        if isinstance(mechanism, CategoryMechanism):
            return belief.losses(mechanism, view, truth[rows].astype(np.int64))
        return np.asarray((truth[rows] - belief.guess(mechanism, view)) ** 2)

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

    def reconstruction(
        self,
        belief: Belief,
        mechanism: Mechanism,
        release: Floats,
        truth: Floats,
        *,
        group: int = 0,
        tuned_too: bool = False,
    ) -> Reconstruction:
        """The error of a group's reconstructor on the measured rows; beyond the distortion nothing is accepted.

        ``tuned_too`` counts the tuning rows in.
        """
        rows = slice(self.tuned.start if tuned_too else self.measured.start, None)
        losses = self.losses(belief, mechanism, release, truth, rows, group=group)
        mean, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(losses.size))
        reconstruction = Reconstruction(loss=mean, interval=(max(0.0, mean - Z_95 * error), mean + Z_95 * error))
        accept(reconstruction, self.distortions[group], self.column)
        return reconstruction


def standard_error(losses: Floats) -> float:
    """The standard error of a mean; among few rows a rare error may not happen, so one is counted in."""
    return float(np.sqrt((losses.var() + 1.0 / losses.size * losses.max(initial=0.0) ** 2) / losses.size))


def _answer(belief: Belief, mechanism: Mechanism, view: View) -> Floats:
    return belief.stated(mechanism, view) if belief.log else belief.guess(mechanism, view)


def _unaided(belief: Belief, view: View) -> Floats:
    """The best answer about a category from side information alone."""
    prior = belief.prior(view.side)
    return prior if belief.log else belief.values[belief.likeliest(prior)]


def accept(reconstruction: Reconstruction, distortion: float, column: str) -> None:
    """Refuse a mechanism whose reconstructor errs by more than was asked: the point estimate counts."""
    if reconstruction.loss > distortion:
        raise VerificationError(
            f"no mechanism for column '{column}' keeps the authorised party's reconstructor within the distortion "
            f"asked for (it has {reconstruction.loss:.4g}); allow more distortion, or add authorised columns or rows"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TooCertain:
    """An adversary for whom a release determines too many records: their share without it and with it, and the cap."""

    adversary: int
    before: float
    after: float
    allowed: float
    of_one_value: bool


def too_certain(
    before: Sequence[Certainty], after: Sequence[Certainty], *, codes: NDArray[np.int64] | None
) -> TooCertain | None:
    """The first adversary for whom too many records are determined; None where none is."""
    for number, (then, now) in enumerate(zip(before, after, strict=True), start=1):
        if now.certain > then.certain + CERTAIN_CAP:
            return TooCertain(
                adversary=number, before=then.certain, after=now.certain, allowed=CERTAIN_CAP, of_one_value=False
            )
        if codes is not None:
            held = np.bincount(codes[:MEASURED_ROWS], minlength=len(now.by_value))
            for was, share, records in zip(then.by_value, now.by_value, held, strict=True):
                if records >= _FEWEST and share > was + VALUE_CAP:
                    return TooCertain(adversary=number, before=was, after=share, allowed=VALUE_CAP, of_one_value=True)
    return None


def refuse_certain(
    column: str, before: Sequence[Certainty], after: Sequence[Certainty], *, codes: NDArray[np.int64] | None
) -> None:
    """Refuse a release that determines too many records for an adversary that knows how it was made."""
    excess = too_certain(before, after, codes=codes)
    if excess is not None:
        whose = "the records with one value" if excess.of_one_value else "the records"
        raise VerificationError(
            f"the release of column '{column}' would determine {100 * excess.after:.1f} % of {whose} for adversary "
            f"{excess.adversary}, who knows how it was made and is sure of {100 * excess.before:.1f} % without it; at "
            f"most {count(round(100 * excess.allowed), 'point')} more may be: allow more distortion"
        )


def too_certain_part(parts: Sequence[CertainPart], *, records: int | None = None) -> CertainPart | None:
    """The first column of tuples that is determined by itself for too many records; None where none is.

    ``records`` allows for the chance of a drawing that was measured on so many.
    """
    for part in parts:
        chance = 0.0 if records is None else 3 * np.sqrt(max(part.after * (1 - part.after), 1e-4) / records)
        if part.after > part.before + CERTAIN_CAP + chance:
            return part
    return None


def refuse_certain_parts(column: str, parts: Sequence[CertainPart], *, records: int | None = None) -> None:
    """Refuse tuples that stay in doubt while a column of them does not."""
    part = too_certain_part(parts, records=records)
    if part is not None:
        raise VerificationError(
            f"the tuples of column '{column}' determine '{part.column}' by itself for {100 * part.after:.1f} % of the "
            f"records ({100 * part.before:.1f} % without them), although no tuple is; nothing is written: allow more "
            "distortion, ask for --local-dp, or release the columns one after the other (without --jointly)"
        )


def protections(
    before: Sequence[Certainty], after: Sequence[Certainty], noise: Sequence[Certainty] | None
) -> tuple[Protection, ...]:
    """What each adversary comes to without and with the release."""
    beside: Sequence[Certainty | None] = [None] * len(before) if noise is None else noise
    return tuple(
        Protection(before=then, after=now, noise=other) for then, now, other in zip(before, after, beside, strict=True)
    )


def crossed_guesses(features: Floats, x: Floats, kind: attackers.Kind) -> Floats:
    """Guesses of X from side information alone, each by a model of the other half of the rows."""
    half = len(x) // 2
    guesses = np.empty(len(x))
    learn = attackers.fit_trees if "trees" in attackers.available() else attackers.fit_neighbours
    for train, test in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        guesses[test] = learn(features[train][:20_000], x[train][:20_000], kind)(features[test])
    return guesses
