"""Tables IVb, Vb and VI of the MO-OBAM paper: higher protection. Their numbers are not at hand, their text is."""

from __future__ import annotations

from typing import Any

from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_paper import FIGURES, THRESHOLDS, figure_of
from aegis_papers.mo_obam_repeats import drawn_runs
from aegis_papers.mo_obam_tables import NOT_ZHENG, before, figure
from aegis_papers.reproduction import Claim, Section, judged
from aegis_papers.setting import Setting

Rows = dict[str, dict[str, Any]]
_LOSES_MORE = {"German credit": (True, True), "Adult": (True, False)}
"""Whether four classes lose more than k-anonymity and than Zheng et al., at all k, as the text says."""
_ALL_VALUES = (
    "Fourteen people of Adult are in the armed forces, so l = 14 allows fourteen classes, each spread over everybody."
)


def higher_protection(setting: Setting, table: Table, rows: Rows) -> Section:
    """Table IVb or Vb: four classes, λ = 1, beside k-anonymity and a k-member that asks for the most values."""
    printed = table.source.printed
    assert printed is not None
    title = printed.table.removesuffix("a") + "b"
    source = f"{title}, text"
    claims: list[Claim] = []
    drawn = drawn_runs(setting, table, "four")
    for k in table.ks:
        claims += [
            judged(
                what=f"MO-OBAM, 4 classes, λ = 1, k = {k}: {words}",
                source=source,
                printed=0,
                as_printed=drawn.median(name),
                spread=drawn.spread(name),
                ours=figure_of(rows["four"][str(k)], name),
                unit=unit,
            )
            for name, (words, unit) in FIGURES.items()
            if unit == "people"
        ]
    for method, words, more in (
        ("mdav", "k-anonymity", _LOSES_MORE[table.source.name][0]),
        (
            "diverse",
            f"Zheng et al. (ours: our own k-member, l = {table.source.high_l})",
            _LOSES_MORE[table.source.name][1],
        ),
    ):
        ours = sum(rows["four"][str(k)]["loss"] > rows[method][str(k)]["loss"] for k in table.ks)
        repeated = sum(drawn.median("loss") > rows["mdav"][str(k)]["loss"] for k in table.ks)
        claims.append(
            judged(
                what=f"values of k at which 4 classes lose more than {words}",
                source=source,
                printed=len(table.ks) if more else 0,
                as_printed=repeated if method == "mdav" else None,
                ours=ours,
                unit=f"of {len(table.ks)}",
                why="" if method == "mdav" else NOT_ZHENG + (f" {_ALL_VALUES}" if not more and not ours else ""),
            )
        )
    return Section(
        title=f"{title}: {table.source.name}, higher protection",
        text=(
            "Of this part of the table only the text is at hand: with four classes (λ = 1) nobody is at risk at any k, "
            "which costs loss. As printed: four drawn centroids, the draw with the best objective of eq. 18, in forty "
            "runs. Ours: the product's search, and our own k-member with the most values that the secrets allow, "
            f"l = {table.source.high_l}, where the paper has Zheng et al."
        ),
        claims=tuple(claims),
        figures=(figure(table, before(setting, table), rows, ("mdav", "diverse", "four")),),
    )


def sepsis_section(setting: Setting, table: Table, rows: Rows) -> Section:
    """Table VI on a public table in place of the hospitals' own."""
    ks = [str(k) for k in table.ks]
    most = max(rows["mdav"][k]["classes"] for k in ks)
    other = (
        "Other records, three quasi-identifiers instead of six, one sensitive attribute instead of thirty. k-anonymity "
        f"keeps no l here and publishes up to {most:,} classes; MO-OBAM keeps l = 2, which costs loss where few died."
    )

    def compared(what: str, paper: str, ours: str) -> Claim:
        return Claim(what=what, source="Table VI, text", printed=paper, ours=ours, why=other)

    def below(method: str, rival: str) -> int:
        return sum(rows[method][k]["loss"] < rows[rival][k]["loss"] for k in ks)

    claims = [
        compared(
            f"values of k at which MO-OBAM loses less than {words}",
            f"{len(ks)} of {len(ks)}",
            f"{below('many', rival)} of {len(ks)}; with classes free {below('free', rival)}",
        )
        for rival, words in (("mdav", "k-anonymity"), ("k-member", "Zheng et al. (ours: our own k-member)"))
    ]
    for place, tau in enumerate(THRESHOLDS):
        not_more = [k for k in ks if rows["many"][k]["linkage"][place] <= rows["mdav"][k]["linkage"][place]]
        claims.append(
            compared(
                f"values of k with no more people at linkage risk at {tau} than k-anonymity",
                "5, 10, 15 and 20" if tau == "0.075" else "5, 10 and 20",
                ", ".join(not_more) or "none",
            )
        )
    claims += [
        compared(
            f"k = {k}: people whose secret is certain, MO-OBAM against k-anonymity",
            "0 against some",
            f"{rows['many'][k]['homogeneity']:,} against {rows['mdav'][k]['homogeneity']:,}",
        )
        for k in ks
    ]
    return Section(
        title="Table VI: sepsis",
        text=(
            "The hospitals' data is not public. Sepsis survival (110,204 admissions; age, sex and number of the "
            f"episode; sensitive: the outcome) stands in, with {table.source.classes} classes. What the text says of "
            "the paper's data stands beside what holds for these; with other data neither confirms the other."
        ),
        claims=tuple(claims),
        figures=(figure(table, before(setting, table), rows, ("mdav", "k-member", "many", "free", "four")),),
    )
