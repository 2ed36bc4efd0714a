"""Figure 9 of the Aegis paper: does the deviation move with attributes, configurations or rows?"""

from __future__ import annotations

from functools import partial

import numpy as np

from aegis.counts.summary import Level, Summary, reduced
from aegis.ranking.attribute_values import Reference, Rounding
from aegis.ranking.rank import rank
from aegis_papers.aegis_data import MEASURES, Table, joints_of
from aegis_papers.reproduction import Between, LineFigure, Section, Series, TableFigure, Value, judged
from aegis_papers.setting import Setting

_SHARES = (0.25, 0.5, 0.75, 1.0)
_SWEEPS = {
    "attributes": "share of the attributes (%)",
    "configurations": "configurations",
    "rows": "share of the rows (%)",
}
_WAYS = ("derived", "rounded", "exact")

Found = dict[str, dict[str, dict[str, list[float]]]]
"""Sweep, then measure, then way: one deviation for each setting of the sweep."""


def fig_9(setting: Setting, tables: dict[str, Table]) -> Section:
    """Deviations under three sweeps: as derived (no rounding), as published (rounded), and exact."""
    deviations: dict[str, Found] = {
        name: setting.part(f"robust-{name}", partial(_sweeps, setting, table)) for name, table in tables.items()
    }

    def largest(sweep: str, measure: str, way: str) -> float:
        return max(max(of_table[sweep][measure][way]) for of_table in deviations.values())

    zero = (
        "It is zero by a theorem, up to the last bits of the arithmetic: from one deterministic mask, proportional "
        "fitting gives every value its group's distribution of the label, and the measure cannot differ. A number "
        "that is zero for every configuration is stable, and says nothing. Figures as small as the paper's can only be "
        "those of fits that were not rounded."
    )
    printed = (
        ("attributes", "g3", "Fig. 9a, section 5.5.1", 1e-8, zero),
        ("attributes", "MI", "Fig. 9b, section 5.5.1", 1e-6, ""),
        ("attributes", "χ²", "Fig. 9c, section 5.5.1", 1e-6, "The paper says: even lower than for MI."),
        ("configurations", "χ²", "Fig. 9f, section 5.5.2", 1e-7, ""),
        ("rows", "MI", "Fig. 9h, section 5.5.3", 1e-10, ""),
        ("rows", "χ²", "Fig. 9i, section 5.5.3", 1e-10, ""),
        ("rows", "g3", "Fig. 9g, section 5.5.3", 1e-1, "The largest change that the paper observes."),
    )
    claims = [
        judged(
            what=f"Largest deviation of {measure} over the number of {sweep}, without rounding",
            source=source,
            printed=Between(high=most),
            as_printed=largest(sweep, measure, "derived"),
            unit=_unit(measure),
            why=f"{why} Rounded, as the paper describes it: {largest(sweep, measure, 'rounded'):.2g}.".strip(),
        )
        for sweep, measure, source, most, why in printed
    ]
    for measure, panel in (("g3", "d"), ("MI", "e")):
        claims.append(
            judged(
                what=f"Deviation of {measure} of the chosen configuration over the number of configurations, rounded",
                source=f"Fig. 9{panel}, section 5.5.2",
                printed=Between(low=1e-6, high=1e-2),
                as_printed=max(
                    float(np.median(sweeps["configurations"][measure]["rounded"])) for sweeps in deviations.values()
                ),
                unit=_unit(measure),
                why="What rounding at random leaves; the largest of the three data sets' medians. The exact deviation "
                f"of the best configuration is up to {largest('configurations', measure, 'exact'):.2g}.",
            )
        )
    return Section(
        title="Fig. 9: attributes, configurations, rows",
        text="The paper plots a change Δ of the predictive utility and does not define it; here it is the deviation "
        "of equation 1, which the configurations are ranked by. As derived: fitted and not rounded, the largest of "
        "all configurations. Rounded: as in the paper, of the configuration it chooses. Exact: of the best "
        "configuration, against the counted joint.",
        claims=tuple(claims),
        figures=(*(_lines(sweep, tables, deviations) for sweep in _SWEEPS), _table(tables, deviations)),
    )


def _sweeps(setting: Setting, table: Table) -> Found:
    every = table.configurations
    names = list(table.counted.joints)
    order = np.random.default_rng(setting.seed).permutation(table.rows.rows)
    counts = [max(2, round(share * len(names))) for share in _SHARES]
    by_attributes = [
        table.summary_of(every, {name: table.counted.joints[name] for name in names[:count]}) for count in counts
    ]
    by_configurations = [table.summary_of(every[:count]) for count in _counts(len(every))]
    by_rows = [table.summary_of(every, joints_of(table.rows, order[: round(share * len(order))])) for share in _SHARES]
    sweeps = {"attributes": by_attributes, "configurations": by_configurations, "rows": by_rows}
    return {
        sweep: {
            short: {way: [_deviation(summary, long, way, setting.seed) for summary in summaries] for way in _WAYS}
            for short, long in MEASURES.items()
        }
        for sweep, summaries in sweeps.items()
    }


def _counts(most: int) -> list[int]:
    """20, 30, 40 and 50 of 50."""
    return [max(2, round(most * share)) for share in (0.4, 0.6, 0.8, 1.0)]


def _deviation(summary: Summary, measure: str, way: str, seed: int) -> float:
    if way == "exact":
        answer = rank(summary, measure=measure, reference=Reference.EXACT, seed=seed)
    else:
        rounding = Rounding.NONE if way == "derived" else Rounding.RANDOMISED
        published = reduced(summary, level=Level.ONE_D)
        answer = rank(published, measure=measure, reference=Reference.PER_CONFIGURATION, rounding=rounding, seed=seed)
    deviations = [place.deviation for place in answer.ranking if place.deviation is not None]
    return max(deviations) if way == "derived" else deviations[0]


def _lines(sweep: str, tables: dict[str, Table], deviations: dict[str, Found]) -> LineFigure:
    configurations = _counts(len(next(iter(tables.values())).configurations))
    at = configurations if sweep == "configurations" else [100 * share for share in _SHARES]
    return LineFigure(
        title=f"Fig. 9: exact deviation of the best configuration over {sweep}",
        x_axis=_SWEEPS[sweep],
        y_axis="deviation (logarithmic)",
        series=tuple(
            Series.through(
                f"{name}, {measure}", zip(map(float, at), deviations[name][sweep][measure]["exact"], strict=True)
            )
            for name in tables
            for measure in ("g3", "MI")
        ),
        log_y=True,
        caption="Unlike the derived one, the exact deviation is not zero: it tells configurations apart."
        if sweep == "attributes"
        else "",
    )


def _table(tables: dict[str, Table], deviations: dict[str, Found]) -> TableFigure:
    rows: list[tuple[Value, ...]] = [
        (sweep, name, measure, *(max(deviations[name][sweep][measure][way]) for way in _WAYS))
        for sweep in _SWEEPS
        for name in tables
        for measure in MEASURES
    ]
    return TableFigure(
        title="Fig. 9: the largest deviation of each sweep",
        columns=("over", "data", "measure", "as derived", "rounded, chosen", "exact, best"),
        rows=tuple(rows),
    )


def _unit(measure: str) -> str:
    return {"g3": "share of records", "MI": "bits", "χ²": "statistic"}[measure]
