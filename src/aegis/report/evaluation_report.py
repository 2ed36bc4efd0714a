"""Does choosing from counts choose well? The exhaustive way beside every way of choosing, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import figure, percent, seconds
from aegis.report.page import picture, render_page
from aegis.report.ranking_words import Entry, Fact

if TYPE_CHECKING:
    from aegis.evaluation.agreement import Agreement
    from aegis.evaluation.gold import GoldStandard

_DRAWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorRow:
    """A way of choosing in the table."""

    name: str
    spearman: str
    kendall: str
    regret: str
    top5: str
    seconds: str
    ours: bool


def render_evaluation(
    *,
    name: str,
    label: str,
    rows: int,
    attributes: int,
    gold: GoldStandard,
    selectors: Sequence[Agreement],
    default: str,
    version: str,
) -> str:
    """The page; ``default`` is the selector that ``aegis advise`` uses."""
    ours = next((one for one in selectors if one.selector == default), selectors[0])
    best = sorted(gold.scores, key=lambda one: -one.accuracy)
    drawn = best if len(best) <= _DRAWN else [*best[: _DRAWN // 2], *best[-_DRAWN // 2 :]]
    spread = 100 * (best[0].accuracy - best[-1].accuracy)
    plot = interval_plot(
        [
            IntervalRow(
                label=one.configuration,
                value=100 * one.accuracy,
                low=100 * one.interval[0],
                high=100 * one.interval[1],
                marked=one is best[0],
            )
            for one in drawn
        ],
        title="Accuracy of trained models per configuration",
        axis="accuracy in percent, mean over models and splits",
    )
    return render_page(
        "evaluation.html",
        version=version,
        source=name,
        title=f"Choosing from counts · {name} · Aegis",
        headline=f"Choosing from counts costs {figure(100 * ours.regret)} points of accuracy here",
        lead=(
            f"The {len(gold.scores):,} configurations differ by {figure(spread)} points of accuracy. "
            f"{ours.selector} picked one that is {figure(100 * ours.regret)} points below the best, in "
            f"{seconds(ours.cpu_seconds)} of CPU where training took {seconds(gold.cpu_seconds)}."
        ),
        facts=(
            Fact(term="rank correlation", value=figure(ours.spearman), unit="Spearman"),
            Fact(term="regret", value=figure(100 * ours.regret), unit="points"),
            Fact(term="training", value=seconds(gold.cpu_seconds), unit="CPU"),
            Fact(term="records", value=f"{rows:,}"),
        ),
        plot=picture(plot),
        selectors=tuple(
            SelectorRow(
                name=one.selector,
                spearman=figure(one.spearman),
                kendall=figure(one.kendall),
                regret=figure(100 * one.regret),
                top5=percent(one.top5),
                seconds=seconds(one.cpu_seconds),
                ours=one.selector == ours.selector,
            )
            for one in selectors
        ),
        ledger=(
            Entry(term="label", lines=(label,)),
            Entry(term="attributes", lines=(f"{attributes:,}",)),
            Entry(term="models", lines=(", ".join(gold.models),)),
            Entry(
                term="splits",
                lines=(f"{gold.splits}, {gold.training_rows:,} rows for training, {gold.test_rows:,} for testing",),
            ),
            Entry(
                term="reliability",
                lines=(
                    f"{figure(gold.accuracy_reliability)} of what differs between configurations would be found again "
                    "on other splits; no selector can correlate by more than its square root",
                ),
            ),
        ),
    )
