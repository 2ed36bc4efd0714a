"""Made-up rows as a page: the promise, what it was spent on, every attribute as measured and as drawn, every pair.

What is shown of the source is what was measured with noise under the budget: nothing else of it is known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.synthesis.attribute import Attribute, NumberCells
from aegis.candidates.synthesis.synthesizer import Model
from aegis.counts.answer import to_numpy
from aegis.data.domain import show
from aegis.report.charts.bars import Bar, Tick, paired_bars
from aegis.report.charts.heat_map import heat_map
from aegis.report.figures import percent
from aegis.report.page import Fact, picture, render_page

_MOST_IN_MAP = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePart:
    """One attribute: where its values come from, how far the rows are from what was measured, and a picture."""

    name: str
    origin: str
    codes: int
    apart: str
    chart: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentRow:
    """A line of the account."""

    what: str
    times: int
    sigma: str
    share: str


def render_synthesis(
    model: Model,
    table: pa.Table,
    *,
    source: str,
    headline: str,
    facts: Sequence[Fact],
    unit: str,
    private: bool,
    spent: Sequence[SpentRow],
    left_out: Mapping[str, str],
) -> str:
    """The page for made-up rows, as one self-contained HTML document."""
    parts = [
        _part(attribute, counts.sum(axis=1), table)
        for attribute, counts in zip(model.attributes, model.singles, strict=True)
    ]
    if model.label is not None and model.label_counts is not None:
        parts.append(_part(model.label, model.label_counts, table))
    return render_page(
        "synthesis.html",
        title=f"Made-up rows · {source} · Aegis",
        source=source,
        headline=headline,
        facts=list(facts),
        unit=unit,
        private=private,
        spent=list(spent),
        left_out=dict(left_out),
        parts_of_page=parts,
        map=_map(model),
        pairs=sorted(model.errors, key=lambda error: -error.share)[:20],
    )


def _part(attribute: Attribute, measured: NDArray[np.float64], table: pa.Table) -> AttributePart:
    drawn = np.bincount(coded(attribute, table[attribute.name]), minlength=attribute.size)
    before, after = measured / max(measured.sum(), 1e-9), drawn / max(drawn.sum(), 1)
    names = [_name(value) for value in attribute.values]

    def bars(shares: NDArray[np.float64]) -> list[Bar]:
        return [
            Bar(left=float(place), right=place + 1.0, share=float(share), name=names[place])
            for place, share in enumerate(shares)
        ]

    ticks = [Tick(at=place + 0.5, text=name, room=1.0) for place, name in enumerate(names)]
    chart = paired_bars(
        bars(before),
        bars(after),
        ticks=ticks,
        title=f"{attribute.name}: as measured with noise, and as drawn",
        upper_name="measured with noise",
        lower_name="made up",
    )
    return AttributePart(
        name=attribute.name,
        origin=attribute.origin,
        codes=attribute.size,
        apart=percent(float(np.abs(before - after).sum()) / 2),
        chart=picture(chart),
    )


def coded(attribute: Attribute, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """The code of every value of a column that was drawn."""
    present, values = to_numpy(column, attribute.kind)
    cells = np.full(len(column), attribute.column.size - 1, dtype=np.int64)
    cells[present] = attribute.column.cells.codes(values, attribute.kind)
    return np.asarray(attribute.groups[cells])


def _name(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, NumberCells):
        return f"{value.low[0]:g}…"
    return show(value)


def _map(model: Model) -> Any:
    """Every pair of attributes by how far the model was from it when it was asked."""
    if len(model.attributes) < 2 or len(model.attributes) > _MOST_IN_MAP:
        return None
    names = [attribute.name for attribute in model.attributes]
    place = {name: number for number, name in enumerate(names)}
    values: list[list[float | None]] = [[None] * len(names) for _ in names]
    for error in model.errors:
        first, second = place[error.first], place[error.second]
        values[first][second] = values[second][first] = 100 * error.share
    chart = heat_map(
        values,
        rows=names,
        columns=names,
        title="How far the model was from each pair when it was asked",
        legend="% of the records, with noise",
    )
    return picture(chart)
