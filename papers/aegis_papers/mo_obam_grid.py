"""Fig. 2 of the MO-OBAM paper: loss and people at risk on German credit by number of classes and λ, k = 5."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from aegis_papers.mo_obam_data import Table, figures
from aegis_papers.mo_obam_drawn import best_of
from aegis_papers.reproduction import Between, Claim, LineFigure, Section, Series, TableFigure, judged
from aegis_papers.setting import Setting

CLASSES = (4, 7, 10, 15, 20, 25, 30)
TRADE_OFFS = (1.0, 0.1, 0.01, 0.001, 0.0001)
K = 5
ROUNDS = 8_000
RUNS = 10  # of the paper's solver in every cell: a figure is their median
CHANCE = 0.1  # of the steps: the paper reads trends off a coloured grid
NOISE = 0.02  # a fiftieth of the loss: what two searches of this length differ by

Grid = dict[tuple[int, float], dict[str, Any]]
"""The figures of a cell, by number of classes and λ."""
Figure = Callable[[dict[str, Any]], float]


def fig_2(setting: Setting, table: Table) -> Section:
    """The grid with l = 1, as in the paper, which has no l."""
    classes = CLASSES[:3] if table.quick else CLASSES
    offs = TRADE_OFFS[::2] if table.quick else TRADE_OFFS
    grid: Grid = {}
    drawn: Grid = {}
    for number in classes:
        for off in offs:
            setting.progress(0, None, f"Fig. 2: {number} classes, λ = {off:g}")
            grid[number, off] = setting.part(
                f"fig 2 {number} {off:g}",
                partial(_cell, table, number, off),
                rounds=ROUNDS,
            )
            drawn[number, off] = setting.part(
                f"fig 2 drawn {number} {off:g}", partial(_drawn_cell, table, number, off), draws=table.source.draws
            )

    def steps(
        grid: Grid,
        of: Figure,
        *,
        along: str,
        rising: bool,
    ) -> float:
        """The share of neighbours in a grid between which a figure does not go against the way it should."""
        if along == "classes":
            pairs = [(grid[a, off], grid[b, off]) for off in offs for a, b in pairwise(classes)]
        else:
            pairs = [(grid[n, b], grid[n, a]) for n in classes for a, b in pairwise(offs)]  # λ from small to large
        good = [of(b) >= of(a) * (1 - NOISE) if rising else of(b) <= of(a) * (1 + NOISE) for a, b in pairs]
        return sum(good) / len(good)

    def loss(cell: dict[str, Any]) -> float:
        return float(cell["loss"])

    def linked(cell: dict[str, Any]) -> float:
        return float(cell["linkage"][0])

    def few(grid: Grid) -> float:
        return max(linked(cell) for (number, _), cell in grid.items() if number <= 10)

    def nobody(grid: Grid) -> float:
        return round(sum(cell["homogeneity"] == 0 for cell in grid.values()) / len(grid), 3)

    def trend(step: str, panel: str, of: Figure, *, along: str, rising: bool = True, why: str = "") -> Claim:
        return judged(
            what=f"steps to {step}",
            source=f"Fig. 2{panel}, text",
            printed=1.0,
            as_printed=round(steps(drawn, of, along=along, rising=rising), 3),
            tolerance=CHANCE,
            ours=round(steps(grid, of, along=along, rising=rising), 3),
            why=why,
        )

    claims = (
        trend("more classes that do not raise the loss (share, λ fixed)", "a", loss, along="classes", rising=False),
        trend(
            "a larger λ that do not lower the loss (share, classes fixed)",
            "a",
            loss,
            along="λ",
            why=f"A difference below {NOISE:.0%} counts as none. For small λ entropy hardly counts, and two searches "
            "differ by chance.",
        ),
        trend(
            "more classes that do not lower the people at linkage risk at 0.05 (share)",
            "b",
            linked,
            along="classes",
            why="Few people: a class of 19 or of 21 decides over twenty of them.",
        ),
        trend(
            "a larger λ that do not lower the people at linkage risk at 0.05 (share)",
            "b",
            linked,
            along="λ",
            why="A larger λ mixes classes, it does not make them small: no reason is given why it should.",
        ),
        judged(
            what="most people at linkage risk at 0.05 with 4 to 10 classes",
            source="Fig. 2b, text",
            printed=0,
            as_printed=few(drawn),
            ours=few(grid),
            unit="people",
            why="The least loss leaves a few old people in a class of their own; k = 5 allows it. Ask for k = 20 to "
            "have nobody at risk at 0.05.",
        ),
        judged(
            what="cells in which nobody's secret is certain (share)",
            source="Fig. 2c, text",
            printed=Between(low=0.5),
            as_printed=nobody(drawn),
            ours=nobody(grid),
        ),
    )
    return Section(
        title="Fig. 2: number of classes and λ",
        text=(
            f"German credit, k = {K}, {classes[0]} to {classes[-1]} classes, λ from 1 to {offs[-1]:g}. The search has "
            f"{ROUNDS:,} rounds a cell in ours; as printed a cell is the median of {RUNS} runs of the drawn centroids. "
            "l is left at 1 as in the paper, so that homogeneity can appear. The paper reads trends off a coloured "
            f"grid: the same is at most {CHANCE:.0%} of the steps against them."
        ),
        claims=claims,
        figures=(
            _lines("Fig. 2a as printed: information loss", "information loss", drawn, classes, offs, loss),
            _lines("Fig. 2a, ours: information loss", "information loss", grid, classes, offs, loss),
            _lines("Fig. 2b as printed: people at linkage risk at 0.05", "people", drawn, classes, offs, linked),
            _lines("Fig. 2b, ours: people at linkage risk at 0.05", "people", grid, classes, offs, linked),
            _lines(
                "Fig. 2c as printed: people whose secret is certain",
                "people",
                drawn,
                classes,
                offs,
                lambda cell: float(cell["homogeneity"]),
            ),
            TableFigure(
                title="Fig. 2c, ours: people whose secret is certain",
                columns=("λ", *(f"{number} classes" for number in classes)),
                rows=tuple((f"{off:g}", *(grid[number, off]["homogeneity"] for number in classes)) for off in offs),
            ),
            TableFigure(
                title="Entropy of the worst classes",
                columns=("λ", *(f"{number} classes" for number in classes)),
                rows=tuple((f"{off:g}", *(round(grid[n, off]["entropy"], 3) for n in classes)) for off in offs),
                caption="In bits, summed over both sensitive attributes; the whole table has 3.49.",
            ),
        ),
    )


def _cell(table: Table, classes: int, trade_off: float) -> dict[str, Any]:
    return figures(table.mo_obam(K, classes=classes, trade_off=trade_off, l=1, rounds=ROUNDS))


def _drawn_cell(table: Table, classes: int, trade_off: float) -> dict[str, Any]:
    """The medians over some runs of the paper's solver."""
    runs = []
    for run in range(2 if table.quick else RUNS):
        rng = np.random.default_rng([table.seed, run, classes, TRADE_OFFS.index(trade_off)])
        best = best_of(table.records, classes=classes, trade_off=trade_off, draws=table.source.draws, rng=rng)
        runs.append(best.figures(table.records))
    return {
        "loss": float(np.median([figures_of_run["loss"] for figures_of_run in runs])),
        "linkage": np.median([figures_of_run["linkage"] for figures_of_run in runs], axis=0).tolist(),
        "homogeneity": float(np.median([figures_of_run["homogeneity"] for figures_of_run in runs])),
    }


def _lines(
    title: str,
    axis: str,
    grid: Grid,
    classes: tuple[int, ...],
    offs: tuple[float, ...],
    of: Figure,
) -> LineFigure:
    return LineFigure(
        title=title,
        x_axis="number of classes",
        y_axis=axis,
        series=tuple(
            Series.through(f"λ = {off:g}", ((float(number), of(grid[number, off])) for number in classes))
            for off in offs
        ),
    )
