"""Does choosing from counts choose well? The exhaustive way beside every way of choosing, as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import count, figure, percent, seconds
from aegis.report.page import picture, render_page
from aegis.report.ranking_words import Entry, Fact

if TYPE_CHECKING:
    from aegis.evaluation.agreement import Agreement
    from aegis.evaluation.gold import GoldStandard

_DRAWN = 40
_CHANCE = 0.5  # where a perfect selector could not correlate by more
_SHOWN = (
    "pair-information",
    "label-probe",
    "leave-one-out-information (exact)",
    "mutual-information (exact)",
    "chi-square (exact)",
    "g3 (exact)",
    "Aegis+1D mutual-information",
    "Aegis-1D mutual-information",
    "Sampling mutual-information",
    "Mascara",
    "random",
)
"""One of each kind, for the short table; the long one has them all."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPart:
    """What the page says of one family of candidates."""

    name: str
    text: str
    plot: Any
    short: tuple[SelectorRow, ...]
    every: tuple[SelectorRow, ...]


def render_evaluation(
    *,
    name: str,
    label: str,
    rows: int,
    attributes: int,
    families: Sequence[tuple[str, GoldStandard, Sequence[Agreement]]],
    selectors: Sequence[Agreement],
    default: str,
    version: str,
) -> str:
    """The page; ``selectors`` are means over ``families``, ``default`` is the one that ``aegis advise`` uses."""
    ours = next((one for one in selectors if one.selector == default), selectors[0])
    chance = next((one for one in selectors if one.selector == "random"), None)
    golds = [gold for _, gold, _ in families]
    spent = sum(gold.cpu_seconds for gold in golds)
    return render_page(
        "evaluation.html",
        version=version,
        source=name,
        title=f"Choosing from counts · {name} · Aegis",
        headline=f"Choosing from counts costs {_two(100 * ours.regret)} points of accuracy here",
        lead=_lead(golds, ours, chance, spent),
        facts=(
            Fact(term="rank correlation", value=_two(ours.spearman), unit="Spearman"),
            Fact(term="regret", value=_two(100 * ours.regret), unit="points"),
            Fact(term="training them all", value=seconds(spent), unit="CPU"),
            Fact(term="records", value=f"{rows:,}"),
        ),
        families=tuple(_part(title, gold, found, ours.selector) for title, gold, found in families),
        means=_rows(selectors, ours.selector, short=True) if len(families) > 1 else (),
        every_mean=_rows(selectors, ours.selector, short=False) if len(families) > 1 else (),
        ledger=_ledger(label, attributes, golds),
    )


def _lead(golds: Sequence[GoldStandard], ours: Agreement, chance: Agreement | None, spent: float) -> str:
    candidates = sum(len(gold.scores) for gold in golds)
    apart = max(100 * (gold.accuracies.max() - gold.accuracies.min()) for gold in golds)
    of = "" if len(golds) == 1 else f" in {count(len(golds), 'family', 'families')}"
    said = (
        f"The {count(candidates, 'candidate')}{of} differ by up to {_two(float(apart))} points of accuracy. The one "
        f"that {ours.selector} puts first is {_two(100 * ours.regret)} points below the best"
    )
    if chance is not None:
        said += f", one taken at random {_two(100 * chance.regret)} points"
    share = "" if spent <= 0 else f" It took {seconds(ours.cpu_seconds)} of CPU where training took {seconds(spent)}."
    return f"{said}.{share}"


def _part(title: str, gold: GoldStandard, selectors: Sequence[Agreement], ours: str) -> FamilyPart:
    best = sorted(gold.scores, key=lambda one: -one.accuracy)
    drawn = best if len(best) <= _DRAWN else [*best[: _DRAWN // 2], *best[-_DRAWN // 2 :]]
    certain = all(math.isfinite(edge) for one in drawn for edge in one.interval)
    plot = interval_plot(
        [
            IntervalRow(
                label=one.configuration,
                value=100 * one.accuracy,
                low=100 * (one.interval[0] if certain else one.accuracy),
                high=100 * (one.interval[1] if certain else one.accuracy),
                note=percent(one.accuracy),
                marked=one is best[0],
            )
            for one in drawn
        ],
        title="Accuracy of trained models per candidate",
        axis="accuracy in percent, mean over models and splits",
        note_heading="accuracy",
        guide=100 * best[0].accuracy,
    )
    text = f"{count(len(best), 'candidate')}, each masked, trained on and tested; best first."
    if len(drawn) < len(best):
        text += f" The first and the last {_DRAWN // 2} are drawn."
    ceiling = math.sqrt(max(gold.accuracy_reliability, 0.0)) if math.isfinite(gold.accuracy_reliability) else math.nan
    if math.isfinite(ceiling):
        text += (
            " What differs between them is mostly chance: other splits would order them anew."
            if ceiling < _CHANCE
            else f" Other splits would order them a little differently: {_two(ceiling)} is the most that anything can "
            "correlate with this order."
        )
    return FamilyPart(
        name=title,
        text=text,
        plot=picture(plot),
        short=_rows(selectors, ours, short=True),
        every=_rows(selectors, ours, short=False),
    )


def _rows(selectors: Sequence[Agreement], ours: str, *, short: bool) -> tuple[SelectorRow, ...]:
    return tuple(
        SelectorRow(
            name=one.selector,
            spearman=_two(one.spearman),
            kendall=_two(one.kendall),
            regret=_two(100 * one.regret),
            top5=percent(one.top5),
            seconds=seconds(one.cpu_seconds),
            ours=one.selector == ours,
        )
        for one in selectors
        if not short or one.selector in (ours, *_SHOWN) or one.selector.startswith("verify-")
    )


def _two(number: float) -> str:
    """Two decimals: what rests on a few splits has no more."""
    return f"{number:.2f}".replace("-", "−")


def _ledger(label: str, attributes: int, golds: Sequence[GoldStandard]) -> tuple[Entry, ...]:
    first = golds[0]
    return (
        Entry(term="label", lines=(label,)),
        Entry(term="attributes", lines=(f"{attributes:,}",)),
        Entry(term="models", lines=(", ".join(first.models),)),
        Entry(
            term="splits",
            lines=(f"{first.splits}, {first.training_rows:,} rows for training, {first.test_rows:,} for testing",),
        ),
        Entry(
            term="reliability",
            lines=(
                ", ".join(figure(gold.accuracy_reliability) for gold in golds)
                + " of what differs between candidates would be found again on other splits; nothing can correlate "
                "with their accuracy by more than the square root of it",
            ),
        ),
        Entry(
            term="how to read it",
            lines=(
                "Spearman and Kendall: how well the order of a selector agrees with the order of accuracy, 1 is the "
                "same order",
                "regret: the best accuracy minus that of the candidate a selector puts first, in points",
                "verify-n: the first n by counts, then cheap models on those n",
                "CPU: from the rows to the choice, counting the table included, for each family anew",
                "Aegis+1D, Aegis-1D, Sampling and Mascara are the published selectors; exact and pooled say what "
                "losses are compared with",
            ),
        ),
    )
