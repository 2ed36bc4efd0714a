"""The F1 scores of the paper's recipe over all splits, and the tests that the paper makes of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from aegis.arrays import Floats
from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_paper import MODELS
from aegis_papers.mo_obam_recipe import GROUPS, ORIGINAL, Tables, key, train, wanted
from aegis_papers.reproduction import Significance
from aegis_papers.setting import Setting

PAPER_SPLITS = 100
LEVEL = 0.05  # of the paper's tests, which it does not correct
AHEAD, BEHIND, LEVEL_WITH = "ahead", "behind", "not apart"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Scores by table (`aegis_papers.mo_obam_recipe.key`) and model, one a split."""

    name: str
    by: dict[str, dict[str, Floats]]
    importance: dict[str, dict[str, float]]
    one_partition: bool  # for all k
    first_k: int

    def of(self, method: str, k: int, model: str) -> Floats | None:
        """Every split's score; None where the recipe was not run."""
        place = self.first_k if self.one_partition and method in ("many", "four") else k
        score = self.by.get(key(method, place), {}).get(model)
        return score if score is not None and len(score) > 1 else None

    def mean(self, method: str, k: int, model: str) -> float | None:
        values = self.of(method, k, model)
        return None if values is None else float(values.mean())

    def tolerance(self, method: str, k: int, model: str) -> float:
        """How far two means may lie apart by chance (95 %): ours over its splits, the paper's over a hundred."""
        values = self.of(method, k, model)
        if values is None:
            return 0.0
        return float(1.96 * values.std(ddof=1) * math.sqrt(1 / len(values) + 1 / PAPER_SPLITS))

    def p(self, first: tuple[str, int], second: tuple[str, int], model: str) -> float | None:
        """The paper's test of two tables, two-sided."""
        score, other = self.of(*first, model), self.of(*second, model)
        return None if score is None or other is None else float(mannwhitneyu(score, other).pvalue)

    def standing(self, first: tuple[str, int], second: tuple[str, int], model: str) -> str | None:
        """Where the first table stands beside the second by the paper's test."""
        p = self.p(first, second, model)
        if p is None:
            return None
        if p >= LEVEL:
            return LEVEL_WITH
        score, other = self.mean(*first, model), self.mean(*second, model)
        assert score is not None
        assert other is not None
        return AHEAD if score > other else BEHIND

    def splits(self, model: str) -> int:
        """How many splits the original was trained with."""
        values = self.of(ORIGINAL, 0, model)
        return 0 if values is None else len(values)

    def above(self, method: str, k: int, model: str, ours: list[float]) -> Significance | None:
        """Whether ours reach a higher F1 than the recipe does, split by split."""
        values = self.of(method, k, model)
        if values is None or len(ours) < 2:
            return None
        return Significance(
            name="Mann–Whitney U over splits", p=float(mannwhitneyu(ours, values, alternative="greater").pvalue)
        )


def recipe_scores(setting: Setting, table: Table) -> Scores:
    """Train by the recipe as many splits as the table's source asks for; every table, split and group is a part."""
    tables = Tables(table)
    by: dict[str, dict[str, list[float]]] = {}
    importance: dict[str, list[dict[str, float]]] = {}
    plan = [
        (group, chosen, splits)
        for group, (splits, rival_splits) in table.source.recipe_splits.items()
        for chosen, splits in (
            (tuple(combination for combination in wanted(table) if combination[0] != "mdav"), splits),
            (tuple(combination for combination in wanted(table) if combination[0] == "mdav"), rival_splits),
        )
    ]
    total = sum(splits for _, _, splits in plan)
    done = 0
    for group, chosen, splits in plan:
        if table.quick and group != "quick":
            continue
        for split in range(splits):
            setting.progress(done, total, f"{table.source.name}: the paper's recipe, {group} models, split {split + 1}")
            for name, scores in train(setting, table, tables, split, group, chosen=chosen).items():
                kept = dict[str, Any](scores)
                importance_rows = kept.pop("importance", None)
                if importance_rows is not None:
                    importance.setdefault(name, []).append(importance_rows)
                for model, score in kept.items():
                    by.setdefault(name, {}).setdefault(model, []).append(score)
            done += 1
    quasi = table.source.quasi
    return Scores(
        name=table.source.name,
        by={name: {model: np.array(values) for model, values in of.items()} for name, of in by.items()},
        importance={
            name: {column: float(np.mean([combination[column] for combination in importance_rows])) for column in quasi}
            for name, importance_rows in importance.items()
        },
        one_partition=not table.source.own_draws_per_k,
        first_k=table.ks[0],
    )


assert set(GROUPS) == set(MODELS)
