"""A paper repeated, as a page: what it prints, what its recipe gives here, what the product reaches, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.report.charts.curves import Curve, curves
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import figure as number
from aegis.report.figures import seconds
from aegis.report.page import Entry, Fact, picture, render_page
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

_TAGS = {Verdict.SAME: "good", Verdict.DIFFERENT: "bad", Verdict.NOT_COMPARABLE: ""}
_SIGNS = {Verdict.SAME: "=", Verdict.DIFFERENT: "≠", Verdict.NOT_COMPARABLE: "·"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim in the table."""

    what: str
    source: str
    printed: str
    as_printed: str
    spread: str
    ours: str
    unit: str
    verdict: str
    tag: str
    better: str
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
    command: str
    time: str


def render_reproduction(done: Reproduction, *, version: str) -> str:
    """The page for a reproduction, as one self-contained HTML document."""
    return render_page(
        "reproduction.html",
        folder=Path(__file__).parent / "templates",
        version=version,
        title=f"Reproduction · {done.paper} · Aegis",
        paper=done.paper,
        headline=done.title if done.quick or not done.comparable else _headline(done),
        lead=_lead(done),
        quick=done.quick,
        facts=(
            *(
                Fact(term=verdict.value, value=str(count), unit="as printed" if place < 2 else "values")
                for place, (verdict, count) in enumerate(done.verdicts.items())
            ),
            Fact(term="better", value=str(done.better), unit="ours, by a test"),
        ),
        chapters=tuple(_part(i, section) for i, section in enumerate(done.sections)),
        ledger=(
            *(Entry(term=term, lines=(line,)) for term, line in done.choices.items()),
            Entry(term="seed", lines=(str(done.seed),)),
            Entry(term="time", lines=(f"{seconds(done.cpu_seconds)} of CPU",)),
        ),
    )


def _headline(done: Reproduction) -> str:
    same = done.verdicts[Verdict.SAME]
    return f"{same} of {done.comparable} comparable values are as printed ({100 * done.same_share:.0f} %)"


def _lead(done: Reproduction) -> str:
    columns = (
        "printed is what the paper prints, as printed what its own recipe gives here, ours the product at its best. "
        "The verdict is about the recipe alone; better is said of ours only, and only with a test."
    )
    return columns[0].upper() + columns[1:] if done.quick else f"{done.title}: {columns}"


def _part(place: int, section: Section) -> Part:
    counted = [(section.summary[verdict.value], verdict.value, _TAGS[verdict]) for verdict in Verdict]
    counted.append((section.summary["better"], "better", "good"))
    return Part(
        anchor=f"part-{place + 1}",
        title=section.title,
        text=tuple(paragraph for paragraph in section.text.split("\n\n") if paragraph.strip()),
        claims=tuple(_row(claim) for claim in section.claims),
        figures=tuple(_drawn(figure) for figure in section.figures),
        counts=tuple((f"{count} {word}", tag) for count, word, tag in counted if count),
        command=section.command,
        time=f"{seconds(section.cpu_seconds)} of CPU" if section.cpu_seconds else "computed with the sections above",
    )


def _row(claim: Claim) -> ClaimRow:
    return ClaimRow(
        what=claim.what,
        source=claim.source,
        printed=_text(claim.printed),
        as_printed=_text(claim.as_printed),
        spread="" if claim.spread is None else str(claim.spread),
        ours=_text(claim.ours),
        unit=claim.unit,
        verdict=f"{_SIGNS[claim.verdict]} {claim.verdict.value}",
        tag=_TAGS[claim.verdict],
        better=f"▲ better: {claim.test}" if claim.better else "",
        why=claim.why,
    )


def _text(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, str | Between):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else number(value)


def _drawn(figure: Figure) -> Drawn:
    if isinstance(figure, LineFigure):
        return Drawn(title=figure.title, caption=figure.caption, picture=picture(_lines(figure)))
    if isinstance(figure, RangeFigure):
        return Drawn(title=figure.title, caption=figure.caption, picture=picture(_ranges(figure)))
    columns = [_column([row[i] for row in figure.rows]) for i in range(len(figure.columns))]
    right = [aligned for _, aligned in columns]
    return Drawn(
        title=figure.title,
        caption=figure.caption,
        columns=tuple(zip(figure.columns, right, strict=True)),
        rows=tuple(tuple((texts[i], aligned) for texts, aligned in columns) for i in range(len(figure.rows))),
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


def _lines(figure: LineFigure) -> str:
    return curves(
        [Curve(name=s.name, x=s.x, y=s.y, band=s.band, dots=len(s.x) <= 40) for s in figure.series],
        title=figure.title,
        x_axis=figure.x_axis,
        y_axis=figure.y_axis,
        log_x=figure.log_x,
        log_y=figure.log_y,
        height=380,
    )


def _ranges(figure: RangeFigure) -> str:
    rows = [
        IntervalRow(label=row.label, value=row.value, low=row.low, high=row.high, note=row.note, marked=row.marked)
        for row in figure.rows
    ]
    return interval_plot(
        rows, title=figure.title, axis=figure.axis, note_heading=figure.note_heading, guide=figure.guide
    )
