"""What the text of the MO-OBAM paper counts over the rows of Tables IVa and Va, counted over ours."""

from __future__ import annotations

from typing import Any

from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_paper import THRESHOLDS, Printed
from aegis_papers.reproduction import Between, Claim, judged

NOT_A_MULTIPLE = (
    "The printed number cannot be: MDAV makes classes of exactly 15 and one of 27 from 45,222 records, so the people "
    "in published classes below 20 are a multiple of 15, and 4,167 is not. A rest of 12 left as a class of its own "
    "would fit 0.05 and would show at 0.075, where the paper prints 0."
)


def counted(table: Table, printed: Printed, rows: dict[str, dict[str, Any]]) -> list[Claim]:
    """At how many k MO-OBAM loses less, and at how many it leaves fewer people at risk, than each of the others."""
    source, unit, claims = f"Section VI-A2, {table.source.name}", f"of {len(table.ks)}", []
    for key, words, theirs in (
        ("mdav", "k-anonymity", printed.mdav),
        ("k-member", "our k-member for Zheng et al.", printed.zheng),
    ):
        paper = [(printed.mo_obam[k], theirs[k]) for k in table.ks]
        ours = [(rows["many"][str(k)], rows[key][str(k)]) for k in table.ks]
        claims.append(
            judged(
                what=f"values of k at which MO-OBAM loses less than {words}",
                source=source,
                paper=sum(mine.loss < other.loss for mine, other in paper),
                ours=sum(mine["loss"] < other["loss"] for mine, other in ours),
                better="higher",
                unit=unit,
            )
        )
        claims += [
            judged(
                what=f"values of k with fewer people at linkage risk at {tau} than {words}",
                source=source,
                paper=sum(mine.linkage[place] < other.linkage[place] for mine, other in paper),
                ours=sum(mine["linkage"][place] < other["linkage"][place] for mine, other in ours),
                better="higher",
                unit=unit,
            )
            for place, tau in enumerate(THRESHOLDS)
        ]
    more = [rows["many"][str(k)]["homogeneity"] > rows["mdav"][str(k)]["homogeneity"] for k in table.ks]
    claims.append(
        judged(
            what="values of k with more certain secrets than with k-anonymity",
            source=source,
            paper=sum(k > 5 for k in table.ks),
            ours=sum(more),
            better="lower",
            unit=unit,
            why="The paper's has fewer at k = 5 and more at 10, 15 and 20. l = 2 is a constraint here.",
        )
    )
    return claims


def decreases(table: Table, original: dict[str, Any], rows: dict[str, dict[str, Any]]) -> list[Claim]:
    """The shares of people that the text says are no longer at risk: those of Adult at 0.05, where anybody is left."""
    return [
        judged(
            what=f"{words}, k = {k}: decrease of the people at linkage risk at 0.05",
            source="Section VI-A2, overall",
            paper=said,
            ours=round(1 - rows[method][str(k)]["linkage"][0] / original["linkage"][0], 4),
            tolerance=0.005,
            better="higher" if method == "many" else None,
            why="Nobody is left at risk." if method == "many" else NOT_A_MULTIPLE if k == 15 else "",
        )
        for method, words, said in (
            ("mdav", "k-anonymity", Between(low=0.08, high=0.35)),
            ("many", "MO-OBAM", Between(low=0.96, high=0.98)),
        )
        for k in table.ks
        if k < 20 or method == "many"
    ]
