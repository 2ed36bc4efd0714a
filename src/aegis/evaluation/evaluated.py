"""What an evaluation found: families of candidates, drawn once or several times, and how well every selector agrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, spearmanr

from aegis.arrays import Floats
from aegis.errors import MeasureError
from aegis.evaluation.gold import GoldScore, GoldStandard
from aegis.result import Result, called, plain, rebuilt

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedDraw:
    """The gold standard of one draw of a family, and how near every way of choosing comes to it."""

    seed: int
    gold: GoldStandard
    selectors: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "gold": {
                "models": list(self.gold.models),
                "splits": self.gold.splits,
                "training_rows": self.gold.training_rows,
                "test_rows": self.gold.test_rows,
                "cpu_seconds": self.gold.cpu_seconds,
                "reliability": _finite(self.gold.accuracy_reliability),
                "configurations": [
                    {**plain(score), "interval": [_finite(edge) for edge in score.interval]}
                    for score in self.gold.scores
                ],
            },
            "selectors": plain(self.selectors),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> EvaluatedDraw:
        """What `to_json` wrote."""
        gold = content["gold"]
        return cls(
            seed=content["seed"],
            gold=GoldStandard(
                models=tuple(gold["models"]),
                splits=gold["splits"],
                training_rows=gold["training_rows"],
                test_rows=gold["test_rows"],
                scores=tuple(_score(score) for score in gold["configurations"]),
                cpu_seconds=gold["cpu_seconds"],
            ),
            selectors=rebuilt(tuple[Agreement, ...], content["selectors"]),
        )


def _finite(value: float) -> float | None:
    """JSON has no infinity: what a single split cannot say is null."""
    return value if math.isfinite(value) else None


def _score(content: Mapping[str, Any]) -> GoldScore:
    low, high = content["interval"]
    edges = (-math.inf if low is None else low, math.inf if high is None else high)
    score: GoldScore = rebuilt(GoldScore, {**content, "interval": edges})
    return score


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedFamily:
    """A family of candidates, once for each time that it was drawn; ``notes`` say what it holds and what it lacks."""

    name: str
    draws: tuple[EvaluatedDraw, ...]
    notes: tuple[str, ...] = ()

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """Every way of choosing over the draws, the best first."""
        return tuple(over_draws([draw.selectors for draw in self.draws]))

    @property
    def selectors(self) -> tuple[Agreement, ...]:
        """Means over the draws, CPU seconds for one of them; the best first."""
        return tuple(spread.mean for spread in self.spreads)

    @property
    def training_seconds(self) -> float:
        """CPU seconds that training took, for one draw."""
        return sum(draw.gold.cpu_seconds for draw in self.draws) / len(self.draws)

    def to_json(self) -> dict[str, Any]:
        figures = self.draws[0].to_json()
        if len(self.draws) > 1:
            figures = {"selectors": plain(self.selectors), "draws": [draw.to_json() for draw in self.draws]}
        return {"name": self.name, **figures, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> EvaluatedFamily:
        """What `to_json` wrote."""
        draws = tuple(EvaluatedDraw.from_json(draw) for draw in content.get("draws", [content]))
        return cls(name=content["name"], draws=draws, notes=tuple(content["notes"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Result):
    """One table, every family of candidates that was tried on it."""

    name: str
    rows: int
    attributes: int
    label: str
    families: tuple[EvaluatedFamily, ...]

    @property
    def gold(self) -> GoldStandard:
        """The gold standard of the first draw of the first family."""
        return self.families[0].draws[0].gold

    @property
    def selectors(self) -> tuple[Agreement, ...]:
        """Every way of choosing, averaged over the families in which it can choose; the best first."""
        means = mean_agreement([family.selectors for family in self.families])
        return tuple(sorted(means, key=lambda selector: (selector.regret, -selector.spearman)))

    @property
    def headline(self) -> str:
        """Which way of choosing cost least accuracy."""
        best = self.selectors[0]
        cost = f"{100 * best.regret:.2f} points of accuracy"
        return f"{self.name}: choosing by {best.selector} costs {cost}, the least of {len(self.selectors)} ways"

    def table_rows(self) -> list[dict[str, Any]]:
        """Every way of choosing in every family, means over its draws."""
        return [
            {"family": family.name, "selector": agreement.pop("name"), **agreement}
            for family in self.families
            for agreement in plain(family.selectors)
        ]

    @property
    def most_draws(self) -> int:
        """How often a family was drawn."""
        return max(len(family.draws) for family in self.families)

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis evaluate --json`` prints."""
        table: dict[str, Any] = {
            "name": self.name,
            "rows": self.rows,
            "attributes": self.attributes,
            "label": self.label,
            "selectors": plain(self.selectors),
        }
        families = [family.to_json() for family in self.families]
        if len(families) == 1 and "gold" in families[0]:
            table["gold"] = families[0]["gold"]
        table["families"] = families
        return {"datasets": [table]}

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The one table of the JSON."""
        (table,) = content["datasets"]
        return {**table, "families": [EvaluatedFamily.from_json(family) for family in table["families"]]}
