"""What an evaluation found: families of candidates, drawn once or several times, and how every selector did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.evaluation.agreement import Agreement, Spread, mean_agreement, over_draws
from aegis.evaluation.gold import GoldStandard


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedDraw:
    """The gold standard of one draw of a family, and how near every way of choosing comes to it."""

    seed: int
    gold: GoldStandard
    selectors: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "gold": {
                "models": list(self.gold.models),
                "splits": self.gold.splits,
                "training_rows": self.gold.training_rows,
                "cpu_seconds": self.gold.cpu_seconds,
                "reliability": self.gold.accuracy_reliability,
                "configurations": [
                    {
                        "configuration": one.configuration,
                        "id": one.id,
                        "accuracy": one.accuracy,
                        "interval": list(one.interval),
                        "auc": one.auc,
                        "balanced_accuracy": one.balanced_accuracy,
                    }
                    for one in self.gold.scores
                ],
            },
            "selectors": [one.to_json() for one in self.selectors],
        }


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
        return tuple(one.mean for one in self.spreads)

    @property
    def training_seconds(self) -> float:
        """CPU seconds that training took, for one draw."""
        return sum(draw.gold.cpu_seconds for draw in self.draws) / len(self.draws)

    def to_json(self) -> dict[str, Any]:
        one = self.draws[0].to_json()
        if len(self.draws) > 1:
            one = {
                "selectors": [selector.to_json() for selector in self.selectors],
                "draws": [{"seed": draw.seed, **draw.to_json()} for draw in self.draws],
            }
        return {"name": self.name, **one, "notes": list(self.notes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
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
        return tuple(sorted(means, key=lambda one: (one.regret, -one.spearman)))

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
            "selectors": [one.to_json() for one in self.selectors],
        }
        families = [family.to_json() for family in self.families]
        if len(families) == 1 and "gold" in families[0]:
            table["gold"] = families[0]["gold"]
        table["families"] = families
        return {"datasets": [table]}
