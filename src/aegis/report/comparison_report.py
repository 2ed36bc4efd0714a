"""What anonymizing costs models, as a page: differences, scores, tests, feature importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aegis.report.charts.heat_map import heat_map
from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import count, figure, listed, percent, seconds
from aegis.report.page import Entry, Fact, entry, picture, render_page

if TYPE_CHECKING:
    from aegis.evaluation.comparison_result import Comparison, F1Difference

_OTHER_COLUMNS = 12  # drawn beside the quasi-identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """An anonymizer in the table of what it costs and protects."""

    method: str
    loss: str
    classes: str
    smallest: str
    linkage: tuple[str, ...]
    homogeneity: str
    seconds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCell:
    """The F1 score of a model on a table, with a mark where the test tells it apart from the original."""

    f1: str
    tip: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """One test in a table."""

    first: str
    second: str
    model: str
    difference: str
    low: str
    high: str
    p: str
    adjusted: str
    verdict: str


def render_comparison(
    comparison: Comparison,
    releases: Mapping[str, Mapping[str, Any]],
    *,
    source: str,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    notes: Sequence[str],
) -> str:
    """The page for a comparison of anonymizers, as one self-contained HTML document."""
    title, lead = _headline(comparison)
    return render_page(
        "comparison.html",
        title=f"Anonymizers compared · {source} · Aegis",
        source=source,
        label=comparison.label,
        headline=title,
        lead=lead,
        notes=notes,
        tested_on=comparison.tested_on,
        facts=_facts(comparison),
        thresholds=[f"{float(tau):g}" for tau in next(iter(releases.values()))["linkage"]],
        before=_release_row("original", next(iter(releases.values()))["before"]),
        releases=[_release_row(method, facts) for method, facts in releases.items()],
        differences_chart=picture(_differences_chart(comparison)),
        models=comparison.models,
        scores=[
            (table, [_cell(comparison, table, model) for model in comparison.models]) for table in comparison.tables
        ],
        against=[_difference_row(difference) for difference in comparison.against_original],
        between=[_difference_row(difference) for difference in comparison.between],
        importance=_importance(comparison),
        importance_text=_importance_text(comparison),
        ledger=_ledger(comparison, quasi, sensitive),
    )


def _headline(comparison: Comparison) -> tuple[str, str]:
    # both: the test is corrected for their number but takes splits for independent, the interval is the other way round
    worse = [
        difference
        for difference in comparison.against_original
        if difference.clear and difference.significant and difference.f1_difference < 0
    ]
    significant = [difference for difference in comparison.against_original if difference.significant]
    worst = min(comparison.against_original, key=lambda difference: difference.f1_difference)
    if not worse:
        title = "No model can be shown to lose"
        lead = (
            f"Over {comparison.splits} splits no anonymizer lowers the F1 score of any model by more than chance "
            f"explains. The largest drop is {figure(max(-worst.f1_difference, 0.0), 2)}, of {_spaced(worst.model)} "
            f"on {worst.first}."
        )
    else:
        hurt = sorted({difference.first for difference in worse})
        title = f"{listed(hurt)} {'costs' if len(hurt) == 1 else 'cost'} some models"
        lead = (
            f"The largest loss of F1 is {figure(-worst.f1_difference, 2)}, of {_spaced(worst.model)} on "
            f"{worst.first}; {len(worse)} of {len(comparison.against_original)} comparisons with the original "
            f"{'is a loss' if len(worse) == 1 else 'are losses'} beyond chance."
        )
    tests = count(len(significant), "test tells", "tests tell") if significant else "no test tells"
    better = (
        ", for the better" if significant and all(difference.f1_difference > 0 for difference in significant) else ""
    )
    lead = f"{lead} After correction {tests} a table apart from the original{better}."
    gains = sorted(
        {difference.first for difference in significant if difference.clear and difference.f1_difference > 0}
    )
    if gains and comparison.tested_on == "released":
        title = f"{listed(gains)} {'seems' if len(gains) == 1 else 'seem'} to tell more than the original"
        lead += (
            f" A clear gain, as on {listed(gains)}, deserves suspicion: classes that were formed with the help of "
            "sensitive values can carry the label into the published values of the records that are tested on. Test on "
            "original records to see."
        )
    return title, lead


def _facts(comparison: Comparison) -> list[Fact]:
    return [
        Fact(term="records", value=f"{comparison.rows:,}"),
        Fact(term="splits", value=f"{comparison.splits:,}"),
        Fact(term="records to train on", value=f"{comparison.training_rows:,}"),
        Fact(term="F1 of", value=comparison.positive or "all labels, averaged", is_name=True),
        Fact(term="balance", value=comparison.balance, is_name=True),
    ]


def _release_row(method: str, facts: Mapping[str, Any]) -> ReleaseRow:
    return ReleaseRow(
        method=method,
        loss=figure(facts["information_loss"], 3) if "information_loss" in facts else "0",
        classes=f"{facts['classes_seen']:,}",
        smallest=f"{facts['smallest_class']:,}",
        linkage=tuple(f"{people:,}" for people in facts["linkage"].values()),
        homogeneity=f"{facts['homogeneity']:,}",
        seconds=seconds(facts["seconds"]) if "seconds" in facts else "",
    )


def _differences_chart(comparison: Comparison) -> str:
    by_model = [
        difference
        for model in comparison.models
        for difference in comparison.against_original
        if difference.model == model
    ]
    rows = [
        IntervalRow(
            label=f"{_spaced(difference.model)} · {difference.first}",
            value=difference.f1_difference,
            low=difference.interval[0],
            high=difference.interval[1],
            note=_p(difference.p_adjusted),
            marked=difference.clear,
        )
        for difference in by_model
    ]
    return interval_plot(
        rows,
        title="F1 on the anonymized table minus F1 on the original",
        axis="difference of F1 (left: worse than the original)",
        note_heading="corrected p",
        guide=0.0,
    )


def _cell(comparison: Comparison, table: str, model: str) -> ScoreCell:
    score = comparison.score(table, model)
    tested = [
        difference
        for difference in comparison.against_original
        if (difference.first, difference.model) == (table, model)
    ]
    mark = (
        "" if not any(difference.significant for difference in tested) else "▼" if tested[0].f1_difference < 0 else "▲"
    )
    low, high = score.interval
    return ScoreCell(f1=f"{score.f1:.4f}", tip=f"95 % interval {figure(low, 3)} to {figure(high, 3)}", mark=mark)


def _difference_row(difference: F1Difference) -> DifferenceRow:
    return DifferenceRow(
        first=difference.first,
        second=difference.second,
        model=_spaced(difference.model),
        difference=_signed(difference.f1_difference),
        low=_signed(difference.interval[0]),
        high=_signed(difference.interval[1]),
        p=_p(difference.p_value),
        adjusted=_p(difference.p_adjusted),
        verdict="differ" if difference.significant else "",
    )


def _importance(comparison: Comparison) -> Any:
    if not comparison.importances:
        return None
    quasi = [importance for importance in comparison.importances if importance.quasi_identifying]
    others = [importance for importance in comparison.importances if not importance.quasi_identifying][:_OTHER_COLUMNS]
    drawn = quasi + others
    return picture(
        heat_map(
            [[importance.by_table[table] for table in comparison.tables] for importance in drawn],
            rows=[f"{importance.column}{' (quasi)' if importance.quasi_identifying else ''}" for importance in drawn],
            columns=list(comparison.tables),
            title="Share of a decision tree's gain that each column brings",
            legend="share of the gain",
            tips=[
                [
                    f"{importance.column}, {table}: {percent(importance.by_table[table])}, "
                    f"changed by {figure(importance.change(table), 2)}"
                    for table in comparison.tables
                ]
                for importance in drawn
            ],
            cool=True,
        )
    )


def _importance_text(comparison: Comparison) -> str:
    changes = [
        (abs(importance.change(table)), importance, table)
        for importance in comparison.importances
        if importance.quasi_identifying
        for table in comparison.tables[1:]
    ]
    caption = (
        "Which share of a decision tree's gain each column brings, on every table: the quasi-identifiers first, then "
        "the other columns by weight."
    )
    if not changes:
        return caption
    _, attribute, table = max(changes, key=lambda change: change[0])
    before, after = attribute.by_table[comparison.tables[0]], attribute.by_table[table]
    return (
        f"{caption} Among the quasi-identifiers {attribute.column} changes most: "
        f"from {percent(before)} to {percent(after)} "
        f"on {table}."
    )


def _ledger(comparison: Comparison, quasi: Sequence[str], sensitive: Sequence[str]) -> list[Entry]:
    balance = {
        "none": "none: the labels as they are",
        "weights": "weights: every label weighs the same in training",
        "matching": "propensity matching: each record of the rarer label with its nearest others",
    }
    return [
        entry("label", f"{comparison.label}, rarest value {percent(comparison.rare_share)} of the records"),
        entry("quasi-identifiers", ", ".join(quasi)),
        entry("sensitive", ", ".join(sensitive) or "none"),
        entry(
            "splits",
            f"{comparison.splits} stratified splits, the same for every table: {comparison.training_rows:,} "
            f"records to train on, {comparison.test_rows:,} to test on",
            "tested on the records as the table in question publishes them"
            if comparison.tested_on == "released"
            else "tested on the original records, whatever table was trained on",
        ),
        entry("balance", balance[comparison.balance]),
        entry("models", ", ".join(_spaced(model) for model in comparison.models), "none is tuned"),
        entry(
            "tests",
            "Mann–Whitney U, two-sided, on the scores of the splits, as in the paper; corrected by Holm's method "
            f"over the {len(comparison.against_original)} tests against the original and, apart from those, over "
            f"the {len(comparison.between)} between anonymizers.",
            "The test takes the splits for independent. They share rows, so its p-values come out too small; the "
            "intervals count the splits as pairs and allow for shared rows (Nadeau, Bengio).",
        ),
        entry("time", f"{seconds(comparison.cpu_seconds)} of one core for all trainings"),
    ]


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _spaced(model: str) -> str:
    return model.replace("-", " ")
