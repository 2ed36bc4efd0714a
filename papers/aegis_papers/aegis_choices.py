"""What the experiments on choosing share: trained models per configuration, and what each selector would choose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.arrays import Floats
from aegis.counts.collect import count_joints
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.summary import Summary
from aegis.evaluation.evaluated import agreement
from aegis.evaluation.gold import gold_standard
from aegis.evaluation.selectors import select
from aegis.masking.configuration import Configuration
from aegis.ranking.rank import TOGETHER
from aegis_papers.aegis_data import MEASURES, MODELS, Table, split_plan
from aegis_papers.aegis_recipe import algorithm_1
from aegis_papers.aegis_training import Trained
from aegis_papers.reproduction import Between
from aegis_papers.setting import Setting

LEVELS = {"+1D": "Aegis+1D", "-1D": "Aegis-1D"}
ADVISOR = "our default"
SEEDS = 5
"""Rounding and sampling are random: what they choose is the mean over this many draws."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chooser:
    """A selector's scores of the configurations, one row per draw, and what one draw costs after the counting."""

    name: str
    scores: Floats
    cpu_seconds: float

    def loss(self, trained: Trained) -> float:
        """How far the chosen configuration lies below the best, as a share; the mean over draws and ties."""
        return float(np.mean([agreement(self.name, row, trained.accuracies).regret for row in self.scores]))

    def accuracy(self, trained: Trained) -> float:
        return trained.best - self.loss(trained)

    def spread(self, trained: Trained) -> Between | None:
        """The least and the largest accuracy that its draws choose; None where nothing is drawn."""
        if len(self.scores) == 1:
            return None
        reached = [trained.best - agreement(self.name, row, trained.accuracies).regret for row in self.scores]
        return Between(low=round(float(min(reached)), 4), high=round(float(max(reached)), 4))

    def correlation(self, accuracies: Floats) -> float:
        """Spearman's, the mean over draws."""
        return float(np.mean([agreement(self.name, row, accuracies).spearman for row in self.scores]))


def selectors() -> dict[str, str]:
    """The paper's competitors by the names used here, and the library's names for them."""
    named = {
        f"Aegis{level} {short}": f"{ours} {long}" for level, ours in LEVELS.items() for short, long in MEASURES.items()
    }
    named |= {f"Sampling {short}": f"Sampling {long}" for short, long in MEASURES.items()}
    named["Mascara"] = "Mascara"
    named |= {f"Aegis+2D {short}": f"{long} (exact)" for short, long in MEASURES.items()}
    named[ADVISOR] = TOGETHER
    return named


TIMED = 2
"""Configurations that are trained on all rows to measure time; fifty take 25 times as long."""


def training_seconds(setting: Setting, table: Table, model: str) -> float:
    """The CPU of training one model on every configuration, once, on seven tenths of *all* rows.

    No cap on the rows: a kernel machine takes longer than in proportion. Two configurations are timed, and what all
    would take is their mean times the number of configurations.
    """

    def work() -> float:
        chosen = table.configurations[:TIMED]
        plan = split_plan(setting, table, splits=1)
        gold = gold_standard(table.rows, chosen, label=table.label, models=(MODELS[model],), plan=plan)
        return gold.cpu_seconds * len(table.configurations) / len(chosen)

    return float(setting.part(f"train-time-{table.name}-{model}", work, timed=TIMED))


def unmasked_accuracy(setting: Setting, table: Table, model: str) -> float:
    """What a model reaches on seven tenths of all rows with nothing masked."""

    def work() -> float:
        plan = split_plan(setting, table, splits=2)
        unmasked = (Configuration(name="unmasked", masks={}, label=table.label),)
        return gold_standard(table.rows, unmasked, label=table.label, models=(MODELS[model],), plan=plan).accuracies[0]

    return float(setting.part(f"unmasked-{table.name}-{model}", work))


def recipe_seconds(setting: Setting, table: Table) -> float:
    """The CPU of Algorithm 1 with g3 as the paper writes it, masking the rows again for every configuration."""

    def work() -> float:
        rows = table.rows
        return algorithm_1(
            table.summary, rows.codes, rows.label, measure=MEASURES["g3"], rng=np.random.default_rng(setting.seed)
        ).total

    return float(setting.part(f"recipe-time-{table.name}", work))


def counting_seconds(setting: Setting, table: Table) -> float:
    """The CPU of the one pass over the rows, from the opened table to all joints."""

    def work() -> float:
        started = time.process_time()
        count_joints(table.dataset, label=table.label)
        return time.process_time() - started

    return float(setting.part(f"count-{table.name}", work))


def choosers(setting: Setting, table: Table) -> dict[str, Chooser]:
    """What every selector thinks of a table's configurations."""
    kept = setting.part(f"choose-{table.name}", lambda: _choose(setting, table, table.summary, selectors()))
    return _choosers(kept)


def choosers_of(setting: Setting, table: Table, part: str, chosen: Sequence[Configuration]) -> dict[str, Chooser]:
    """The same of other configurations of the table, by Aegis+1D, the exact values and our default."""
    wanted = {name: ours for name, ours in selectors().items() if name.startswith(("Aegis+1D", "Aegis+2D", ADVISOR))}
    return _choosers(setting.part(part, lambda: _choose(setting, table, table.summary_of(chosen), wanted)))


def _choosers(kept: dict[str, Any]) -> dict[str, Chooser]:
    return {
        name: Chooser(name=name, scores=np.array(entry["scores"]), cpu_seconds=entry["cpu_seconds"])
        for name, entry in kept.items()
    }


def _choose(setting: Setting, table: Table, summary: Summary, wanted: dict[str, str]) -> dict[str, Any]:
    pairs, pair_seconds = None, 0.0
    if ADVISOR in wanted:
        started = time.process_time()
        pairs = count_pairs(table.dataset, table.counted, seed=setting.seed)
        pair_seconds = time.process_time() - started
    select(summary, names=("mutual-information (pooled)",), seed=setting.seed)  # loads what is loaded late
    by_way: dict[str, Any] = {}
    for name, ours in wanted.items():
        random = not name.startswith(("Mascara", "Aegis+2D", ADVISOR))
        draws = [
            select(summary, pairs=pairs, names=(ours,), seed=setting.seed + draw)[0]
            for draw in range(SEEDS if random else 1)
        ]
        spent = float(np.mean([selection.cpu_seconds for selection in draws])) + (
            pair_seconds if name == ADVISOR else 0.0
        )
        by_way[name] = {"scores": [selection.scores.tolist() for selection in draws], "cpu_seconds": spent}
    return by_way
