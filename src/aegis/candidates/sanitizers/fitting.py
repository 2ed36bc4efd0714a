"""Finding a mechanism for a column of a table, and measuring what it protects before anything is written.

The mechanism sees the private column alone, so a saved one needs no side information. A number gets a mixture of plain
releases that was tried on the table (`number_fitting`), a category the exact finite program under a cap on posteriors,
solved for channels that are estimated from out-of-fold predictions. In both cases the audit has the last word: the
reconstructor that the authorised party will hold must meet the distortion on rows of its own, and among the attackers
is always the one that knows the mechanism, the exact posterior on the column's own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS, Z_95, AuditReport, Evidence, audit
from aegis.candidates.sanitizers.components import Erasure, Noise
from aegis.candidates.sanitizers.encoding import Encoder, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.finite import FiniteProblem, finite_problem
from aegis.candidates.sanitizers.finite_program import optimum
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism, NumberMechanism, draw_symbols, numbers
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.number_fitting import noise_of, number_shelf, propose, shown
from aegis.candidates.sanitizers.posterior import (
    EPSILON_SHARES,
    Belief,
    Certainty,
    certainty,
    fit_category_belief,
    fit_number_belief,
)
from aegis.errors import SanitizerError, VerificationError
from aegis.result import rebuilt

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]
Family = Literal["capped", "noise"]
CERTAIN_CAP = 0.01  # records whose value is determined, beyond those that side information alone determines
VALUE_CAP = 0.05  # the same among the records of any one category
POSTERIOR_CAP = 0.98
_CATEGORIES = 12
_AUTHORIZED_LEVELS = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)
_ADVERSARY_LEVELS = (0.02, 0.06, 0.12, 0.25, 0.5, 0.75, 0.88, 0.94, 0.98)  # where it is surest the cap binds
_RULES = 150  # channels are estimates here: more rules cost minutes and buy nothing
_SLACK = 0.02  # a measured share this far above that of noise breaks the cap
_MEASURED_ROWS = 4_000
_MARGIN = 1.6  # standard errors that the reconstructor keeps from the distortion
_FEWEST = 20  # measured records of a category from which its own share is judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What the exact posterior of one adversary comes to on rows of its own: without and with the release.

    ``noise`` is plain noise of the same *measured* distortion, for a number.
    """

    before: Certainty
    after: Certainty
    noise: Certainty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """The error of the reconstructor that the authorised party gets, on rows that nothing was fitted on."""

    loss: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Party:
    """What one party knows, as numbers, and what it believes."""

    encoder: Encoder
    belief: Belief


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedColumn:
    """The audit of one column's release and the figures that frame it.

    ``distortion`` is what was asked for; ``max_distortion`` and ``saturation_losses`` are those of releasing nothing:
    squared units of the column for a number, shares of wrong guesses for a category. ``reconstruction`` is what the
    authorised party's file reaches, ``protection`` what each adversary that knows the mechanism comes to.
    """

    column: str
    method: str
    distortion: float
    max_distortion: float
    saturation_losses: tuple[float, ...]
    audit: AuditReport
    reconstruction: Reconstruction
    protection: tuple[Protection, ...]
    posterior_cap: float | None = None

    @property
    def determined(self) -> float:
        """The share of records whose value is determined for the adversary that knows most."""
        return max(protection.after.certain for protection in self.protection)

    def to_json(self) -> dict[str, Any]:
        """The audit report as plain numbers; shares by value are in the order of the column's values."""
        return {
            "column": self.column,
            "method": self.method,
            "target": self.distortion,
            "max_distortion": self.max_distortion,
            "saturation_losses": list(self.saturation_losses),
            "posterior_cap": self.posterior_cap,
            "reconstruction": asdict(self.reconstruction),
            "protection": [asdict(protection) for protection in self.protection],
            "audit": self.audit.to_json(),
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> AuditedColumn:
        """What `to_json` wrote."""
        audited: AuditedColumn = rebuilt(AuditedColumn, {**content, "distortion": content["target"]})
        return audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted(AuditedColumn):
    """A mechanism with its audit, and what every party believes."""

    mechanism: Mechanism
    authorized: Party = field(repr=False, compare=False)
    adversaries: tuple[Party, ...] = field(repr=False, compare=False)


def fit(
    private: NDArray[Any],
    *,
    column: str,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortion: float,
    family: Family = "capped",
    posterior_cap: float = POSTERIOR_CAP,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
    quick: bool = False,
) -> Fitted:
    """Find, audit and return a mechanism for one private column.

    ``distortion`` is the mean squared error (number) or share of wrong guesses (category) that the authorised party
    may have; above what it has without any release, nothing is released. ``family`` chooses among plain releases of
    a number: ``capped`` exposes no more records than noise of the same measured distortion does, ``noise`` is that
    noise. ``posterior_cap`` bounds what an adversary may believe of any value of a category. ``names`` are the fresh
    attackers of the audit: all that are installed unless given. ``quick`` takes lines for networks.
    """
    check_distortion(distortion)
    if family not in ("capped", "noise"):
        raise SanitizerError("on a table the family is 'capped' or 'noise': others would show values as they are")
    kind = _checked(private, column, authorized, adversaries)
    names = attackers.available() if names is None else tuple(names)
    rows = len(private)
    order = rng.permutation(rows)
    encoders = [Encoder.fit(authorized, party="authorised party's")]
    encoders += [Encoder.fit(side, party=f"adversary {n}'s") for n, side in enumerate(adversaries, start=1)]
    sides = [
        encoder.matrix(side, rows=rows)[order]
        for encoder, side in zip(encoders, (authorized, *adversaries), strict=True)
    ]
    split = Split(column=column, sides=sides, names=names, rng=rng, quick=quick, distortion=distortion)
    if kind == "number":
        return _fit_number(numbers(private, column)[order], split, encoders, family)
    return _fit_category(private.astype(str)[order], split, encoders, posterior_cap)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Split:
    """One fitting: what is asked, what the parties know, and which rows serve what.

    The first half of the rows finds the mechanism and fits every attacker, a sixth decides how much of the distortion
    to spend, and the last third measures.
    """

    column: str
    sides: list[Floats]
    names: Sequence[str]
    rng: np.random.Generator
    quick: bool
    distortion: float

    @property
    def half(self) -> int:
        return len(self.sides[0]) // 2

    @property
    def measured(self) -> slice:
        return slice(self.half + (len(self.sides[0]) - self.half) // 3, None)

    @property
    def tuned(self) -> slice:
        return slice(self.half, self.measured.start)

    def audited(self, mechanism: Mechanism, release: Floats, truth: Floats, beliefs: Sequence[Belief]) -> AuditReport:
        """Fresh attackers and the exact posterior, each party on the same rows."""
        category = isinstance(mechanism, CategoryMechanism)
        evidence = [
            Evidence(view=View(release=release, side=side), exact=partial(_guess, belief, mechanism))
            for belief, side in zip(beliefs, self.sides, strict=True)
        ]
        return audit(
            truth,
            evidence[0],
            evidence[1:],
            kind="category" if category else "number",
            epsilon=0.5 if category else EPSILON_SHARES[1] * float(truth.std()),
            names=self.names,
            seed=int(self.rng.integers(2**31)),
        )

    def known_channel(
        self, mechanism: Mechanism, release: Floats, truth: Floats, beliefs: Sequence[Belief]
    ) -> list[Certainty]:
        """What the posterior of each adversary comes to on the measured rows."""
        start = self.measured.start
        rows = slice(start, start + _MEASURED_ROWS)
        epsilons = [share * float(truth.std()) for share in EPSILON_SHARES]
        return [
            certainty(belief, mechanism, View(release=release[rows], side=side[rows]), truth[rows], epsilons=epsilons)
            for belief, side in zip(beliefs[1:], self.sides[1:], strict=True)
        ]

    def losses(self, belief: Belief, mechanism: Mechanism, release: Floats, truth: Floats, rows: slice) -> Floats:
        """What the authorised party's reconstructor loses on each of some rows."""
        guesses = belief.guess(mechanism, View(release=release[rows], side=self.sides[0][rows]))
        if isinstance(mechanism, CategoryMechanism):
            return np.asarray(guesses != truth[rows], dtype=np.float64)
        return np.asarray((truth[rows] - guesses) ** 2)

    def spent(self, losses: Floats, aim: float) -> float | None:
        """Another aim that spends the distortion better, or None where this one does."""
        reached = float(losses.mean())
        upper = max(self.distortion - _MARGIN * _noise(losses), 0.5 * self.distortion)
        if 0.9 * upper <= reached <= upper:
            return None
        return aim * float(np.clip(0.96 * upper / max(reached, 1e-12), 0.3, 3.0))

    def needs_release(self, losses: Floats) -> bool:
        """Whether the authorised party errs too much without a release, what it lost on some rows being ``losses``."""
        return float(losses.mean()) + _MARGIN * _noise(losses) > self.distortion


def _noise(losses: Floats) -> float:
    """The standard error of a mean; among few rows a rare error may not happen, so one is counted in."""
    return float(np.sqrt((losses.var() + 1.0 / losses.size * losses.max(initial=0.0) ** 2) / losses.size))


def _guess(belief: Belief, mechanism: Mechanism, view: View) -> Floats:
    return belief.guess(mechanism, view)


def _fit_number(x: Floats, split: Split, encoders: Sequence[Encoder], family: Family) -> Fitted:
    half, rng = split.half, split.rng
    variances = [_residual_variance(side, x) for side in split.sides[1:]]
    beliefs = [
        fit_number_belief(side[:half], x[:half], column=x, quick=split.quick, coarse=number == 0)
        for number, side in enumerate(split.sides)
    ]
    silence = NumberMechanism(column=split.column, mixture=Mixture(components=(Erasure(),), weights=(1.0,)))
    blank = shown(silence.mixture, x, rng)
    before = split.known_channel(silence, blank, x, beliefs)
    left = split.losses(beliefs[0], silence, blank, x, split.tuned)
    mechanism, release = silence, blank
    shelf = None
    if split.needs_release(left):
        shelf = number_shelf(x[:half], [side[:half] for side in split.sides], beliefs, rng=rng)
        aim = min(split.distortion, float(shelf.distortions[0]))
        for _ in range(6):
            mixture = propose(shelf, distortion=aim, certain_cap=CERTAIN_CAP, noise_only=family == "noise")
            mechanism = NumberMechanism(column=split.column, mixture=mixture)
            release = shown(mixture, x, rng)
            changed = split.spent(split.losses(beliefs[0], mechanism, release, x, split.tuned), aim)
            if changed is None:
                break
            aim = changed
    reconstruction = _reconstruction(split, beliefs[0], mechanism, release, x)
    after = split.known_channel(mechanism, release, x, beliefs)
    noise: list[Certainty] | None = None
    if shelf is not None:
        noise = _equal_noise(x, split, beliefs, reconstruction.loss, shelf.noise_std(aim))
        more_pinned = any(
            mine > theirs + _SLACK
            for one, other in zip(after, noise, strict=True)
            for mine, theirs in zip(one.pinned, other.pinned, strict=True)
        )
        if family == "capped" and (more_pinned or too_certain(before, after, codes=None) is not None):
            # the cap was set on other rows; where these break it, noise takes over
            return _fit_number(x, split, encoders, "noise")
        refuse_certain(split.column, before, after, codes=None)
    report = _exposed(split.audited(mechanism, release, x, beliefs), after, noise)
    return Fitted(
        column=split.column,
        mechanism=mechanism,
        audit=report,
        distortion=split.distortion,
        max_distortion=float(left.mean()),
        saturation_losses=tuple(variances),
        method="silence" if shelf is None else f"mixture ({family})",
        reconstruction=reconstruction,
        protection=_protection(before, after, noise),
        authorized=Party(encoder=encoders[0], belief=beliefs[0]),
        adversaries=_parties(encoders, beliefs),
    )


def _exposed(report: AuditReport, after: Sequence[Certainty], noise: Sequence[Certainty] | None) -> AuditReport:
    """The report with the share that the known channel pins, where that is more, and the same of equal noise."""
    place = EPSILON_SHARES.index(0.1)
    share = max(report.exposure.pinned_share, *(one.pinned[place] for one in after))
    reference = None if noise is None else max(one.pinned[place] for one in noise)
    return replace(report, exposure=replace(report.exposure, pinned_share=share, reference_pinned_share=reference))


def _equal_noise(
    x: Floats, split: Split, beliefs: Sequence[Belief], distortion: float, guess: float
) -> list[Certainty]:
    """Plain noise whose reconstructor errs as much as that of the release, measured on the same rows."""
    drawn_from = int(split.rng.integers(2**31))
    start = split.measured.start
    rows = slice(start, start + _MEASURED_ROWS // 2)

    def of(std: float) -> tuple[NumberMechanism, Floats]:
        mixture = Mixture(components=(Noise(std=std),), weights=(1.0,))
        release = shown(mixture, x, np.random.default_rng(drawn_from))
        return NumberMechanism(column=split.column, mixture=mixture), release

    # a ladder around the first guess; the distortion is measured on each rung and read off between them
    stds = guess * np.array([0.5, 0.8, 1.0, 1.25, 2.0])
    measured = np.array([float(split.losses(beliefs[0], *of(float(std)), x, rows).mean()) for std in stds])
    std = noise_of(stds, measured, distortion=max(distortion, float(measured[0])))
    return split.known_channel(*of(std), x, beliefs)


def _fit_category(x: NDArray[Any], split: Split, encoders: Sequence[Encoder], posterior_cap: float) -> Fitted:
    values, codes = np.unique(x, return_inverse=True)
    truth, half, size = codes.astype(np.float64), split.half, len(values)
    problem = _estimated_problem(codes[:half], [side[:half] for side in split.sides], size)
    beliefs = [fit_category_belief(side[:half], codes[:half], size=size, quick=split.quick) for side in split.sides]
    named = tuple(str(value) for value in values)

    def made(release: Floats) -> tuple[CategoryMechanism, Floats]:
        mechanism = CategoryMechanism(column=split.column, values=named, release=release)
        return mechanism, draw_symbols(release, codes, split.rng)[:, None].astype(np.float64)

    silence, blank = made(np.ones((size, 1)))
    before = split.known_channel(silence, blank, truth, beliefs)
    left = split.losses(beliefs[0], silence, blank, truth, split.tuned)
    if not split.needs_release(left):
        chosen = _Tried(silence, blank, _reconstruction(split, beliefs[0], silence, blank, truth), before, "silence")
        cap = posterior_cap
    else:
        cap = posterior_cap
        chosen = _tuned(problem, split, beliefs, truth, made, cap)
        # a cell is a summary of what an adversary knows; where its posteriors go further, the cap is tightened
        for doubt in (2.0, 3.5, 5.0, 7.5, 10.0):
            if too_certain(before, chosen.after, codes=codes[split.measured]) is None:
                break
            try:
                cap = max(1 - doubt * (1 - posterior_cap), 0.5)
                chosen = _tuned(problem, split, beliefs, truth, made, cap)
            except (SanitizerError, VerificationError):
                break  # nothing keeps both; what was found is refused below
        refuse_certain(split.column, before, chosen.after, codes=codes[split.measured])
    report = split.audited(chosen.mechanism, chosen.release, truth, beliefs)
    return Fitted(
        column=split.column,
        mechanism=chosen.mechanism,
        audit=report,
        distortion=split.distortion,
        max_distortion=float(left.mean()),
        saturation_losses=tuple(float(loss) for loss in problem.saturation_losses),
        method=chosen.method,
        reconstruction=chosen.reconstruction,
        protection=_protection(before, chosen.after, None),
        posterior_cap=cap,
        authorized=Party(encoder=encoders[0], belief=beliefs[0]),
        adversaries=_parties(encoders, beliefs),
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    mechanism: Mechanism
    release: Floats
    reconstruction: Reconstruction
    after: list[Certainty]
    method: str


def _tuned(
    problem: FiniteProblem, split: Split, beliefs: Sequence[Belief], truth: Floats, made: Any, cap: float
) -> _Tried:
    """The best release under a cap whose reconstructor spends the distortion and no more."""
    aim = min(split.distortion, problem.max_distortion)
    # cells are a summary of what the authorised party knows, so the first try often finds distortion to spare
    for attempt in range(5):
        try:
            best = optimum(problem, distortion=aim, most_rules=_RULES, posterior_cap=cap)
        except SanitizerError:
            if attempt == 0:
                raise
            break  # the aim before was the smallest that the cap allows
        mechanism, release = made(best.release)
        changed = split.spent(split.losses(beliefs[0], mechanism, release, truth, split.tuned), aim)
        if changed is None or (changed > aim and aim >= problem.max_distortion):
            break
        aim = min(changed, problem.max_distortion)
    return _Tried(
        mechanism,
        release,
        _reconstruction(split, beliefs[0], mechanism, release, truth),
        split.known_channel(mechanism, release, truth, beliefs),
        "finite program" if best.exact else "finite program (rules sampled)",
    )


def _reconstruction(
    split: Split, belief: Belief, mechanism: Mechanism, release: Floats, truth: Floats
) -> Reconstruction:
    """The reconstructor's error on the measured rows; beyond the distortion nothing is accepted."""
    losses = split.losses(belief, mechanism, release, truth, split.measured)
    mean, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(losses.size))
    found = Reconstruction(loss=mean, interval=(max(0.0, mean - Z_95 * error), mean + Z_95 * error))
    accept(found, split.distortion, split.column)
    return found


def accept(reconstruction: Reconstruction, distortion: float, column: str) -> None:
    """Refuse a mechanism whose reconstructor errs by more than was asked: the point estimate counts."""
    if reconstruction.loss > distortion:
        raise VerificationError(
            f"no mechanism for column '{column}' keeps the authorised party's reconstructor within the distortion "
            f"asked for (it has {reconstruction.loss:.4g}); allow more distortion, or add authorised columns or rows"
        )


def too_certain(
    before: Sequence[Certainty], after: Sequence[Certainty], *, codes: NDArray[np.int64] | None
) -> tuple[int, float] | None:
    """The first adversary for whom too many records are determined, and their share; None where none is."""
    for number, (then, now) in enumerate(zip(before, after, strict=True), start=1):
        if now.certain > then.certain + CERTAIN_CAP:
            return number, now.certain
        if codes is not None:
            held = np.bincount(codes[:_MEASURED_ROWS], minlength=len(now.by_value))
            for was, share, count in zip(then.by_value, now.by_value, held, strict=True):
                if count >= _FEWEST and share > was + VALUE_CAP:
                    return number, share
    return None


def refuse_certain(
    column: str, before: Sequence[Certainty], after: Sequence[Certainty], *, codes: NDArray[np.int64] | None
) -> None:
    found = too_certain(before, after, codes=codes)
    if found is not None:
        raise VerificationError(
            f"the release of column '{column}' would determine {100 * found[1]:.1f} % of the records (or of those with "
            f"one value) for adversary {found[0]}, who knows how it was made; allow more distortion"
        )


def _protection(
    before: Sequence[Certainty], after: Sequence[Certainty], noise: Sequence[Certainty] | None
) -> tuple[Protection, ...]:
    beside: Sequence[Certainty | None] = [None] * len(before) if noise is None else noise
    return tuple(
        Protection(before=then, after=now, noise=other) for then, now, other in zip(before, after, beside, strict=True)
    )


def _parties(encoders: Sequence[Encoder], beliefs: Sequence[Belief]) -> tuple[Party, ...]:
    return tuple(
        Party(encoder=encoder, belief=belief) for encoder, belief in zip(encoders[1:], beliefs[1:], strict=True)
    )


def _checked(private: NDArray[Any], column: str, authorized: Columns, adversaries: Sequence[Columns]) -> str:
    if private.ndim != 1 or len(private) < MINIMUM_ROWS:
        raise SanitizerError(
            f"fitting and auditing a sanitizer needs at least {MINIMUM_ROWS} rows in column '{column}'"
        )
    if not authorized:
        raise SanitizerError("the authorised party needs at least one column of side information")
    if not adversaries or not all(adversaries):
        raise SanitizerError("name at least one adversary, and at least one column for each")
    refuse_missing(private, name=column)
    distinct = np.unique(private.astype(str)).size
    if distinct < 2:
        raise SanitizerError(f"column '{column}' is constant; there is nothing to protect")
    for side in (authorized, *adversaries):
        if column in side:
            raise SanitizerError(f"column '{column}' is private and cannot be side information")
        for name, values in side.items():
            refuse_missing(values, name=name)
        refuse_copies(private, side, name=column)
    numeric = private.dtype.kind in "iuf"
    # measurements may differ in every row; whole numbers without a gap are row numbers
    counted = numeric and np.ptp(private) == len(private) - 1
    if numeric and distinct > 2 * _CATEGORIES and not (counted and distinct == len(private)):
        return "number"
    if distinct == len(private):
        raise SanitizerError(f"column '{column}' is unique in every row; a sanitizer cannot learn from an identifier")
    if numeric and distinct > _CATEGORIES:
        return "number"
    if distinct > _CATEGORIES:
        raise SanitizerError(
            f"column '{column}' has {distinct} categories; group them into at most {_CATEGORIES} before sanitizing"
        )
    return "category"


def _folds(features: Floats, x: Floats, kind: attackers.Kind) -> Floats:
    """Out-of-fold guesses of X from side information alone."""
    half = len(x) // 2
    guesses = np.empty(len(x))
    learn = attackers.fit_trees if "trees" in attackers.available() else attackers.fit_neighbours
    for train, test in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        guesses[test] = learn(features[train][:20_000], x[train][:20_000], kind)(features[test])
    return guesses


def _residual_variance(side: Floats, x: Floats) -> float:
    left = float(((x - _folds(side, x, "number")) ** 2).mean())
    if left < 1e-6 * x.var():
        raise SanitizerError("side information determines the private column; leave the column that repeats it out")
    return min(left, float(x.var()))


def _estimated_problem(codes: NDArray[np.int64], sides: list[Floats], size: int) -> FiniteProblem:
    """Channels P(cell of side information | x), cells made from out-of-fold predictions.

    A value that only the other rows hold counts as half a record: the release must know what to do with it.
    """
    channels = []
    for number, side in enumerate(sides):
        cells = _cells(side, codes, size, levels=_AUTHORIZED_LEVELS if number == 0 else _ADVERSARY_LEVELS)
        table = np.full((size, int(cells.max()) + 1), 0.5 / size)
        np.add.at(table, (codes, cells), 1.0)
        channels.append(table / table.sum(axis=1, keepdims=True))
    prior = np.maximum(np.bincount(codes, minlength=size), 0.5)
    return finite_problem(prior=prior / prior.sum(), authorized=channels[0], adversaries=channels[1:])


def _cells(side: Floats, codes: NDArray[np.int64], size: int, *, levels: Sequence[float]) -> NDArray[np.int64]:
    if size == 2:
        score = _folds(side, codes.astype(np.float64), "number")
        return np.searchsorted(np.unique(np.quantile(score, levels)), score)
    return _folds(side, codes.astype(np.float64), "category").astype(np.int64)
