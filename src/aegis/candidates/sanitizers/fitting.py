"""Finding a mechanism for a column of a table.

The mechanism sees the private column alone, so a saved one needs no side information. How it was found depends on the
column. A number gets a mixture of plain releases whose Gaussian proposal is tuned until a fresh reconstructor has the
wanted distortion on the table itself. A category gets the exact finite program, solved for channels that are estimated
from out-of-fold predictions. In both cases the audit by fresh attackers on held-out rows has the last word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import MINIMUM_ROWS, AuditReport, Evidence, audit, measure_party
from aegis.candidates.sanitizers.encoding import encode_side, refuse_copies, refuse_missing
from aegis.candidates.sanitizers.finite import FiniteProblem, finite_problem
from aegis.candidates.sanitizers.finite_program import FiniteOptimum, optimum
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism, NumberMechanism, draw_symbols, numbers
from aegis.candidates.sanitizers.mixtures import Library, Mixture, best_mixture, library, plain_noise
from aegis.errors import SanitizerError, VerificationError
from aegis.result import rebuilt

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]
Family = Literal["capped", "free", "noise"]
_CATEGORIES = 12
_CELLS = 6
_RULES = 400  # channels are estimates here: more rules cost minutes and buy nothing
_CAP_SLACK = 0.02  # a measured share this far above that of plain noise breaks the cap


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedColumn:
    """The audit of one column's release and the figures that frame it.

    ``distortion`` is what was asked for; ``max_distortion`` and ``saturation_losses`` are those of releasing nothing:
    squared units of the column for a number, shares of wrong guesses for a category.
    """

    column: str
    method: str
    distortion: float
    max_distortion: float
    saturation_losses: tuple[float, ...]
    audit: AuditReport

    def to_json(self) -> dict[str, Any]:
        """The audit report as plain numbers."""
        return {
            "column": self.column,
            "method": self.method,
            "target": self.distortion,
            "max_distortion": self.max_distortion,
            "saturation_losses": list(self.saturation_losses),
            "audit": self.audit.to_json(),
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> AuditedColumn:
        """What `to_json` wrote."""
        audited: AuditedColumn = rebuilt(AuditedColumn, {**content, "distortion": content["target"]})
        return audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted(AuditedColumn):
    """A mechanism with its audit."""

    mechanism: Mechanism


def fit(
    private: NDArray[Any],
    *,
    column: str,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortion: float,
    family: Family = "capped",
    epsilon_share: float = 0.1,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
) -> Fitted:
    """Find, audit and return a mechanism for one private column.

    ``distortion`` is the mean squared error (number) or share of wrong guesses (category) that the authorised party
    may have; above what it has without any release, nothing is released. ``family`` chooses among plain releases of
    a number: ``capped`` exposes no more records than plain noise does, ``free`` has no such limit.
    ``names`` are the attackers of the audit: all that are installed unless given.
    """
    check_distortion(distortion)
    kind = _checked(private, column, authorized, adversaries)
    names = attackers.available() if names is None else tuple(names)
    rows = len(private)
    order = rng.permutation(rows)
    sides = [encode_side(authorized, rows=rows, party="authorized")[order]]
    sides += [
        encode_side(side, rows=rows, party=f"adversary {number}")[order]
        for number, side in enumerate(adversaries, start=1)
    ]
    shuffled = private[order]
    if kind == "number":
        return _fit_number(numbers(shuffled, column), column, sides, distortion, family, epsilon_share, names, rng)
    return _fit_category(shuffled.astype(str), column, sides, distortion, names, rng)


def _fit_number(
    x: Floats, column: str, sides: list[Floats], distortion: float, family: Family, epsilon_share: float,
    names: Sequence[str], rng: np.random.Generator,
) -> Fitted:  # fmt: skip
    variances = [_residual_variance(side, x) for side in sides]
    epsilon = epsilon_share * float(x.std())
    limit = variances[0]
    allowed = min(distortion, limit)
    shelf = library(
        authorized_variance=variances[0],
        adversary_variances=variances[1:],
        epsilon=epsilon,
        family="noise" if family == "noise" else "any",
        periods=28,
        blurs=14,
    )
    half = len(x) // 2
    aim = allowed
    mixture = _propose(shelf, aim, family)
    if allowed < limit:
        # the proposal assumes a normal law; move its aim until a reconstructor on the table has the wanted distortion
        for _ in range(5):
            reached = _reconstructed(mixture, x[:half], sides[0][:half], names, rng)
            if 0.94 * allowed <= reached <= 1.0 * allowed:
                break
            aim = float(np.clip(aim * np.clip(0.97 * allowed / max(reached, 1e-12), 0.3, 3.0), 1e-6 * limit, limit))
            mixture = _propose(shelf, aim, family)

    def attacked(release: Mixture) -> AuditReport:
        shown = _shown(release, x, rng)
        views = [Evidence(view=View(release=shown, side=side)) for side in sides]
        return audit(x, views[0], views[1:], epsilon=epsilon, names=names, seed=int(rng.integers(2**31)))

    report = attacked(mixture)
    if allowed < limit and report.distortion.loss < 0.9 * allowed:
        # attackers with more rows than the tuning had reconstruct better: what they left of the distortion is spent
        bolder_aim = min(limit, aim * 0.97 * allowed / max(report.distortion.loss, 1e-12))
        bolder = _propose(shelf, bolder_aim, family)
        second = attacked(bolder)
        if second.distortion.loss <= 1.02 * allowed and second.worst > report.worst:
            mixture, report, aim = bolder, second, bolder_aim
    accept(report, distortion, column)
    plain = plain_noise(shelf, distortion=aim).mixture
    reference = (report if mixture == plain else attacked(plain)).exposure.pinned_share
    # the cap was set under a normal law; where the table breaks it, plain noise takes over
    if family == "capped" and report.exposure.pinned_share > reference + _CAP_SLACK:
        return _fit_number(x, column, sides, distortion, "noise", epsilon_share, names, rng)
    return Fitted(
        column=column,
        mechanism=NumberMechanism(column=column, mixture=mixture),
        audit=replace(report, exposure=replace(report.exposure, reference_pinned_share=reference)),
        distortion=distortion,
        max_distortion=limit,
        saturation_losses=tuple(variances[1:]),
        method=f"mixture ({family})",
    )


def _fit_category(
    x: NDArray[Any], column: str, sides: list[Floats], distortion: float, names: Sequence[str], rng: np.random.Generator
) -> Fitted:
    values, codes = np.unique(x, return_inverse=True)
    half = len(codes) // 2
    problem = _estimated_problem(codes[:half], [side[:half] for side in sides], len(values))
    tried: list[tuple[FiniteOptimum, AuditReport]] = []
    aim = min(distortion, problem.max_distortion)
    # cells are a summary of what the authorised party knows, so the first audit often finds distortion to spare
    for _ in range(3):
        best = optimum(problem, distortion=aim, most_rules=_RULES)
        shown = draw_symbols(best.release, codes, rng)[:, None].astype(np.float64)
        report = audit(
            codes.astype(np.float64),
            Evidence(view=View(release=shown, side=sides[0])),
            [Evidence(view=View(release=shown, side=side)) for side in sides[1:]],
            kind="category",
            epsilon=0.5,
            names=names,
            seed=int(rng.integers(2**31)),
        )
        tried.append((best, report))
        reached = report.distortion.loss
        if 0.92 * distortion <= reached <= 1.02 * distortion or (
            reached < distortion and aim == problem.max_distortion
        ):
            break
        aim = float(np.clip(aim * 0.97 * distortion / max(reached, 1e-9), 1e-6, problem.max_distortion))
    # the one that protects best among those within the distortion, or else the one nearest to it
    within = [pair for pair in tried if pair[1].distortion.loss <= 1.02 * distortion]
    best, report = (
        max(within, key=lambda pair: pair[1].worst) if within else min(tried, key=lambda pair: pair[1].distortion.loss)
    )
    accept(report, distortion, column)
    return Fitted(
        column=column,
        mechanism=CategoryMechanism(column=column, values=tuple(str(v) for v in values), release=best.release),
        audit=report,
        distortion=distortion,
        max_distortion=problem.max_distortion,
        saturation_losses=tuple(float(loss) for loss in problem.saturation_losses),
        method="finite program" if best.exact else "finite program (rules sampled)",
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


def _propose(shelf: Library, aim: float, family: Family) -> Mixture:
    plain = plain_noise(shelf, distortion=aim)
    if family == "noise":
        return plain.mixture
    caps = plain.pinned_shares if family == "capped" else None
    return best_mixture(shelf, distortion=aim, caps=caps).mixture


def _reconstructed(mixture: Mixture, x: Floats, side: Floats, names: Sequence[str], rng: np.random.Generator) -> float:
    """Distortion of a fresh reconstructor, fitted and measured on two halves of these rows."""
    view = View(release=_shown(mixture, x, rng), side=side)
    return measure_party(x, Evidence(view=view), names=names).loss


def _shown(mixture: Mixture, x: Floats, rng: np.random.Generator) -> Floats:
    """The release as numbers: the value, then which component gave it (padded, so that attackers compile once)."""
    released = mixture.release(x, rng=rng)
    flags = np.eye(max(6, len(mixture.weights)))[released.component]
    return np.hstack([released.value[:, None], flags])


def _estimated_problem(codes: NDArray[np.int64], sides: list[Floats], size: int) -> FiniteProblem:
    """Channels P(cell of side information | x), cells made from out-of-fold predictions.

    A value that only the other rows hold counts as half a record: the release must know what to do with it.
    """
    channels = []
    for side in sides:
        cells = _cells(side, codes, size)
        table = np.full((size, int(cells.max()) + 1), 0.5 / size)
        np.add.at(table, (codes, cells), 1.0)
        channels.append(table / table.sum(axis=1, keepdims=True))
    prior = np.maximum(np.bincount(codes, minlength=size), 0.5)
    return finite_problem(prior=prior / prior.sum(), authorized=channels[0], adversaries=channels[1:])


def _cells(side: Floats, codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    if size == 2:
        score = _folds(side, codes.astype(np.float64), "number")
        return np.searchsorted(np.unique(np.quantile(score, np.arange(1, _CELLS) / _CELLS)), score)
    return _folds(side, codes.astype(np.float64), "category").astype(np.int64)


def accept(report: AuditReport, distortion: float, column: str) -> None:
    """Refuse a mechanism whose fresh reconstructor is beyond the distortion, noise allowed for."""
    if report.distortion.interval[0] > distortion * 1.02:
        raise VerificationError(
            f"no mechanism for column '{column}' keeps a fresh reconstructor within the distortion asked for "
            f"(it has {report.distortion.loss:.4g}); allow more distortion or add authorised columns"
        )
