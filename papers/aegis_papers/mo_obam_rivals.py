"""Tables VIII to X of the MO-OBAM paper: models after MO-OBAM beside models after the other two anonymizers."""

from __future__ import annotations

from typing import Any

from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_models import OTHER_DATA, RECIPE, f1_claims, ours_sizes, sizes
from aegis_papers.mo_obam_paper import MODELS
from aegis_papers.mo_obam_recipe import ORIGINAL
from aegis_papers.mo_obam_scores import AHEAD, BEHIND, LEVEL_WITH, Scores
from aegis_papers.mo_obam_tables import NOT_ZHENG
from aegis_papers.mo_obam_training import of
from aegis_papers.reproduction import Claim, Section, TableFigure, Verdict

_TEST = "p < 0.05 by Mann–Whitney U, uncorrected as in the paper; the same splits for every table"


def table_8a(table: Table, scores: Scores, trained: dict[str, Any]) -> Section:
    """Table VIIIa: the scores after k-anonymity as printed, those after Zheng et al., and what the text says of LR."""
    printed = table.source.printed
    assert printed is not None
    claims: list[Claim] = []
    for k in table.ks:
        claims += f1_claims(
            table, f"k-anonymity, k = {k}", "Table VIIIa", printed.f1_mdav[k], scores, trained, "mdav", k
        )
    for k in table.ks:
        claims += [
            _not_zheng(f"Zheng et al., k = {k}, l = 2: mean F1 of {model}", "Table VIIIa", score, trained, k, model)
            for model, score in zip(MODELS, printed.f1_zheng[k], strict=True)
        ]
    for k in (10, 15):
        claims += _stood(table, scores, k, "many", "LR", AHEAD, source="Table VIIIa, text")
        claims.append(_text_of_zheng(k, "many", "LR", LEVEL_WITH, source="Table VIIIa, text"))
    return Section(
        title="Table VIIIa: German credit, lower protection, models after each anonymizer",
        text=(
            f"{RECIPE} Splits: {sizes(scores)}. The rows of MO-OBAM are those of Table VIIa. Of a difference the same "
            f"is the same side, or none: {_TEST}. Which cells are highlighted is known from the text only, for LR at "
            "k = 10 and 15."
        ),
        claims=tuple(claims),
        figures=(_standings(table, scores, "many"),),
    )


def table_8b(table: Table, scores: Scores) -> Section:
    """Table VIIIb, of which the text tells four cells."""
    source = "Table VIIIb, text"
    claims = [
        *_stood(table, scores, 20, "four", "LR", AHEAD, source=source),
        _text_of_zheng(20, "four", "LR", LEVEL_WITH, source=source),
        _text_of_zheng(10, "four", "NB", AHEAD, source="Table VIII, text"),
        _text_of_zheng(20, "four", "NB", AHEAD, source="Table VIII, text"),
    ]
    return Section(
        title="Table VIIIb: German credit, higher protection, models after each anonymizer",
        text=(
            f"Splits: {sizes(scores)}. Four drawn centroids, λ = 1, beside k-anonymity: {_TEST}. The numbers are not "
            "at hand. The text finds Zheng et al. ahead in NB at k = 10 and 20 and does not say in which part of Table "
            "VIII: the means printed in part (a) differ by .0004 at k = 20, so it is taken for (b)."
        ),
        claims=tuple(claims),
        figures=(_standings(table, scores, "four"),),
    )


def table_9(table: Table, scores: Scores, *, part: str) -> Section:
    """Table IXa or b: in which models k-anonymity is ahead in most cells, in which it is not."""
    method = "many" if part == "a" else "four"
    claims = []
    for model in MODELS:
        stood = [scores.standing(("mdav", k), (method, k), model) for k in table.ks]
        printed = AHEAD if model in ("DT", "LR", "RF") else LEVEL_WITH
        standings = [standing for standing in stood if standing is not None]
        mostly = next(
            (standing for standing in (AHEAD, BEHIND) if standings.count(standing) > len(standings) / 2), LEVEL_WITH
        )
        claims.append(
            Claim(
                what=f"{model}: where k-anonymity stands beside MO-OBAM in most of {len(stood)} cells",
                source="Table IX, text",
                printed=printed,
                as_printed=f"{mostly} ({standings.count(AHEAD)} ahead, {standings.count(BEHIND)} behind)"
                if standings
                else None,
                verdict=Verdict.of(mostly == printed if standings else None),
                why=_tested(table, scores, method, model)
                if standings
                else "Not trained by the recipe after k-anonymity.",
            )
        )
    if part == "b":
        claims.append(_text_of_zheng(20, "four", "SVM", BEHIND, source="Table IX, text"))
    return Section(
        title=f"Table IX{part}: Adult, {'lower' if part == 'a' else 'higher'} protection, models after each anonymizer",
        text=(
            f"Splits: {sizes(scores)}; all 45,222 records. MO-OBAM beside k-anonymity, at every k: {_TEST}. The "
            "numbers are not at hand; the text says in which models the others are ahead in most scenarios, for both "
            "others and both parts together."
        ),
        claims=tuple(claims),
        figures=(_standings(table, scores, method),),
    )


def _tested(table: Table, scores: Scores, method: str, model: str) -> str:
    """With how many splits, and the p-value at every k."""
    shown = ", ".join(f"{scores.p(('mdav', k), (method, k), model):.2g}" for k in table.ks)
    first, rival = scores.of(method, table.ks[0], model), scores.of("mdav", table.ks[0], model)
    assert first is not None
    assert rival is not None
    return (
        f"p by the recipe at the four k: {shown}; {len(first)} splits of MO-OBAM, {len(rival)} of k-anonymity, where "
        "the paper has a hundred of each."
    )


def table_10(table: Table, trained: dict[str, Any]) -> Section:
    """Table X on the stand-in: how many cells are apart, and on which side MO-OBAM is."""
    stood = [_ours_standing(trained, k, "k-member", "many", model) for k in table.ks for model in MODELS]
    standings = [standing for standing in stood if standing is not None]
    why = (
        f"{OTHER_DATA} The label is the sensitive attribute here, so k-member, which forms classes with its help, "
        "betrays it to models (see the guide)."
    )
    counts = (
        ("cells that the test tells apart", "8", len(standings) - standings.count(LEVEL_WITH)),
        ("cells with MO-OBAM behind", "3", standings.count(AHEAD)),
        ("cells with MO-OBAM ahead", "5", standings.count(BEHIND)),
    )
    return Section(
        title=f"Table X: {table.source.name}, models after each anonymizer",
        text=f"{ours_sizes(trained)}. {table.words('many')} beside {table.words('k-member')}: {_TEST}.",
        claims=tuple(
            Claim(
                what=what,
                source="Table X, text",
                printed=paper,
                ours=f"{ours} of {len(standings)}",
                why=why,
            )
            for what, paper, ours in counts
        ),
    )


def _ours_standing(trained: dict[str, Any], k: int, rival: str, method: str, model: str) -> str | None:
    """Where a rival stands beside MO-OBAM among the product's tables; None for a model that was not trained."""
    for entry in of(trained, k)["between"]:
        if {entry["first"], entry["second"]} == {rival, method} and entry["model"] == MODELS[model]:
            if entry["p"] >= 0.05:
                return LEVEL_WITH
            return AHEAD if (entry["difference"] > 0) == (entry["first"] == rival) else BEHIND
    return None


def _stood(
    table: Table, scores: Scores, k: int, method: str, model: str, statement: str, *, source: str
) -> list[Claim]:
    """One cell of k-anonymity that the text names; none where k is not among those of the run."""
    if k not in table.ks:
        return []
    stood = scores.standing(("mdav", k), (method, k), model)
    rival, mine = scores.mean("mdav", k, model), scores.mean(method, k, model)
    gap = "" if rival is None or mine is None else f" ({rival - mine:+.4f})".replace("-", "−")
    p = scores.p(("mdav", k), (method, k), model)
    return [
        Claim(
            what=f"k = {k}: k-anonymity beside MO-OBAM ({method} classes), {model}",
            source=source,
            printed=statement,
            as_printed=None if stood is None else f"{stood}{gap}",
            verdict=Verdict.of(None if stood is None else stood == statement),
            why="" if p is None or stood == statement else f"p = {p:.2g} by the recipe.",
        )
    ]


def _not_zheng(what: str, source: str, score: float, trained: dict[str, Any], k: int, model: str) -> Claim:
    f1 = of(trained, k)["f1"].get("k-member", {}).get(MODELS[model])
    return Claim(
        what=f"{what} (ours: our own k-member)",
        source=source,
        printed=score,
        ours=None if f1 is None else round(f1, 4),
        why=NOT_ZHENG,
    )


def _text_of_zheng(k: int, method: str, model: str, statement: str, *, source: str) -> Claim:
    return Claim(
        what=f"k = {k}: Zheng et al. beside MO-OBAM ({method} classes), {model}",
        source=source,
        printed=statement,
        why=NOT_ZHENG,
    )


def _standings(table: Table, scores: Scores, method: str) -> TableFigure:
    signs = {AHEAD: "+", BEHIND: "−", LEVEL_WITH: "·", None: ""}
    rows: list[tuple[Any, ...]] = [
        (f"k-anonymity, k = {k}", *(signs[scores.standing(("mdav", k), (method, k), model)] for model in MODELS))
        for k in table.ks
    ]
    rows += [
        (f"original, k = {k}", *(signs[scores.standing((ORIGINAL, 0), (method, k), model)] for model in MODELS))
        for k in table.ks
    ]
    return TableFigure(
        title=f"By the recipe: where others stand beside MO-OBAM, {method} classes",
        columns=("table", *MODELS),
        rows=tuple(rows),
        caption="+ ahead, − behind, · not apart, empty not trained.",
    )
