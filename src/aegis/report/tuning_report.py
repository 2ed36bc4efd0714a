"""Which classes, trade-off and k, as a page: recommendation, heat maps, front, search beside grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.operation import word
from aegis.report.charts.curves import Point, scatter
from aegis.report.charts.heat_map import heat_map
from aegis.report.figures import count, figure, percent, seconds
from aegis.report.page import Entry, Fact, entry, picture, render_page

if TYPE_CHECKING:
    from aegis.candidates.clusters.outcome import Anonymized
    from aegis.candidates.clusters.tuning import Trial
    from aegis.evaluation.grid_tuning import GridTuning

LINKAGE_THRESHOLD = 0.05  # the strictest of the paper's, and the one its figure shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Maps:
    """The heat maps of one k."""

    k: int
    charts: tuple[tuple[str, Any], ...]
    first: bool


def render_tuning(tuning: GridTuning, *, source: str, data: str, quasi: Sequence[str], sensitive: Sequence[str]) -> str:
    """The page for a tuning, as one self-contained HTML document; ``data`` is what its command names."""
    best = tuning.recommended
    secrets = bool(sensitive)
    return render_page(
        "tuning.html",
        title=f"Tuning MO-OBAM · {source} · Aegis",
        source=source,
        headline=f"{count(best.setting.classes, 'class', 'classes')}, λ {best.setting.trade_off:g}, k {best.setting.k}",
        advice=tuning.advice,
        interrupted=tuning.interrupted,
        facts=_facts(tuning),
        by_k=list(tuning.by_k.values()),
        by_grid=[trial.setting for trial in tuning.grid],
        recommended=best.setting,
        maps=[
            Maps(k=k, charts=_maps(tuning, k, secrets=secrets), first=place == 0) for place, k in enumerate(_ks(tuning))
        ],
        front_chart=picture(_front(tuning)) if secrets else None,
        front=list(tuning.front),
        search_text=_search_text(tuning),
        search=[trial for trial in tuning.search if trial.result is not None],
        refused=_refused(tuning),
        threshold=LINKAGE_THRESHOLD,
        command=_command(data, best, quasi, sensitive, diversity=tuning.l),
        ledger=_ledger(tuning, quasi, sensitive),
    )


def _ks(tuning: GridTuning) -> list[int]:
    tried = {trial.setting.k for trial in tuning.grid}
    return [k for k in tuning.ks if k in tried]


def _facts(tuning: GridTuning) -> list[Fact]:
    best, before = tuning.recommended.known, tuning.before
    return [
        Fact(term="information loss", value=figure(best.information_loss, 3)),
        Fact(term="smallest class", value=f"{best.smallest_class:,}", unit=f"was {before.smallest_class:,}"),
        Fact(
            term=f"at linkage risk above {LINKAGE_THRESHOLD:g}",
            value=f"{best.after.linkage[LINKAGE_THRESHOLD]:,}",
            unit=f"was {before.linkage[LINKAGE_THRESHOLD]:,}",
        ),
        Fact(term="with a certain secret", value=f"{best.after.homogeneity:,}", unit=f"was {before.homogeneity:,}"),
        Fact(term="settings tried", value=f"{len(tuning.grid) + len(tuning.search):,}"),
    ]


def _maps(tuning: GridTuning, k: int, *, secrets: bool) -> tuple[tuple[str, Any], ...]:
    figures: list[tuple[str, str, Callable[[Anonymized], float]]] = [
        ("Information loss", "information loss", lambda result: result.information_loss),
        (
            f"People at linkage risk above {LINKAGE_THRESHOLD:g}",
            "people",
            lambda result: float(result.after.linkage[LINKAGE_THRESHOLD]),
        ),
    ]
    if secrets:
        figures.append(
            ("People with a certain secret (homogeneity)", "people", lambda result: float(result.after.homogeneity))
        )
    return tuple((title, picture(_map(tuning, k, title, legend, of))) for title, legend, of in figures)


def _map(tuning: GridTuning, k: int, title: str, legend: str, of: Callable[[Anonymized], float]) -> str:
    offs = sorted(tuning.trade_offs, reverse=True)  # as in the paper: 1 on top
    values: list[list[float | None]] = []
    tips = []
    for off in offs:
        trials = [tuning.cell(classes=c, trade_off=off, k=k) for c in tuning.classes]
        values.append([None if trial is None or trial.result is None else of(trial.result) for trial in trials])
        tips.append([_tip(c, off, trial, of, legend) for c, trial in zip(tuning.classes, trials, strict=True)])
    return heat_map(
        values,
        rows=[f"λ = {off:g}" for off in offs],
        columns=[f"{c:,}" for c in tuning.classes],
        title=f"{title} by number of classes and λ, k = {k}",
        legend=legend,  # short: the picture is narrow where few numbers of classes were tried
        tips=tips,
    )


def _tip(classes: int, off: float, trial: Trial | None, of: Callable[[Anonymized], float], legend: str) -> str:
    at = f"{classes} classes, λ {off:g}"
    if trial is None:
        return f"{at}: not tried"
    return f"{at}: refused" if trial.result is None else f"{at}: {figure(of(trial.result), 3)} {legend}"


def _front(tuning: GridTuning) -> str:
    trials = [trial for trial in (*tuning.grid, *tuning.search) if trial.result is not None]
    points = [
        Point(
            label=f"{trial.setting.classes} classes, λ {trial.setting.trade_off:g}, k {trial.setting.k}",
            x=trial.known.information_loss,
            y=trial.known.entropy_sum_of_minima_bits,
            chosen=trial.setting == tuning.recommended.setting,
        )
        for trial in {trial.setting: trial for trial in trials}.values()
    ]
    return scatter(
        points,
        title="Information loss against the entropy of the worst classes",
        x_axis="information loss (left: less)",
        y_axis="entropy in bits",
        more_x_is_better=False,
        more_y_is_better=True,
    )


def _search_text(tuning: GridTuning) -> str:
    searched = [trial for trial in tuning.search if trial.result is not None]
    if not searched:
        return ""
    safe = [trial for trial in searched if trial.known.after.homogeneity == 0]
    sentence = (
        f"The grid stops at {percent(max(tuning.classes) / tuning.unique_tuples)} of the unique tuples. The search "
        "halves the whole range for each k, to the most classes that leave nobody's sensitive value certain, and "
        "tries every λ there."
    )
    grid = [trial for trial in tuning.grid if trial.result is not None and trial.known.after.homogeneity == 0]
    if safe and grid:
        ours = min(trial.known.information_loss for trial in safe)
        theirs = min(trial.known.information_loss for trial in grid)
        sentence += (
            f" Among settings without a certain secret it reaches a loss of {figure(ours, 3)}, the grid "
            f"{figure(theirs, 3)}."
        )
    return sentence


def _refused(tuning: GridTuning) -> str:
    refused = [trial for trial in tuning.grid if trial.result is None]
    parts = []
    if tuning.left_out:
        parts.append(f"{count(tuning.left_out, 'combination')} would need more records than there are (k ≤ n / n_C).")
    if refused:
        parts.append(f"{count(len(refused), 'setting was', 'settings were')} refused; the first: {refused[0].refusal}.")
    return " ".join(parts)


def _command(data: str, best: Trial, quasi: Sequence[str], sensitive: Sequence[str], *, diversity: int) -> str:
    setting = best.setting
    secrets = f" --sensitive {word(','.join(sensitive))} --trade-off {setting.trade_off:g}" if sensitive else ""
    diverse = f" --l {diversity}" if diversity > 1 else ""
    return (
        f"aegis anonymize {word(data)} --quasi {word(','.join(quasi))}{secrets} --k {setting.k} "
        f"--classes {setting.classes}{diverse} --out OUT.csv"
    )


def _ledger(tuning: GridTuning, quasi: Sequence[str], sensitive: Sequence[str]) -> list[Entry]:
    share = max(tuning.classes) / tuning.unique_tuples
    return [
        entry("records", f"{tuning.rows:,}, with {tuning.unique_tuples:,} unique tuples of {', '.join(quasi)}"),
        entry("sensitive", ", ".join(sensitive) or "none"),
        entry("k", ", ".join(str(k) for k in tuning.ks)),
        entry("classes", ", ".join(f"{c:,}" for c in tuning.classes), f"at most {percent(share)} of the unique tuples"),
        entry(
            "λ",
            ", ".join(f"{off:g}" for off in tuning.trade_offs),
            "where every sensitive attribute is binary the paper's rule prefers the higher ones",
        ),
        entry("l", str(tuning.l)),
        entry("time", f"{seconds(tuning.seconds_each)} for each setting, {seconds(tuning.seconds)} for all together"),
        entry(
            "words",
            "Information loss is on the raw scale. Entropy is that of the worst class, added up over sensitive "
            "attributes. k holds in every cell: it is a constraint here, not a penalty.",
        ),
    ]
