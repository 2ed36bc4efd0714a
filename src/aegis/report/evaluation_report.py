"""Does choosing from counts choose well? The exhaustive way beside every way of choosing, as a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.evaluation.evaluated import over_draws
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import count, figure, percent, seconds
from aegis.report.page import Entry, Fact, entry, picture, render_page

if TYPE_CHECKING:
    from aegis.evaluation.evaluated import Agreement, EvaluatedDraw, EvaluatedFamily, Evaluation, Spread
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
class Figures:
    """A number and, over several draws, between what it lies."""

    mean: str
    between: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorRow:
    """A way of choosing in the table: Spearman, Kendall, regret and how often it is among the five best."""

    name: str
    figures: tuple[Figures, ...]
    seconds: str
    ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPart:
    """The candidates of one draw, each with the accuracy that models reached on it."""

    title: str
    text: str
    plot: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPart:
    """What the page says of one family of candidates."""

    name: str
    drawn: str
    draws: tuple[DrawPart, ...]
    short: tuple[SelectorRow, ...]
    every: tuple[SelectorRow, ...]


def render_evaluation(evaluation: Evaluation, *, default: str) -> str:
    """The page; ``default`` is the selector that ``aegis advise`` uses."""
    selectors, families = evaluation.selectors, evaluation.families
    ours = next((selector for selector in selectors if selector.selector == default), selectors[0])
    chance = next((selector for selector in selectors if selector.selector == "random"), None)
    spent = sum(family.training_seconds for family in families)
    means = over_draws([selectors]) if len(families) > 1 else []
    return render_page(
        "evaluation.html",
        source=evaluation.name,
        title=f"Choosing from counts · {evaluation.name} · Aegis",
        headline=f"Choosing from counts costs {_two(100 * ours.regret)} points of accuracy here",
        lead=_lead(evaluation, ours, chance, spent),
        facts=(
            Fact(term="rank correlation", value=_two(ours.spearman), unit="Spearman"),
            Fact(term="regret", value=_two(100 * ours.regret), unit="points"),
            Fact(
                term="training them all",
                value=seconds(spent),
                unit="CPU" if evaluation.most_draws == 1 else "CPU a draw",
            ),
            Fact(term="records", value=f"{evaluation.rows:,}"),
        ),
        families=tuple(_part(family, ours.selector) for family in families),
        means=_rows(means, ours.selector, short=True, ranges=False),
        every_mean=_rows(means, ours.selector, short=False, ranges=False),
        ledger=_ledger(evaluation),
    )


def _lead(evaluation: Evaluation, ours: Agreement, chance: Agreement | None, spent: float) -> str:
    golds = _golds(evaluation)
    candidates = sum(len(gold.scores) for gold in golds)
    apart = max(100 * (gold.accuracies.max() - gold.accuracies.min()) for gold in golds)
    several = evaluation.most_draws > 1
    of = "" if len(evaluation.families) == 1 else f" in {count(len(evaluation.families), 'family', 'families')}"
    everywhere = all(len(family.draws) == evaluation.most_draws for family in evaluation.families)
    of += f", drawn {'' if everywhere else 'up to '}{count(evaluation.most_draws, 'time')}," if several else ""
    sentence = (
        f"The {count(candidates, 'candidate')}{of} differ by up to {_two(float(apart))} points of accuracy. The one "
        f"that {ours.selector} puts first is {'on average ' if several else ''}{_two(100 * ours.regret)} points below "
        "the best"
    )
    if chance is not None:
        sentence += f", one taken at random {_two(100 * chance.regret)} points"
    once = " for one draw" if several else ""
    share = (
        "" if spent <= 0 else f" It took {seconds(ours.cpu_seconds)} of CPU{once} where training took {seconds(spent)}."
    )
    return f"{sentence}.{share}"


def _golds(evaluation: Evaluation) -> list[GoldStandard]:
    return [draw.gold for family in evaluation.families for draw in family.draws]


def _part(family: EvaluatedFamily, ours: str) -> FamilyPart:
    times = len(family.draws)
    return FamilyPart(
        name=family.name,
        drawn="" if times == 1 else f"Means over {times} draws, with the lowest and the highest; CPU for one draw.",
        draws=tuple(_draw(draw, number, times) for number, draw in enumerate(family.draws, start=1)),
        short=_rows(family.spreads, ours, short=True, ranges=times > 1),
        every=_rows(family.spreads, ours, short=False, ranges=times > 1),
    )


def _draw(draw: EvaluatedDraw, number: int, times: int) -> DrawPart:
    gold = draw.gold
    best = sorted(gold.scores, key=lambda score: -score.accuracy)
    drawn = best if len(best) <= _DRAWN else [*best[: _DRAWN // 2], *best[-_DRAWN // 2 :]]
    certain = all(math.isfinite(edge) for score in drawn for edge in score.interval)
    plot = interval_plot(
        [
            IntervalRow(
                label=score.configuration,
                value=100 * score.accuracy,
                low=100 * (score.interval[0] if certain else score.accuracy),
                high=100 * (score.interval[1] if certain else score.accuracy),
                note=percent(score.accuracy),
                marked=score is best[0],
            )
            for score in drawn
        ],
        title="Accuracy of trained models per candidate",
        axis="accuracy in percent, mean over models and splits",
        note_heading="accuracy",
        guide=100 * best[0].accuracy,
    )
    text = f"{count(len(best), 'candidate')}, each trained on and tested; best first."
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
    title = "" if times == 1 else f"Draw {number} of {times} (seed {draw.seed})"
    return DrawPart(title=title, text=text, plot=picture(plot))


def _rows(selectors: Sequence[Spread], ours: str, *, short: bool, ranges: bool) -> tuple[SelectorRow, ...]:
    def figures(spread: Spread, say: Callable[[Agreement], str]) -> Figures:
        between = f"{say(spread.lowest)} to {say(spread.highest)}" if ranges else ""
        return Figures(mean=say(spread.mean), between=between)

    return tuple(
        SelectorRow(
            name=selector.mean.selector,
            figures=(
                figures(selector, lambda agreement: _two(agreement.spearman)),
                figures(selector, lambda agreement: _two(agreement.kendall)),
                figures(selector, lambda agreement: _two(100 * agreement.regret)),
                figures(selector, lambda agreement: percent(agreement.top5)),
            ),
            seconds=seconds(selector.mean.cpu_seconds),
            ours=selector.mean.selector == ours,
        )
        for selector in selectors
        if not short or selector.mean.selector in (ours, *_SHOWN) or selector.mean.selector.startswith("verify-")
    )


def _two(number: float) -> str:
    """Two decimals: what rests on a few splits has no more."""
    return f"{number:.2f}".replace("-", "−")


def _ledger(evaluation: Evaluation) -> tuple[Entry, ...]:
    golds = _golds(evaluation)
    first = golds[0]
    notes = tuple(f"{family.name}: {note}" for family in evaluation.families for note in family.notes)
    return (
        entry("label", evaluation.label),
        entry("attributes", f"{evaluation.attributes:,}"),
        *((entry("candidates", *notes),) if notes else ()),
        *((_drawn(evaluation),) if evaluation.most_draws > 1 else ()),
        entry("models", ", ".join(first.models)),
        entry("splits", f"{first.splits}, {first.training_rows:,} rows for training, {first.test_rows:,} for testing"),
        entry(
            "reliability",
            ", ".join(figure(gold.accuracy_reliability) for gold in golds)
            + " of what differs between candidates would be found again on other splits; nothing can correlate "
            "with their accuracy by more than the square root of it",
        ),
        entry(
            "how to read it",
            "Spearman and Kendall: how well the order of a selector agrees with the order of accuracy, 1 is the "
            "same order",
            "regret: the best accuracy minus that of the candidate a selector puts first, in points",
            "verify-n: the first n by counts, then cheap models on those n",
            "CPU: from the rows to the choice, counting the table included, for each family anew",
            "Aegis+1D, Aegis-1D, Sampling and Mascara are the published selectors; exact and pooled say what "
            "losses are compared with",
        ),
    )


def _drawn(evaluation: Evaluation) -> Entry:
    often = [family for family in evaluation.families if len(family.draws) > 1]
    once = [family.name for family in evaluation.families if len(family.draws) == 1]
    seeds = [draw.seed for draw in often[0].draws]
    names = ", ".join(family.name for family in often)
    lines = [f"{names}: {len(seeds)} times, seeds {seeds[0]} to {seeds[-1]}, on the same splits"]
    if once:
        lines.append(f"{', '.join(once)}: once, nothing in it is drawn at random")
    return entry("draws", *tuple(lines))
