"""What attacks found, as a page: who is exposed, how often the attacker is right, and what each of them knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aegis.report.charts.interval_plot import IntervalRow, interval_plot
from aegis.report.figures import count, percent
from aegis.report.page import Fact, picture, render_page

if TYPE_CHECKING:
    from aegis.attacks.attack import AttackResult


def render_attacks(results: Sequence[AttackResult], *, releases: Sequence[str], people: int) -> str:
    """The page for the results of attacks, as one self-contained HTML document."""
    ran = [result for result in results if result.not_applicable is None]
    exceeded = [result.name for result in ran if result.exceeded]
    worst = max(ran, key=lambda result: result.exposed_share, default=None)
    exposing = worst is not None and worst.exposed_share > 0
    return render_page(
        "attacks.html",
        title="Attacks · Aegis",
        releases=releases,
        headline=f"{worst.name} exposes most" if worst is not None and exposing else "No attack exposes anybody",
        lead=_lead(worst) if exposing else "Nobody was claimed more often than without the releases.",
        facts=(
            Fact(term="people", value=f"{people:,}"),
            Fact(term="releases", value=str(len(releases))),
            Fact(term="attacks", value=str(len(ran))),
            Fact(term="limits exceeded", value=str(len(exceeded))),
        ),
        exposure=picture(_exposure(ran)) if ran else None,
        rightness=picture(_rightness([result for result in ran if result.singled_out])),
        any_claims=any(result.singled_out for result in ran),
        results=ran,
        skipped=[(result.name, result.not_applicable) for result in results if result.not_applicable is not None],
    )


def _lead(worst: AttackResult | None) -> str:
    assert worst is not None
    right = "an unknown number of claims are right" if worst.right is None else f"{worst.right:,} claims are right"
    return (
        f"Somebody who knows {worst.knows} makes claims about {count(worst.singled_out, 'person', 'people')} of "
        f"{worst.people:,}; {right}. Without the release {percent(worst.baseline)} of such claims would be."
    )


def _exposure(results: Sequence[AttackResult]) -> str:
    """The share of people exposed by each attack, with the limit beside it."""
    rows = [
        IntervalRow(
            label=result.name,
            value=100 * result.exposed_share,
            low=0.0,
            high=100 * result.exposed_share,
            note="no limit" if result.limit is None else f"at most {100 * result.limit:g} %",
            marked=result.exceeded,
        )
        for result in sorted(results, key=lambda result: -result.exposed_share)
    ]
    return interval_plot(rows, title="People exposed by each attack", axis="people exposed (%)", note_heading="limit")


def _rightness(results: Sequence[AttackResult]) -> str:
    """How often each attacker is right, against what he would be right without the release."""
    rows = [
        IntervalRow(
            label=result.name,
            value=100 * (result.right or 0) / result.singled_out,
            low=100 * result.interval[0],
            high=100 * result.interval[1],
            note=percent(result.baseline),
            marked=result.interval[0] > result.baseline,
        )
        for result in results
    ]
    return interval_plot(
        rows, title="How often claims are right", axis="claims that are right (%)", note_heading="without the release"
    )
