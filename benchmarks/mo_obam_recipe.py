"""Tables IVa, Va and VIIa of the MO-OBAM paper by its own recipe: ``python benchmarks/mo_obam_recipe.py``.

What ``aegis reproduce mo-obam`` shows in its column *as printed*, without the product's own search and models: the
drawn centroids and MDAV in forty runs each on both tables, and six models on German credit over a hundred splits.
Finished parts are kept in ``--work``; the same command goes on behind them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _result import DATASETS, write
from aegis_papers.mo_obam_data import Table, tables
from aegis_papers.mo_obam_paper import MODELS, THRESHOLDS, Row
from aegis_papers.mo_obam_recipe import ORIGINAL
from aegis_papers.mo_obam_repeats import Repeats, drawn_runs, mdav_orders
from aegis_papers.mo_obam_scores import BEHIND, Scores, recipe_scores
from aegis_papers.setting import Setting


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="folder that keeps finished parts")
    work = parser.parse_args().work
    setting = Setting(chapter="mo-obam", datasets=DATASETS, work=work)
    data = tables(setting)
    cells = {name: rows_of(setting, data[name]) for name in ("German credit", "Adult")}
    german = recipe_scores(setting, data["German credit"])
    scores = scores_of(data["German credit"], german)
    figures = [cell for of in cells.values() for cell in of]
    sys.argv[1:] = []
    write(
        "mo_obam_recipe",
        {
            "same": {
                "figures of Tables IVa and Va": [sum(cell["same"] for cell in figures), len(figures)],
                "scores of Tables VIIa and VIIIa": [sum(cell["same"] for cell in scores), len(scores)],
            },
            "splits": german.splits("RF"),
            "figures": cells,
            "scores": scores,
            "worse_than_original": worse_of(data["German credit"], german),
        },
    )


def rows_of(setting: Setting, table: Table) -> list[dict[str, Any]]:
    """Every printed figure of k-anonymity and MO-OBAM beside the median and the spread of its runs."""
    printed = table.source.printed
    assert printed is not None
    drawn = drawn_runs(setting, table, "many")
    cells = []
    for k in table.ks:
        cells += _cells(f"k-anonymity, k = {k}", printed.mdav[k], mdav_orders(setting, table, k))
        cells += _cells(f"MO-OBAM, k = {k}", printed.mo_obam[k], drawn)
    return cells


def _cells(who: str, row: Row, runs: Repeats) -> list[dict[str, Any]]:
    printed: dict[str, float] = {"classes": row.classes, "loss": row.loss}
    printed |= {f"linkage {tau}": people for tau, people in zip(THRESHOLDS, row.linkage, strict=True)}
    if row.homogeneity is not None:
        printed["homogeneity"] = row.homogeneity
    told = []
    for figure, value in printed.items():
        spread = runs.spread(figure)
        told.append(
            {
                "what": f"{who}: {figure}",
                "printed": value,
                "as_printed": round(runs.median(figure), 6),
                "spread": [spread.low, spread.high],
                "same": spread.distance(value) <= 0,
            }
        )
    return told


def scores_of(table: Table, scores: Scores) -> list[dict[str, Any]]:
    """Every printed F1 of a table whose making is known."""
    printed = table.source.printed
    assert printed is not None
    rows = [("original", ORIGINAL, 0, printed.f1_baseline)]
    for words, method, theirs in (
        ("30 classes", "many", printed.f1_many),
        ("4 classes", "four", printed.f1_four),
        ("k-anonymity", "mdav", printed.f1_mdav),
    ):
        rows += [(f"{words}, k = {k}", method, k, theirs[k]) for k in table.ks]
    told = []
    for words, method, k, row in rows:
        for place, model in enumerate(MODELS):
            mean = scores.mean(method, k, model)
            assert mean is not None
            apart = scores.tolerance(method, k, model)
            told.append(
                {
                    "what": f"{words}: {model}",
                    "printed": row[place],
                    "as_printed": round(mean, 4),
                    "apart_by_chance": round(apart, 4),
                    "same": abs(mean - row[place]) <= apart,
                }
            )
    return told


def worse_of(table: Table, scores: Scores) -> dict[str, Any]:
    """By the paper's test: at which k a model is worse than on the original, with the p-values."""
    return {
        f"{method}: {model}": {
            "worse_at": [k for k in table.ks if scores.standing((method, k), (ORIGINAL, 0), model) == BEHIND],
            "p": [round(scores.p((method, k), (ORIGINAL, 0), model) or 0.0, 4) for k in table.ks],
        }
        for method in ("many", "four")
        for model in MODELS
    }


if __name__ == "__main__":
    main()
