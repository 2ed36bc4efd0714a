"""Figure 1 of the Aegis paper: how much the choice of a configuration matters."""

from __future__ import annotations

import numpy as np

from aegis_papers.aegis_data import MODELS, Table
from aegis_papers.aegis_training import trained
from aegis_papers.reproduction import Between, Claim, RangeFigure, RangeRow, Section, Verdict, judged
from aegis_papers.setting import Setting


def fig_1(setting: Setting, tables: dict[str, Table]) -> Section:
    """The spread of accuracy over the configurations of Air Quality."""
    table = tables["AQ"]
    gold = [trained(setting, table, model) for model in MODELS]
    spread = {trained_model.model: 100 * float(np.ptp(trained_model.accuracies)) for trained_model in gold}
    best = {int(trained_model.accuracies.argmax()) for trained_model in gold}
    return Section(
        title="Fig. 1: accuracy over 50 configurations",
        text=f"{table.title}: every configuration masked, trained on and tested with each of the paper's five models.",
        claims=(
            judged(
                what="Least spread of accuracy between the best and the worst configuration, over the models",
                source="Fig. 1, section 1",
                printed=Between(low=10),
                as_printed=min(spread.values()),
                unit="points",
                why="The paper says in words that utility varies significantly and prints no number; more than ten "
                "points is our reading of significantly.",
            ),
            Claim(
                what="The best configuration depends on the model",
                source="Fig. 1, section 1",
                printed="yes",
                as_printed=f"{len(best)} different best ones for {len(gold)} models",
                verdict=Verdict.of(len(best) > 1),
                why="Which of our configurations is the best by each of the models.",
            ),
        ),
        figures=(
            RangeFigure(
                title="Accuracy over the configurations of Air Quality",
                axis="accuracy in percent: median, line from the worst to the best configuration",
                rows=tuple(
                    RangeRow(
                        label=trained_model.model,
                        value=100 * float(np.median(trained_model.accuracies)),
                        low=100 * float(trained_model.accuracies.min()),
                        high=100 * trained_model.best,
                        note=f"{spread[trained_model.model]:.1f}",
                        marked=True,
                    )
                    for trained_model in gold
                ),
                note_heading="spread (points)",
            ),
        ),
    )
