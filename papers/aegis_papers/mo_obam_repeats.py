"""The paper's anonymizers run many times by its recipe: what one printed row could have been.

MDAV depends on the order of the records where several are equally far; the drawn centroids of `mo_obam_drawn` depend
on the draws. A printed figure is one run of such a recipe: it is the same if it lies where nearly all runs lie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.mdav import MDAV
from aegis_papers.mo_obam_data import Table, figures
from aegis_papers.mo_obam_paper import figure_of
from aegis_papers.mo_obam_recipe import drawn_for
from aegis_papers.reproduction import Between, Significance
from aegis_papers.setting import Setting

RUNS = 40
ROUNDS_OFF = 0.00005
"""Losses are printed with four digits: a printed loss stands for all that round to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """The figures of every run, as `aegis_papers.mo_obam_data.figures` gives them."""

    runs: tuple[dict[str, Any], ...]

    def values(self, figure: str) -> NDArray[np.float64]:
        """One number a run, see `aegis_papers.mo_obam_paper.figure_of`.

        >>> Repeats(runs=({"linkage": [9, 5, 1]}, {"linkage": [7, 5, 3]})).values("linkage 0.05").tolist()
        [9.0, 7.0]
        """
        return np.array([figure_of(run, figure) for run in self.runs], dtype=np.float64)

    def median(self, figure: str) -> float:
        return float(np.median(self.values(figure)))

    def spread(self, figure: str) -> Between:
        """Where 95 % of the runs lie, widened by half of the last digit that is printed."""
        low, high = np.quantile(self.values(figure), [0.025, 0.975])
        slack = ROUNDS_OFF if figure == "loss" else 0.0
        return Between(low=round(float(low) - slack, 6), high=round(float(high) + slack, 6))

    def below(self, figure: str, ours: float) -> Significance:
        """Whether ours lies below the runs of the recipe: its rank among them.

        >>> Repeats(runs=tuple({"loss": 0.5} for _ in range(39))).below("loss", 0.2).p
        0.025
        """
        as_low = int((self.values(figure) <= ours).sum())
        return Significance(
            name=f"rank among {len(self.runs)} runs of the recipe", p=(1 + as_low) / (1 + len(self.runs))
        )


def mdav_orders(setting: Setting, table: Table, k: int) -> Repeats:
    """MDAV as the paper ran it, the records in random orders; the first order is the file's."""
    runs = 3 if table.quick else RUNS
    runs_figures = setting.part(f"{table.source.name} mdav orders {k}", partial(_orders, table, k, runs), runs=runs)
    return Repeats(runs=tuple(runs_figures))


def _orders(table: Table, k: int, runs: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng([table.seed, k])
    by_order = [figures(table.mdav(k))]
    for _ in range(runs - 1):
        order = rng.permutation(len(table.records))
        shuffled = replace(
            table.records,
            numeric=table.records.numeric[order],
            categorical=table.records.categorical[order],
            sensitive=table.records.sensitive[order],
        )
        by_order.append(figures(MDAV(k=k, metric="z-scored labels", centroid="rounded").fit(shuffled)))
    return by_order


def drawn_runs(setting: Setting, table: Table, method: str) -> Repeats:
    """The paper's own solver, ``many`` or ``four`` classes, started again and again; k has no part in it."""
    runs = 3 if table.quick else RUNS
    source = table.source
    by_seed = setting.part(
        f"{source.name} drawn {method}",
        partial(_drawn, table, method, runs),
        runs=runs,
        draws=[source.draws, source.four_draws],
    )
    return Repeats(runs=tuple(by_seed))


def _drawn(table: Table, method: str, runs: int) -> list[dict[str, Any]]:
    return [drawn_for(table, method, table.ks[0], run=run).figures(table.records) for run in range(runs)]
