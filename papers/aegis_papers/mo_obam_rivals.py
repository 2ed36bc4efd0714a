"""Tables VIII to X of the MO-OBAM paper: models after MO-OBAM beside models after the other two anonymizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aegis.evaluation.comparison_result import ORIGINAL
from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_models import F1_TOLERANCE, OTHER_DATA, f1_claims, fewer_splits, sizes
from aegis_papers.mo_obam_paper import MODELS
from aegis_papers.mo_obam_training import of, weaker
from aegis_papers.reproduction import Claim, Section, TableFigure, Verdict

AHEAD, BEHIND, LEVEL = "ahead", "behind", "not apart"
LOWER = {"mdav": "k-anonymity", "k-member": "our k-member for Zheng et al."}
HIGHER = {"mdav": "k-anonymity", "diverse": "our k-member for Zheng et al."}
"""What MO-OBAM is compared with: many classes with the first two, four with the second two."""
_TEST = (
    "p < 0.05 by Mann–Whitney U, uncorrected as in the paper; the same splits for every table. What the paper finds "
    "and ours, with fewer splits, does not, is not compared"
)


def standing(found: dict[str, Any], k: int, *, rival: str, method: str, model: str) -> str | None:
    """Where a rival stands beside MO-OBAM by the paper's test; None for a model that was not trained."""
    for one in of(found, k)["between"]:
        if {one["first"], one["second"]} == {rival, method} and one["model"] == MODELS[model]:
            if one["p"] >= 0.05:
                return LEVEL
            return AHEAD if (one["difference"] > 0) == (one["first"] == rival) else BEHIND
    return None


def table_8a(table: Table, found: dict[str, Any]) -> Section:
    """Table VIIIa: the scores after k-anonymity and Zheng et al. as printed, and what the text says of LR."""
    printed = table.source.printed
    assert printed is not None
    claims: list[Claim] = []
    for method, words, theirs in (
        ("mdav", "k-anonymity", printed.f1_mdav),
        ("k-member", "our k-member for Zheng et al., l = 2", printed.f1_zheng),
    ):
        for k in table.ks:
            who = f"{words}, k = {k}"
            claims += f1_claims(table, who, "Table VIIIa", theirs[k], of(found, k)["f1"][method])
    for k in (10, 15):
        claims += _stood(table, found, k, "mdav", "many", "LR", AHEAD, source="Table VIIIa, text")
        claims += _stood(table, found, k, "k-member", "many", "LR", LEVEL, source="Table VIIIa, text")
    return Section(
        title="Table VIIIa: German credit, lower protection, models after each anonymizer",
        text=(
            f"{sizes(found)}. The rows of MO-OBAM are those of Table VIIa. The same: within {F1_TOLERANCE:g} of the "
            f"printed F1; of a difference, the same side or none: {_TEST}. Which cells are highlighted is known from "
            "the text only, for LR at k = 10 and 15."
        ),
        claims=tuple(claims),
        figures=(_f1(table, found, ("mdav", "k-member", "many")), _standings(table, found, "many", LOWER)),
    )


def table_8b(table: Table, found: dict[str, Any]) -> Section:
    """Table VIIIb, of which the text tells three cells."""
    source = "Table VIIIb, text"
    claims = [
        *_stood(table, found, 20, "mdav", "four", "LR", AHEAD, source=source),
        *_stood(table, found, 20, "diverse", "four", "LR", LEVEL, source=source),
        *_stood(table, found, 10, "diverse", "four", "NB", AHEAD, source="Table VIII, text"),
        *_stood(table, found, 20, "diverse", "four", "NB", AHEAD, source="Table VIII, text"),
    ]
    return Section(
        title="Table VIIIb: German credit, higher protection, models after each anonymizer",
        text=(
            f"{sizes(found)}. Four classes, λ = 1, beside k-anonymity and k-member with l = {table.source.high_l}: "
            f"{_TEST}. The numbers are not at hand. The text finds Zheng et al. ahead in NB at k = 10 and 20 and does "
            "not say in which part of Table VIII: the means printed in part (a) differ by .0004 at k = 20, so it is "
            "taken for (b)."
        ),
        claims=tuple(claims),
        figures=(_f1(table, found, ("mdav", "diverse", "four")), _standings(table, found, "four", HIGHER)),
    )


def table_9(table: Table, found: dict[str, Any], *, part: str) -> Section:
    """Table IXa or b: in which models the others are ahead in most cells, in which they are not."""
    method, rivals = ("many", LOWER) if part == "a" else ("four", HIGHER)
    source = "Table IX, text"
    cells = {
        model: [standing(found, k, rival=rival, method=method, model=model) for k in table.ks for rival in rivals]
        for model in MODELS
    }
    claims = []
    for model, stood in cells.items():
        if None in stood:
            continue
        mostly = next((one for one in (AHEAD, BEHIND) if stood.count(one) > len(stood) / 2), LEVEL)
        said = AHEAD if model in ("DT", "LR", "RF") else LEVEL
        claims.append(
            Claim(
                what=f"{model}: where the others stand beside MO-OBAM in most of {len(stood)} cells",
                source=source,
                paper=said,
                ours=f"{mostly} ({stood.count(AHEAD)} ahead, {stood.count(BEHIND)} behind)",
                verdict=judge(said, mostly, weak=weaker(found)),
                why=_why(table, said, mostly, weak=weaker(found)),
            )
        )
    if part == "b":
        claims += _stood(table, found, 20, "diverse", "four", "SVM", BEHIND, source=source)
    return Section(
        title=f"Table IX{part}: Adult, {'lower' if part == 'a' else 'higher'} protection, models after each anonymizer",
        text=(
            f"{sizes(found)}. {table.words(method)} beside {_both(table, rivals)}, at every k: {_TEST}. "
            "The numbers are not at hand; the text says in which models the others are ahead in most scenarios, "
            "for both parts together."
        ),
        claims=tuple(claims),
        figures=(_f1(table, found, (*rivals, method)), _standings(table, found, method, rivals)),
    )


def table_10(table: Table, found: dict[str, Any]) -> Section:
    """Table X on the stand-in: how many cells are apart, and on which side MO-OBAM is."""
    rivals = LOWER
    stood = [
        standing(found, k, rival=rival, method="many", model=model)
        for k in table.ks
        for rival in rivals
        for model in MODELS
    ]
    known = [one for one in stood if one is not None]
    why = (
        f"{OTHER_DATA} The label is the sensitive attribute here, so k-member, which forms classes with its help, "
        "betrays it to models (see the guide)."
    )
    counts = (
        ("cells that the test tells apart", "8", len(known) - known.count(LEVEL)),
        ("cells with MO-OBAM behind", "3", known.count(AHEAD)),
        ("cells with MO-OBAM ahead", "5", known.count(BEHIND)),
    )
    return Section(
        title=f"Table X: {table.source.name}, models after each anonymizer",
        text=f"{sizes(found)}. {table.words('many')} beside {_both(table, rivals)}: {_TEST}.",
        claims=tuple(
            Claim(
                what=what,
                source="Table X, text",
                paper=paper,
                ours=f"{ours} of {len(known)}",
                verdict=Verdict.NOT_COMPARABLE,
                why=why,
            )
            for what, paper, ours in counts
        ),
        figures=(_f1(table, found, (*rivals, "many")), _standings(table, found, "many", rivals)),
    )


def _stood(
    table: Table, found: dict[str, Any], k: int, rival: str, method: str, model: str, said: str, *, source: str
) -> list[Claim]:
    """One cell that the text names; none where it was not trained."""
    ours = standing(found, k, rival=rival, method=method, model=model) if k in table.ks else None
    if ours is None:
        return []
    told = of(found, k)["f1"]
    gap = told[rival][MODELS[model]] - told[method][MODELS[model]]
    who = "k-anonymity" if rival == "mdav" else f"our k-member for Zheng et al. ({table.words(rival)})"
    return [
        Claim(
            what=f"k = {k}: {who} beside {table.words(method)}, {model}",
            source=source,
            paper=said,
            ours=f"{ours} ({gap:+.4f})".replace("-", "−"),
            verdict=judge(said, ours, weak=weaker(found)),
            why=_why(table, said, ours, weak=weaker(found)),
        )
    ]


def _both(table: Table, rivals: dict[str, str]) -> str:
    return " and ".join(table.words(one) for one in rivals)


def judge(said: str, ours: str, *, weak: bool) -> Verdict:
    """A rival that is less ahead than in the paper is better for MO-OBAM, one that is more ahead different."""
    order = (AHEAD, LEVEL, BEHIND)
    if said == ours:
        return Verdict.SAME
    if weak and ours == LEVEL:
        return Verdict.NOT_COMPARABLE
    return Verdict.BETTER if order.index(ours) > order.index(said) else Verdict.DIFFERENT


def _why(table: Table, said: str, ours: str, *, weak: bool) -> str:
    if said == ours:
        return ""
    return fewer_splits(table) if weak and ours == LEVEL else "Other models (scaled, one-hot) and other partitions."


def _f1(table: Table, found: dict[str, Any], methods: Sequence[str]) -> TableFigure:
    original = of(found, table.ks[0])["f1"][ORIGINAL]
    order = [(name, model) for name, model in MODELS.items() if model in original]
    rows: list[tuple[Any, ...]] = [("original", "", *(round(original[model], 4) for _, model in order))]
    for k in table.ks:
        for method in methods:
            told = of(found, k)["f1"][method]
            rows.append((table.words(method), k, *(round(told[model], 4) for _, model in order)))
    return TableFigure(
        title=f"Our mean F1 on {table.source.name}",
        columns=("table", "k", *(name for name, _ in order)),
        rows=tuple(rows),
    )


def _standings(table: Table, found: dict[str, Any], method: str, rivals: dict[str, str]) -> TableFigure:
    signs = {AHEAD: "+", BEHIND: "−", LEVEL: "·", None: ""}
    return TableFigure(
        title=f"Where the others stand beside {table.words(method)}",
        columns=("anonymizer", "k", *MODELS),
        rows=tuple(
            (
                table.words(rival),
                k,
                *(signs[standing(found, k, rival=rival, method=method, model=model)] for model in MODELS),
            )
            for rival in rivals
            for k in table.ks
        ),
        caption="+ ahead, − behind, · not apart.",
    )
