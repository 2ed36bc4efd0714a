"""What ``aegis start`` came to, as one page: the release in a sentence, usefulness against risk, every column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aegis.learners.goal import goal_called
from aegis.learners.race_result import NO_LOSS
from aegis.report.charts.curves import Point, scatter
from aegis.report.figures import count, percent
from aegis.report.page import Fact, picture, render_page
from aegis.report.svg import Svg

if TYPE_CHECKING:
    from aegis.library.guided.comparison import Comparison
    from aegis.library.guided.looking import Look
    from aegis.library.guided.started import Started

SHOWN_AT_ONCE = 12
"""So many candidates are listed; the others are there when asked for."""


def render_start(started: Started, seen: Look, comparison: Comparison, *, policy: Sequence[str]) -> str:
    """The page, as one self-contained HTML document; ``policy`` says what had to hold, line by line.

    It names columns and masks, and no value of a record.
    """
    return render_page(
        "start.html",
        title=f"{started.data} · Aegis",
        source=started.data,
        headline=sentence(started, comparison),
        why=started.why,
        facts=facts(started, seen, comparison),
        chart=picture(risk_chart(comparison)),
        candidates=rows_of(comparison),
        shown_at_once=SHOWN_AT_ONCE,
        value_name=comparison.ranking.race.title if comparison.ranking.race else "",
        rejected=sorted(started.rejected.items()),
        changes=started.changes,
        columns=columns_of(seen),
        associations=associations_of(seen),
        rows_looked_at=seen.findings.rows_looked_at,
        noticed=started.noticed,
        attacks=started.attacks,
        policy=policy,
        commands=started.commands,
    )


def sentence(started: Started, comparison: Comparison) -> str:
    """The first sentence: for somebody who will read no other."""
    best = comparison.named(started.chosen)
    race = comparison.ranking.race
    assert race is not None
    alike = ""
    if best.smallest_class:
        who, others = ("no row", "others") if comparison.unit is None else ("nobody", "other people")
        alike = f" {who} can be told from fewer than {best.smallest_class - 1} {others}, and"
    verb = "may be released" if started.out is None else "is released"
    reached = f"models reach {race.shown(best.performance)} {race.title} on it"
    original = race.shown(race.unmasked.performance)
    if best.kept == NO_LOSS:
        return f"{started.data} {verb}:{alike} {reached}; no loss found against the original's {original}."
    return f"{started.data} {verb}:{alike} {reached}, where the original gives {original}."


def facts(started: Started, seen: Look, comparison: Comparison) -> tuple[Fact, ...]:
    best = comparison.named(started.chosen)
    race = comparison.ranking.race
    assert race is not None
    risk = "–" if best.risk is None else percent(best.risk)
    average = "–" if best.average_risk is None else percent(best.average_risk)
    return (
        Fact(term="chance to name a row, at most", value=risk, unit=_alone(comparison)),
        Fact(
            term="rows a guess names rightly", value=average, unit=f"before: {percent(comparison.average_risk_before)}"
        ),
        Fact(term=f"{race.title}, released", value=race.shown(best.performance)),
        Fact(term=f"{race.title}, original", value=race.shown(race.unmasked.performance)),
        Fact(term="rows suppressed", value=f"{best.suppressed:,}", unit=f"of {seen.profile.rows:,}"),
        Fact(
            term="singled out by attacks",
            value="not attacked" if not started.attacks else ", ".join(started.exposing) or "nobody",
            is_name=True,
        ),
    )


def _alone(comparison: Comparison) -> str:
    return f"before: {count(comparison.alone_before, 'row')} stood alone" if comparison.alone_before else ""


def risk_chart(comparison: Comparison) -> str:
    """Usefulness against risk, with the front."""
    race = comparison.ranking.race
    assert race is not None
    scale = 100.0 if goal_called(race.goal).percent else 1.0
    points = [
        Point(
            label=candidate.name,
            x=100 * candidate.average_risk,
            y=scale * candidate.performance,
            chosen=candidate.name == comparison.recommended,
        )
        for candidate in comparison.candidates
        if candidate.average_risk is not None
    ]
    return scatter(
        points,
        title="Usefulness against risk",
        x_axis="rows that somebody names rightly who knows all quasi-identifiers and guesses, in percent",
        y_axis=race.title + (" in percent" if scale > 1 else ""),
        more_x_is_better=False,
        more_y_is_better=comparison.ranking.higher_is_better,
    )


def rows_of(comparison: Comparison) -> list[dict[str, Any]]:
    """Every candidate, as the table shows it."""
    return [
        {
            "name": candidate.name,
            "kind": candidate.kind,
            "recommended": candidate.name == comparison.recommended,
            "on_front": candidate.on_front,
            "can_be_released": candidate.can_be_released,
            "value": comparison.shown(candidate.performance),
            "low": comparison.shown(candidate.low),
            "high": comparison.shown(candidate.high),
            "kept": candidate.kept,
            "smallest": "made-up rows" if not candidate.smallest_class else f"{candidate.smallest_class:,}",
            "risk": "–" if candidate.average_risk is None else percent(candidate.average_risk),
            "starred": f"{candidate.suppressed:,}",
            "why": candidate.why,
            "instead": "" if candidate.can_be_released else comparison.instead(candidate.name),
        }
        for candidate in comparison.candidates
    ]


def columns_of(seen: Look) -> list[dict[str, Any]]:
    """Every column with its shape."""
    return [
        {
            "name": column.name,
            "kind": column.kind.value,
            "distinct": f"{column.distinct:,}",
            "missing": f"{column.missing:,}" if column.missing else "",
            "shape": picture(shape_chart(column.name, seen.findings.shapes.get(column.name, ()))),
        }
        for column in seen.profile.columns
    ]


def associations_of(seen: Look) -> list[dict[str, Any]]:
    """The pairs of columns that go together most, each with a bar."""
    return [
        {
            "left": association.left,
            "right": association.right,
            "strength": f"{association.strength:.2f}",
            "bar": picture(strength_chart(association.left, association.right, association.strength)),
        }
        for association in seen.findings.associations
    ]


def strength_chart(left: str, right: str, strength: float) -> str:
    """A bar as long as two columns go together."""
    svg = Svg(96, 12, title=f"{left} and {right}", description=f"{strength:.2f} of 1.")
    svg.rect(0, 1, 96 * strength, 10, "bar masked")
    return svg.markup()


def shape_chart(name: str, heights: tuple[float, ...]) -> str:
    """The shape of a column: bars without names."""
    svg = Svg(96, 20, title=f"Shape of {name}", description=f"{count(len(heights), 'bar')} of relative heights.")
    for number, height in enumerate(heights):
        svg.rect(number * 8, 20 - max(height * 20, 0.6), 7, max(height * 20, 0.6), "bar masked")
    return svg.markup()
