"""The advisor's answer as a page: ranking, losses, distributions, ledger."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.report.attribute_cards import attribute_cards
from aegis.report.charts.heat_map import heat_map
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import MORE_THAN_ALL, amount, count, difference, figure, kept, measured_in, percent
from aegis.report.page import picture, render_page
from aegis.report.ranking_units import attribute_measure, attribute_unit, is_of_whole_configurations
from aegis.report.ranking_words import headline, ledger, why

if TYPE_CHECKING:
    from aegis.counts.summary import Summary
    from aegis.ranking.ranking import AttributeLoss, RankedConfiguration, Ranking

ROWS_DRAWN = 30
COLUMNS_DRAWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A configuration in the table of all of them."""

    rank: int
    tied: bool
    configuration: str
    id: str
    like_best: bool
    kept: str
    value: str
    low: str
    high: str
    accuracy: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What training on the first ones found, with its words."""

    text: str
    caption: str
    chart: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The heat map with its words."""

    title: str
    text: str
    chart: Any


def render_ranking(ranking: Ranking, summary: Summary, *, version: str) -> str:
    """The page for a ranking and the summary it was made from, as one self-contained HTML document."""
    cards = attribute_cards(ranking, summary)
    known = ranking.best.deviation is not None
    return render_page(
        "ranking.html",
        title=f"{ranking.label} · {summary.name} · Aegis",
        version=version,
        label=ranking.label,
        source=summary.name,
        best=ranking.best.configuration,
        headline=headline(ranking),
        tried=tried_of(ranking),
        ranking_text=ranking_text(ranking),
        ranking_chart=picture(intervals_chart(ranking)),
        ranking_caption=_ranking_caption(summary),
        value_name="deviation" if known else ranking.measure,
        rows=table_rows(ranking),
        heat=heat_of(ranking),
        left_name=("left" if ranking.higher_is_better else "now")
        + (f", {attribute_unit(ranking)}" if is_of_whole_configurations(ranking) else ""),
        attributes_text=_attributes_text(ranking, summary),
        changed=[card for card in cards if card.changed],
        unchanged=[card for card in cards if not card.changed],
        ledger=ledger(ranking, summary, version=version),
    )


def _value(one: RankedConfiguration) -> float:
    return one.utility if one.deviation is None else one.deviation


def ranking_text(ranking: Ranking) -> str:
    """How the numbers of the ranking are read."""
    if ranking.best.deviation is None:
        better = "higher" if ranking.higher_is_better else "lower"
        said = f"Mean {ranking.measure} of the masked attributes{measured_in(ranking.unit)}: {better} is better."
    else:
        what = f"{ranking.measure}{measured_in(ranking.unit)}"
        lost = "the configuration loses against the unmasked table"
        if not is_of_whole_configurations(ranking):
            lost = "an attribute loses on average"
        said = f"The deviation is what {lost}, as {what}: lower is better."
    if ranking.verified:
        said += f" The first {len(ranking.verified):,} stand in the order of their accuracy, the others behind them."
    if any(one.retained is not None and one.retained > MORE_THAN_ALL for one in ranking.ranking):
        said += (
            " Kept 100\u00a0%+ stands for more than the unmasked table has: merging rare values made it clearer, and "
            "what exceeds the whole was gained, not kept."
        )
    hidden = len(ranking.ranking) - ROWS_DRAWN
    return f"{said} The first {ROWS_DRAWN} of {len(ranking.ranking):,} are drawn." if hidden > 0 else said


def _ranking_caption(summary: Summary) -> str:
    said = (
        "A dot is the estimate, the line its 95 % interval. Full dots: the first, and those that these records cannot "
        "tell apart from it."
    )
    if all(attribute.joint is not None for attribute in summary.attributes.values()):
        said += " All are judged on the same records, so two can differ reliably although their intervals overlap."
    return said


def tried_of(ranking: Ranking) -> Tried | None:
    """The shortlist with its accuracies, where it was tried on rows."""
    if not ranking.verified:
        return None
    alike = {one.configuration for one in ranking.ranking if one.like_best}
    best = ranking.verified[0]
    drawn = ranking.verified[:ROWS_DRAWN]
    chart = interval_plot(
        [
            IntervalRow(
                label=one.configuration,
                value=100 * one.accuracy,
                low=100 * one.interval[0],
                high=100 * one.interval[1],
                note=percent(one.accuracy),
                marked=one.configuration in alike,
            )
            for one in drawn
        ],
        title="Accuracy of models trained on each configuration of the shortlist",
        axis="accuracy in percent, mean over models and splits",
        note_heading="accuracy",
        guide=100 * best.accuracy,
    )
    text = (
        f"Counts alone chose a shortlist of {count(len(ranking.verified), 'configuration')}; models were then trained "
        f"on each and tested on other rows. {best.configuration} came first with {percent(best.accuracy)} of the test "
        "rows right."
    )
    if len(ranking.verified) > len(drawn):
        text += f" The first {len(drawn)} are drawn."
    caption = (
        "The line is a 95 % interval, widened for the rows that splits share. Full dots: the first, and those whose "
        "difference from it, split by split, may be none."
    )
    return Tried(text=text, caption=caption, chart=picture(chart))


def intervals_chart(ranking: Ranking) -> str:
    """The first configurations with their intervals."""
    drawn = ranking.ranking[:ROWS_DRAWN]
    known = ranking.best.deviation is not None
    rows = [
        IntervalRow(
            label=one.configuration,
            value=_value(one),
            low=one.interval[0],
            high=one.interval[1],
            note=kept(one.retained) if one.retained is not None else figure(one.utility, 3),
            marked=one.like_best,
        )
        for one in drawn
    ]
    return interval_plot(
        rows,
        title=f"Configurations from best to worst by {ranking.measure}",
        axis=f"deviation{measured_in(ranking.unit)}" if known else f"{ranking.measure}{measured_in(ranking.unit)}",
        note_heading="kept" if ranking.best.retained is not None else "mean",
        guide=_value(ranking.best),
    )


def table_rows(ranking: Ranking) -> list[TableRow]:
    """Every configuration, as the table of all of them shows it."""
    places = Counter(one.rank for one in ranking.ranking)
    accuracies = {one.configuration: percent(one.accuracy) for one in ranking.verified}
    return [
        TableRow(
            rank=one.rank,
            tied=places[one.rank] > 1,
            configuration=one.configuration,
            id=one.id,
            like_best=one.like_best,
            kept=kept(one.retained),
            value=figure(_value(one), 3),
            low=figure(one.interval[0], 3),
            high=figure(one.interval[1], 3),
            accuracy=accuracies.get(one.configuration, "–"),
            why="; ".join(why(one)),
        )
        for one in ranking.ranking
    ]


def heat_of(ranking: Ranking) -> Heat:
    """The heat map of configurations and attributes."""
    drawn = ranking.ranking[:ROWS_DRAWN]
    known = ranking.best.deviation is not None
    tables = [{loss.name: loss for loss in one.attributes} for one in drawn]
    names = [loss.name for loss in ranking.best.attributes]

    def weight(name: str) -> float:
        return -max(abs(_loss(table[name]) or 0.0) for table in tables)

    columns = sorted(names, key=weight)[:COLUMNS_DRAWN]
    gains = known and any((_loss(table[name]) or 0.0) < 0 for table in tables for name in columns)
    chart = heat_map(
        [[_loss(table[name]) for name in columns] for table in tables],
        rows=[one.configuration for one in drawn],
        columns=columns,
        title="What each configuration loses on each attribute" if known else "What is left of each attribute",
        legend=("lost" if known else "left" if ranking.higher_is_better else ranking.measure)
        + measured_in(attribute_measure(ranking))
        + (", gained below zero" if gains else ""),
        tips=[[_tip(one, table[name], ranking) for name in columns] for one, table in zip(drawn, tables, strict=True)],
        cool=not known and ranking.higher_is_better,
    )
    said = "Configurations from first to last, attributes from the largest loss to the smallest."
    if not known:
        said = "What the masked attributes still say; the losses are not known, because the originals are not."
    if is_of_whole_configurations(ranking):
        said += f" {_apart(ranking)}"
    if len(ranking.ranking) > ROWS_DRAWN:
        said += f" The first {ROWS_DRAWN} configurations are drawn."
    if len(names) > COLUMNS_DRAWN:
        said += f" {COLUMNS_DRAWN} of {len(names):,} attributes are drawn."
    return Heat(
        title="What is lost, and where" if known else "What is left, and where", text=said, chart=picture(chart)
    )


def _loss(loss: AttributeLoss) -> float | None:
    return loss.masked if loss.deviation is None else difference(loss.deviation, loss.original)


def _tip(one: RankedConfiguration, loss: AttributeLoss, ranking: Ranking) -> str:
    value = amount(loss.masked, attribute_unit(ranking))
    now = f"{value} left" if ranking.higher_is_better else f"now {value}"
    lost = "" if loss.deviation is None else f"{figure(_loss(loss), 3)} lost, "
    return f"{one.configuration}, {loss.name} ({loss.mask}): {lost}{now}"


def _apart(ranking: Ranking) -> str:
    return (
        f"Single attributes are shown in {attribute_measure(ranking)}, and not in the unit of the ranking, which "
        "judges all of them together."
    )


def _attributes_text(ranking: Ranking, summary: Summary) -> str:
    said = _bars_text(summary)
    return f"{said} {_apart(ranking)}" if is_of_whole_configurations(ranking) else said


def _bars_text(summary: Summary) -> str:
    if summary.opaque:
        return "The masks are named by opaque ids, so only the sizes of the published groups are known."
    if all(attribute.histogram is None for attribute in summary.attributes.values()):
        return "The summary tells nothing of the unmasked attributes; the bars are the published groups."
    return (
        "The original distribution points up, the published one down. Area is the share of records: a wide bar is a "
        "group of values that can no longer be told apart."
    )
