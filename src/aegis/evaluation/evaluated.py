"""What an evaluation found: families of candidates, drawn once or several times, and how every selector did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.evaluation.agreement import Agreement, Spread, mean_agreement, over_draws
from aegis.evaluation.gold import GoldScore, GoldStandard
from aegis.result import Result, plain, rebuilt


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
            figures = {
                "selectors": plain(self.selectors),
                "draws": [draw.to_json() for draw in self.draws],
            }
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
