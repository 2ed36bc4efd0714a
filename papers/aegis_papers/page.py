"""A paper repeated, as a page: its value, ours, the verdict and the reason, figure by figure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.report.charts.curves import Curve, curves
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import figure as number
from aegis.report.figures import seconds
from aegis.report.page import picture, render_page
from aegis.report.ranking_words import Entry, Fact
from aegis_papers.reproduction import (
    Between,
    Claim,
    Figure,
    LineFigure,
    RangeFigure,
    Reproduction,
    Section,
    Value,
    Verdict,
)

_TAGS = {Verdict.SAME: "good", Verdict.BETTER: "good", Verdict.DIFFERENT: "bad", Verdict.NOT_COMPARABLE: ""}
_SIGNS = {Verdict.SAME: "=", Verdict.BETTER: "▲", Verdict.DIFFERENT: "≠", Verdict.NOT_COMPARABLE: "·"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim in the table."""

    what: str
    source: str
    paper: str
    ours: str
    unit: str
    verdict: str
    tag: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure ready for the page: a picture, or the texts of a table."""

    title: str
    caption: str
    picture: Any = None
    columns: tuple[tuple[str, bool], ...] = ()
    rows: tuple[tuple[tuple[str, bool], ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A section ready for the page."""

    anchor: str
    title: str
    text: tuple[str, ...]
    claims: tuple[ClaimRow, ...]
    figures: tuple[Drawn, ...]
    counts: tuple[tuple[str, str], ...]


def render_reproduction(done: Reproduction, *, version: str) -> str:
    """The page for a reproduction, as one self-contained HTML document."""
    verdicts = done.verdicts
    agreed = verdicts[Verdict.SAME] + verdicts[Verdict.BETTER]
    return render_page(
        "reproduction.html",
        folder=Path(__file__).parent / "templates",
        version=version,
        title=f"Reproduction · {done.paper} · Aegis",
        paper=done.paper,
        headline=done.title if done.quick else f"{agreed} of {len(done.claims)} values are the same or better",
        lead=_lead(done),
        quick=done.quick,
        facts=tuple(
            Fact(term=verdict.value, value=str(count), unit="claims" if count != 1 else "claim")
            for verdict, count in verdicts.items()
        ),
        chapters=tuple(_part(i, section) for i, section in enumerate(done.sections)),
        ledger=(
            *(Entry(term=term, lines=(line,)) for term, line in done.choices.items()),
            Entry(term="seed", lines=(str(done.seed),)),
            Entry(term="time", lines=(f"{seconds(done.cpu_seconds)} of CPU",)),
        ),
    )


def _lead(done: Reproduction) -> str:
    verdicts = done.verdicts
    apart, unknown = verdicts[Verdict.DIFFERENT], verdicts[Verdict.NOT_COMPARABLE]
    if done.quick:
        return "The paper's value beside ours, with the reason wherever they differ."
    text = f"{done.title}: the paper's value beside ours, with the reason wherever they differ."
    if apart:
        text += f" {apart} {'is' if apart == 1 else 'are'} different."
    if unknown:
        text += f" {unknown} cannot be compared."
    return text


def _part(place: int, section: Section) -> Part:
    counted = {verdict: sum(claim.verdict is verdict for claim in section.claims) for verdict in Verdict}
    return Part(
        anchor=f"part-{place + 1}",
        title=section.title,
        text=tuple(paragraph for paragraph in section.text.split("\n\n") if paragraph.strip()),
        claims=tuple(_row(claim) for claim in section.claims),
        figures=tuple(_drawn(one) for one in section.figures),
        counts=tuple((f"{count} {verdict.value}", _TAGS[verdict]) for verdict, count in counted.items() if count),
    )


def _row(claim: Claim) -> ClaimRow:
    return ClaimRow(
        what=claim.what,
        source=claim.source,
        paper=_text(claim.paper),
        ours=_text(claim.ours),
        unit=claim.unit,
        verdict=f"{_SIGNS[claim.verdict]} {claim.verdict.value}",
        tag=_TAGS[claim.verdict],
        why=claim.why,
    )


def _text(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, str | Between):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else number(value)


def _drawn(one: Figure) -> Drawn:
    if isinstance(one, LineFigure):
        return Drawn(title=one.title, caption=one.caption, picture=picture(_lines(one)))
    if isinstance(one, RangeFigure):
        return Drawn(title=one.title, caption=one.caption, picture=picture(_ranges(one)))
    columns = [_column([row[i] for row in one.rows]) for i in range(len(one.columns))]
    right = [aligned for _, aligned in columns]
    return Drawn(
        title=one.title,
        caption=one.caption,
        columns=tuple(zip(one.columns, right, strict=True)),
        rows=tuple(tuple((texts[i], aligned) for texts, aligned in columns) for i in range(len(one.rows))),
    )


def _column(cells: list[Value]) -> tuple[list[str], bool]:
    """The texts of a column, and whether it stands at the right; numbers of like size have as many decimals."""
    numbers = [cell for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    aligned = bool(cells) and all(cell is None or isinstance(cell, float | int | Between) for cell in cells)
    sizes = [abs(number) for number in numbers if number]
    if not sizes or max(sizes) >= 1_000 or min(sizes) < 1e-3:
        return [_text(cell) for cell in cells], aligned
    decimals = 3 if max(sizes) < 10 else 2 if max(sizes) < 100 else 1
    return [_fixed(cell, decimals) if isinstance(cell, float) else _text(cell) for cell in cells], aligned


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}" if math.isfinite(value) else _text(value)
    return text.replace("-", "−", 1)


def _lines(one: LineFigure) -> str:
    return curves(
        [Curve(name=s.name, x=s.x, y=s.y, band=s.band, dots=len(s.x) <= 40) for s in one.series],
        title=one.title,
        x_axis=one.x_axis,
        y_axis=one.y_axis,
        log_x=one.log_x,
        log_y=one.log_y,
        height=380,
    )


def _ranges(one: RangeFigure) -> str:
    rows = [
        IntervalRow(label=row.label, value=row.value, low=row.low, high=row.high, note=row.note, marked=row.marked)
        for row in one.rows
    ]
    return interval_plot(rows, title=one.title, axis=one.axis, note_heading=one.note_heading, guide=one.guide)
