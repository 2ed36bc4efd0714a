"""The advisor's answer as a page: ranking, losses, distributions, ledger."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.learners.goal import goal_called
from aegis.learners.race_result import LOSS_NOT_CERTAIN, NO_LOSS
from aegis.ranking.raced import LEARNERS_SAID
from aegis.report.attribute_cards import attribute_cards, best_masks
from aegis.report.charts.curves import Point, scatter
from aegis.report.charts.heat_map import heat_map
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import MORE_THAN_ALL, amount, count, difference, figure, kept, measured_in, percent
from aegis.report.page import picture, render_page
from aegis.report.ranking_words import (
    attribute_measure,
    attribute_unit,
    headline,
    is_of_whole_configurations,
    ledger,
    why,
)

if TYPE_CHECKING:
    from aegis.counts.summary import Summary
    from aegis.learners.race_result import RaceFacts
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
    smallest_class: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The heat map with its words."""

    title: str
    text: str
    chart: Any


def render_ranking(ranking: Ranking, summary: Summary) -> str:
    """The page for a ranking and the summary it was made from, as one self-contained HTML document."""
    cards, masked = attribute_cards(ranking, summary), best_masks(ranking)
    return render_page(
        "ranking.html",
        title=f"{ranking.label} · {summary.name} · Aegis",
        label=ranking.label,
        source=summary.name,
        masked=None if masked is None else masked.configuration,
        headline=headline(ranking),
        risk=risk_of(ranking),
        ranking_text=ranking_text(ranking),
        ranking_chart=picture(intervals_chart(ranking)),
        ranking_caption=_ranking_caption(ranking, summary),
        value_name=value_name(ranking),
        rows=table_rows(ranking),
        heat=heat_of(ranking),
        left_name=("left" if ranking.higher_is_better else "now")
        + (f", {attribute_unit(ranking)}" if is_of_whole_configurations(ranking) else ""),
        attributes_text=_attributes_text(ranking, summary),
        changed=[card for card in cards if card.changed],
        unchanged=[card for card in cards if not card.changed],
        ledger=ledger(ranking, summary),
    )


def value_name(ranking: Ranking) -> str:
    """What the ranking orders by, as a heading."""
    if ranking.race is not None:
        return ranking.race.title
    return "deviation" if ranking.best.deviation is not None else ranking.measure


def _value(place: RankedConfiguration) -> float:
    """The number that the ranking orders by."""
    figures = (place.performance, place.deviation, place.utility)
    return next(value for value in figures if value is not None)


def _shown(ranking: Ranking, value: float) -> str:
    return figure(value, 3) if ranking.race is None else ranking.race.shown(value)


def _kept(place: RankedConfiguration) -> str:
    """How much is kept, never more than all of it."""
    if place.performance is None:
        return kept(place.retained)
    if place.kept is None or place.no_loss_found:
        return "–" if place.kept is None else NO_LOSS
    return percent(place.kept) + ("" if place.loss_certain else f", {LOSS_NOT_CERTAIN}")


def ranking_text(ranking: Ranking) -> str:
    """How the numbers of the ranking are read."""
    if ranking.race is not None:
        caption = _race_text(ranking.race)
    elif ranking.best.deviation is None:
        better = "higher" if ranking.higher_is_better else "lower"
        caption = f"Mean {ranking.measure} of the masked attributes{measured_in(ranking.unit)}: {better} is better."
    else:
        measured = f"{ranking.measure}{measured_in(ranking.unit)}"
        lost = "the configuration loses against the unmasked table"
        if not is_of_whole_configurations(ranking):
            lost = "an attribute loses on average"
        caption = f"The deviation is what {lost}, as {measured}: lower is better."
    if any(place.retained is not None and place.retained > MORE_THAN_ALL for place in ranking.ranking):
        caption += (
            " Kept 100\u00a0%+ stands for more than the unmasked table has: merging rare values made it clearer, and "
            "what exceeds the whole was gained, not kept."
        )
    hidden = len(ranking.ranking) - ROWS_DRAWN
    return f"{caption} The first {ROWS_DRAWN} of {len(ranking.ranking):,} are drawn." if hidden > 0 else caption


def _race_text(race: RaceFacts) -> str:
    models = ", ".join(LEARNERS_SAID.get(name, name) for name in race.learners)
    first, last = race.stages[0], [stage for stage in race.stages if not stage.for_order][-1]
    rest = ""
    if last.rows > first.rows:
        rest = f", those that could still be the best on up to {last.rows:,}"
    elif last.repeats > first.repeats:
        rest = ", those that could still be the best on the same rows parted anew"
    better = "higher" if goal_called(race.goal).higher_is_better else "lower"
    return (
        f"What three small models ({models}) reach on rows that they were not trained on, as {race.title}: {better} is "
        f"better. Unmasked they reach {race.shown(race.unmasked.performance)}, guessing gives "
        f"{race.shown(race.guessing)}; kept is the share of the gain over guessing. All candidates ran on "
        f"{first.rows:,} rows{rest}."
    )


def _ranking_caption(ranking: Ranking, summary: Summary) -> str:
    if ranking.race is not None:
        group = (
            f"Full dots: the group that holds the best with {ranking.race.probability:.0%} probability."
            if ranking.race.label_told
            else "Nothing tells the label, so any of them may be the best."
        )
        return (
            f"A dot is what is expected, the line its 95 % interval. {group} All are tested on the same rows, so two "
            "can differ reliably although their intervals overlap. The broken line is the unmasked table."
        )
    caption = (
        "A dot is the estimate, the line its 95 % interval. Full dots: the first, and those that these records cannot "
        "tell apart from it."
    )
    if all(attribute.joint is not None for attribute in summary.attributes.values()):
        caption += " All are judged on the same records, so two can differ reliably although their intervals overlap."
    return caption


def intervals_chart(ranking: Ranking) -> str:
    """The first configurations with their intervals."""
    drawn = ranking.ranking[:ROWS_DRAWN]
    race = ranking.race
    scale = 100.0 if race is not None and goal_called(race.goal).percent else 1.0
    rows = [
        IntervalRow(
            label=place.configuration,
            value=scale * _value(place),
            low=scale * place.interval[0],
            high=scale * place.interval[1],
            note=figure(place.utility, 3) if race is None and place.retained is None else _kept(place),
            marked=place.like_best,
        )
        for place in drawn
    ]
    name = value_name(ranking)
    return interval_plot(
        rows,
        title=f"Candidates from best to worst by {name}",
        axis=f"{name}{' in percent' if scale > 1 else ''}" if race else f"{name}{measured_in(ranking.unit)}",
        note_heading="mean" if race is None and ranking.best.retained is None else "kept",
        guide=scale * (race.unmasked.performance if race else _value(ranking.best)),
    )


def risk_of(ranking: Ranking) -> Heat | None:
    """Usefulness against risk, where the classes of the candidates are known."""
    judged = [place for place in ranking.ranking if place.privacy is not None]
    if not judged:
        return None
    scale = 100.0 if ranking.race is not None and goal_called(ranking.race.goal).percent else 1.0
    points = [
        Point(
            label=place.configuration,
            x=100.0 * place.privacy.risk if place.privacy else 0.0,
            y=scale * _value(place),
            chosen=place is ranking.best,
        )
        for place in judged
    ]
    chart = scatter(
        points,
        title="Usefulness against risk",
        x_axis="highest chance to name a person whose quasi-identifiers are known, in percent",
        y_axis=value_name(ranking) + (" in percent" if scale > 1 else ""),
        more_x_is_better=False,
        more_y_is_better=ranking.higher_is_better if ranking.race else ranking.best.deviation is None,
    )
    smallest = min(place.privacy.smallest_class for place in judged if place.privacy)
    text = (
        "Each dot is a candidate. The risk is one divided by the size of its smallest group of alike records; the line "
        f"joins those that no other beats in both. The smallest group of all has {count(smallest, 'record')}."
    )
    return Heat(title="Usefulness against risk", text=text, chart=picture(chart))


def table_rows(ranking: Ranking) -> list[TableRow]:
    """Every configuration, as the table of all of them shows it."""
    places = Counter(place.rank for place in ranking.ranking)
    return [
        TableRow(
            rank=place.rank,
            tied=places[place.rank] > 1,
            configuration=place.configuration,
            id=place.id,
            like_best=place.like_best,
            kept=_kept(place),
            value=_shown(ranking, _value(place)),
            low=_shown(ranking, place.interval[0]),
            high=_shown(ranking, place.interval[1]),
            smallest_class="–" if place.privacy is None else f"{place.privacy.smallest_class:,}",
            why="; ".join(why(place)),
        )
        for place in ranking.ranking
    ]


def heat_of(ranking: Ranking) -> Heat | None:
    """The heat map of configurations and attributes; None where no configuration of masks was ranked."""
    drawn = [place for place in ranking.ranking if place.attributes][:ROWS_DRAWN]
    if not drawn:
        return None
    lost = drawn[0].attributes[0].deviation is not None
    tables = [{loss.name: loss for loss in place.attributes} for place in drawn]
    names = [loss.name for loss in drawn[0].attributes]

    def weight(name: str) -> float:
        return -max(abs(_loss(table[name]) or 0.0) for table in tables)

    columns = sorted(names, key=weight)[:COLUMNS_DRAWN]
    gains = lost and any((_loss(table[name]) or 0.0) < 0 for table in tables for name in columns)
    chart = heat_map(
        [[_loss(table[name]) for name in columns] for table in tables],
        rows=[place.configuration for place in drawn],
        columns=columns,
        title="What each configuration loses on each attribute" if lost else "What is left of each attribute",
        legend=("lost" if lost else "left" if ranking.higher_is_better else ranking.measure)
        + measured_in(attribute_measure(ranking))
        + (", gained below zero" if gains else ""),
        tips=[
            [_tip(place, table[name], ranking) for name in columns] for place, table in zip(drawn, tables, strict=True)
        ],
        cool=not lost and ranking.higher_is_better,
    )
    caption = "Configurations from first to last, attributes from the largest loss to the smallest."
    if not lost:
        caption = "What the masked attributes still say; the losses are not known, because the originals are not."
    if is_of_whole_configurations(ranking):
        caption += f" {_apart(ranking)}"
    if len(ranking.ranking) > ROWS_DRAWN:
        caption += f" The first {ROWS_DRAWN} configurations are drawn."
    if len(names) > COLUMNS_DRAWN:
        caption += f" {COLUMNS_DRAWN} of {len(names):,} attributes are drawn."
    return Heat(
        title="What is lost, and where" if lost else "What is left, and where",
        text=caption,
        chart=picture(chart),
    )


def _loss(loss: AttributeLoss) -> float | None:
    return loss.masked if loss.deviation is None else difference(loss.deviation, loss.original)


def _tip(place: RankedConfiguration, loss: AttributeLoss, ranking: Ranking) -> str:
    value = amount(loss.masked, attribute_unit(ranking))
    now = f"{value} left" if ranking.higher_is_better else f"now {value}"
    lost = "" if loss.deviation is None else f"{figure(_loss(loss), 3)} lost, "
    return f"{place.configuration}, {loss.name} ({loss.mask}): {lost}{now}"


def _apart(ranking: Ranking) -> str:
    return (
        f"Single attributes are shown in {attribute_measure(ranking)}, and not in the unit of the ranking, which "
        "judges all of them together."
    )


def _attributes_text(ranking: Ranking, summary: Summary) -> str:
    caption = _bars_text(summary)
    return f"{caption} {_apart(ranking)}" if is_of_whole_configurations(ranking) else caption


def _bars_text(summary: Summary) -> str:
    if summary.opaque:
        return "The masks are named by opaque ids, so only the sizes of the published groups are known."
    if all(attribute.histogram is None for attribute in summary.attributes.values()):
        return "The summary tells nothing of the unmasked attributes; the bars are the published groups."
    return (
        "The original distribution points up, the published one down. Area is the share of records: a wide bar is a "
        "group of values that can no longer be told apart."
    )
