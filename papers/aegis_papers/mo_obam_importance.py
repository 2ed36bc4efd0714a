"""Feature importances of the MO-OBAM paper: what the quasi-identifiers are worth to a decision tree."""

from __future__ import annotations

from typing import Any

from aegis.evaluation.comparison_result import ORIGINAL
from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_training import of
from aegis_papers.reproduction import Claim, Section, TableFigure, Verdict

_OTHER = "Other data: the hospitals' is not public."


def importances(tables: dict[str, Table], found: dict[str, dict[str, Any]]) -> Section:
    """The statements of the text, table by table and at every k."""
    claims: list[Claim] = []
    for name, table in tables.items():
        for k in table.ks:
            claims += _fall(table, of(found[name], k)["importance"], k)
        if _tells(of(found[name], table.ks[0])["importance"]):
            claims.append(_steady(table, found[name]))
    return Section(
        title="Feature importances",
        text=(
            "The share of the decision tree's gain that each quasi-identifier brings, mean over splits. The paper's "
            "numbers are in an appendix that is not at hand; its text says that four classes lower them, most of all "
            "the first, that many classes keep them near the original, and that k-anonymity holds them over k."
        ),
        claims=tuple(claims),
        figures=tuple(_figure(table, found[name]) for name, table in tables.items()),
    )


def _total(told: dict[str, dict[str, float]], method: str) -> float:
    return sum(column[method] for column in told.values())


def _tells(told: dict[str, dict[str, float]]) -> bool:
    """Where the quasi-identifiers are all columns, their shares add up to one whatever is published."""
    return _total(told, ORIGINAL) < 1 - 1e-6


def _judge(table: Table, holds: bool) -> Verdict:
    if table.source.printed is None:
        return Verdict.NOT_COMPARABLE
    return Verdict.SAME if holds else Verdict.DIFFERENT


def _fall(table: Table, told: dict[str, dict[str, float]], k: int) -> list[Claim]:
    top = max(told, key=lambda column: told[column][ORIGINAL])
    first = told[top]
    total = {method: _total(told, method) for method in (ORIGINAL, "many", "four")}
    nearer = abs(total["many"] - total[ORIGINAL]) <= abs(total["four"] - total[ORIGINAL])
    name, source = table.source.name, "Section VI-B1, text"
    why = _OTHER if table.source.printed is None else ""
    claims = [
        Claim(
            what=f"{name}, k = {k}, 4 classes: importance of {top}, the first of the quasi-identifiers",
            source=source,
            paper="falls",
            ours=f"{first[ORIGINAL]:.3f} → {first['four']:.3f}",
            verdict=_judge(table, first["four"] < first[ORIGINAL]),
            why=why,
        )
    ]
    if _tells(told):
        claims.append(
            Claim(
                what=f"{name}, k = {k}, {table.source.classes} classes: summed importance of the quasi-identifiers",
                source=source,
                paper="nearer to the original than with 4",
                ours=f"{total[ORIGINAL]:.3f} → {total['many']:.3f} (4 classes: {total['four']:.3f})",
                verdict=_judge(table, nearer),
                why=why,
            )
        )
    return claims


def _steady(table: Table, found: dict[str, Any]) -> Claim:
    """k-anonymity over k, beside the step from many classes to four."""
    sums = [_total(of(found, k)["importance"], "mdav") for k in table.ks]
    spread = max(sums) - min(sums)
    steps = [
        abs(_total(told, "many") - _total(told, "four")) for told in (of(found, k)["importance"] for k in table.ks)
    ]
    return Claim(
        what=f"{table.source.name}: summed importance, its range over k with k-anonymity",
        source="Section VI-B2, text",
        paper="less than MO-OBAM's step between few and many classes",
        ours=f"{spread:.3f} (step {min(steps):.3f} to {max(steps):.3f})",
        verdict=_judge(table, spread < min(steps)),
        why=_OTHER if table.source.printed is None else "",
    )


def _figure(table: Table, found: dict[str, Any]) -> TableFigure:
    methods = [method for method in table.methods if method != "free"]
    rows = []
    for k in table.ks:
        told = of(found, k)["importance"]
        rows += [
            (column, k, *(round(values[method], 4) for method in (ORIGINAL, *methods)))
            for column, values in told.items()
        ]
    return TableFigure(
        title=f"Importance of the quasi-identifiers on {table.source.name}",
        columns=("column", "k", "original", *(table.words(method) for method in methods)),
        rows=tuple(rows),
    )
