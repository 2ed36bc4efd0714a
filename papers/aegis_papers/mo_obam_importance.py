"""Feature importances of the MO-OBAM paper: what the quasi-identifiers are worth to a decision tree, by its recipe."""

from __future__ import annotations

from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_recipe import ORIGINAL, key
from aegis_papers.mo_obam_scores import Scores
from aegis_papers.reproduction import Claim, RangeFigure, RangeRow, Section, TableFigure, Verdict

_TEXT = "Section VI-B1, text"


def importances(tables: dict[str, Table], scores: dict[str, Scores]) -> Section:
    """The statements of the text, table by table and at every k."""
    claims: list[Claim] = []
    for name, of in scores.items():
        table = tables[name]
        ks = table.ks if table.source.own_draws_per_k else table.ks[:1]
        for k in ks:
            claims += _fall(table, of, k)
        claims += _steady(table, of, ks)
    return Section(
        title="Feature importances",
        text=(
            "The share of the decision tree's gain that each quasi-identifier brings, mean over the splits of the "
            "recipe. The paper's numbers are in an appendix that is not at hand; its text says that four classes lower "
            "them, most of all the first, that many classes keep them near the original, and that k-anonymity holds "
            "them over k. The hospitals' data is not public and is left out."
        ),
        claims=tuple(claims),
        figures=tuple(
            figure for name, of in scores.items() for figure in (_picture(tables[name], of), _figure(tables[name], of))
        ),
    )


def _total(of: Scores, method: str, k: int) -> float | None:
    shares = of.importance.get(key(method, k))
    return None if shares is None else sum(shares.values())


def _fall(table: Table, of: Scores, k: int) -> list[Claim]:
    original, four = of.importance[ORIGINAL], of.importance[key("four", k)]
    top = max(original, key=lambda column: original[column])
    first, many, few = (_total(of, ORIGINAL, 0), _total(of, "many", k), _total(of, "four", k))
    assert first is not None
    assert many is not None
    assert few is not None
    name = table.source.name
    return [
        Claim(
            what=f"{name}, k = {k}, 4 classes: importance of {top}, the first of the quasi-identifiers",
            source=_TEXT,
            printed="falls",
            as_printed=f"{original[top]:.3f} → {four[top]:.3f}",
            verdict=Verdict.of(four[top] < original[top]),
        ),
        Claim(
            what=f"{name}, k = {k}, {table.source.classes} classes: summed importance of the quasi-identifiers",
            source=_TEXT,
            printed="nearer to the original than with 4",
            as_printed=f"{first:.3f} → {many:.3f} (4 classes: {few:.3f})",
            verdict=Verdict.of(abs(many - first) <= abs(few - first)),
        ),
    ]


def _steady(table: Table, of: Scores, ks: tuple[int, ...]) -> list[Claim]:
    """k-anonymity over k, beside the step from many classes to four; none where it was not trained."""
    sums = [total for k in table.ks if (total := _total(of, "mdav", k)) is not None]
    steps = [
        abs(many - few)
        for k in ks
        if (many := _total(of, "many", k)) is not None and (few := _total(of, "four", k)) is not None
    ]
    if len(sums) < 2 or not steps:
        return []
    spread = max(sums) - min(sums)
    return [
        Claim(
            what=f"{table.source.name}: summed importance, its range over k with k-anonymity",
            source="Section VI-B2, text",
            printed="less than MO-OBAM's step between few and many classes",
            as_printed=f"{spread:.3f} (step {min(steps):.3f} to {max(steps):.3f})",
            verdict=Verdict.of(spread < min(steps)),
        )
    ]


def _picture(table: Table, of: Scores) -> RangeFigure:
    k = table.ks[0]
    rows = []
    for column in table.source.quasi:
        for words, name in (
            ("original", ORIGINAL),
            (f"{table.source.classes} classes", key("many", k)),
            ("4 classes", key("four", k)),
        ):
            value = of.importance[name][column]
            rows.append(RangeRow(label=f"{column}, {words}", value=value, low=0.0, high=value, marked=name == ORIGINAL))
    return RangeFigure(
        title=f"Importance of the quasi-identifiers on {table.source.name}, k = {k}",
        axis="share of the tree's gain",
        rows=tuple(rows),
        guide=0.0,
    )


def _figure(table: Table, of: Scores) -> TableFigure:
    return TableFigure(
        title=f"Importance of the quasi-identifiers on {table.source.name}",
        columns=("table", *table.source.quasi),
        rows=tuple(
            (name, *(round(shares[column], 4) for column in table.source.quasi))
            for name, shares in of.importance.items()
        ),
    )
