"""How well a selector agrees with the exhaustive way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, spearmanr

from aegis.arrays import Floats
from aegis.errors import MeasureError
from aegis.result import called

TOP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Rank correlations with the gold accuracies, and what following the selector costs.

    ``regret`` is the best gold accuracy minus that of the chosen configuration, as a share (0.01 is one point), the
    mean over those that tie for first. ``top5`` is the chance that the chosen one is among the five best.
    """

    selector: str = field(metadata=called("name"))
    spearman: float
    kendall: float
    regret: float
    top5: float
    cpu_seconds: float


def agreement(selector: str, scores: ArrayLike, gold: ArrayLike, *, cpu_seconds: float = 0.0) -> Agreement:
    """Compare ``scores`` (higher is better) with the gold accuracies of the same configurations.

    >>> agreement("ours", [3.0, 1.0, 2.0], [0.8, 0.7, 0.9]).regret.__round__(3)
    0.1
    """
    ours, theirs = np.asarray(scores, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if ours.shape != theirs.shape or ours.ndim != 1 or len(ours) < 2:
        raise MeasureError("a selector is compared on two or more configurations, with one score and one gold each")
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise MeasureError(f"selector {selector!r} gave a score that is not a number; every configuration needs one")
    chosen = ours >= ours.max() - _close(ours)
    among_best = theirs >= np.sort(theirs)[-min(TOP, len(theirs))]
    return Agreement(
        selector=selector,
        spearman=_correlation(spearmanr, ours, theirs),
        kendall=_correlation(kendalltau, ours, theirs),
        regret=float(theirs.max() - theirs[chosen].mean()),
        top5=float(among_best[chosen].mean()),
        cpu_seconds=cpu_seconds,
    )


def random_choice(gold: ArrayLike) -> Agreement:
    """What choosing at random comes to on average: everything ties."""
    return agreement("random", np.zeros(np.shape(gold)), gold)


def mean_agreement(families: Sequence[Sequence[Agreement]]) -> list[Agreement]:
    """Each selector averaged over the families that have it, CPU seconds summed up.

    >>> one, two = agreement("s", [1, 2], [0.1, 0.3]), agreement("s", [2, 1], [0.1, 0.3])
    >>> round(mean_agreement([[one], [two]])[0].regret, 3)
    0.1
    """
    means = []
    for name, agreements in _by_selector(families).items():
        seconds = sum(agreement.cpu_seconds for agreement in agreements)
        means.append(replace(_combined(name, agreements, np.mean), cpu_seconds=seconds))
    return means


def _by_selector(families: Sequence[Sequence[Agreement]]) -> dict[str, list[Agreement]]:
    by_selector: dict[str, list[Agreement]] = {}
    for family in families:
        for agreement in family:
            by_selector.setdefault(agreement.selector, []).append(agreement)
    return by_selector


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A selector over several draws of a family: the mean of each number, CPU seconds too, its lowest and highest."""

    mean: Agreement
    lowest: Agreement
    highest: Agreement


def over_draws(draws: Sequence[Sequence[Agreement]]) -> list[Spread]:
    """Each selector over the draws that have it; the best first, by regret.

    >>> one, two = agreement("s", [1, 2], [0.1, 0.3]), agreement("s", [2, 1], [0.1, 0.3])
    >>> (found,) = over_draws([[one], [two]])
    >>> round(found.mean.regret, 3), found.lowest.regret, round(found.highest.regret, 3)
    (0.1, 0.0, 0.2)
    """
    spreads = [
        Spread(
            mean=_combined(name, agreements, np.mean),
            lowest=_combined(name, agreements, min),
            highest=_combined(name, agreements, max),
        )
        for name, agreements in _by_selector(draws).items()
    ]
    return sorted(spreads, key=lambda spread: (spread.mean.regret, -spread.mean.spearman))


def _combined(name: str, agreements: list[Agreement], of: Callable[[list[float]], Any]) -> Agreement:
    figures = [figure.name for figure in fields(Agreement) if figure.name != "selector"]
    combined = {figure: float(of([getattr(agreement, figure) for agreement in agreements])) for figure in figures}
    return Agreement(selector=name, **combined)


def _close(values: Floats) -> float:
    """Scores nearer than this are equal but for rounding."""
    return 1e-12 * float(max(np.abs(values).max(), 1e-300))


def _correlation(of: Any, ours: Floats, theirs: Floats) -> float:
    # Where one side cannot tell any two apart there is nothing to agree on.
    if np.ptp(ours) <= _close(ours) or np.ptp(theirs) <= _close(theirs):
        return 0.0
    return float(of(np.round(ours / max(np.abs(ours).max(), 1e-300), 12), theirs).statistic)
