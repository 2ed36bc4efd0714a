"""``aegis advise``: which configuration keeps most of what the table says about its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import (
    Argument,
    Label,
    LabelBins,
    Option,
    Overwrite,
    PathLike,
    PolicyLike,
    Proposing,
    Report,
    Seed,
    SummaryLike,
    TableLike,
    WithRoles,
    Working,
)
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.ranking.ranking import Ranking, VerifiedConfiguration

REFERENCES = ("auto", "exact", "pooled", "per-configuration", "sampling")
ROUNDINGS = ("randomised", "systematic", "none")


@dataclass(frozen=True)
class Advise(Proposing, WithRoles, Working):
    """Rank masking configurations by how much of the label stays predictable, from counts alone."""

    data: Annotated[TableLike | SummaryLike, Argument("A table (file or URL), or a summary folder.")]
    _: KW_ONLY
    label: Label = None
    label_bins: LabelBins = None
    measure: Annotated[str | None, Option("How usefulness is measured; see aegis measures.")] = None
    reference: Annotated[str, Option("What losses are compared with.", choices=REFERENCES, only_with="measure")] = (
        "auto"
    )
    rounding: Annotated[
        str, Option("How a per-configuration reconstruction becomes whole counts.", choices=ROUNDINGS)
    ] = "randomised"
    verify: Annotated[
        int, Option("Train cheap models on a shortlist of so many and rank it by accuracy.", minimum=0)
    ] = 0
    jobs: Annotated[int, Option("Processes that train.", minimum=1, only_with="verify")] = 1
    tables: Annotated[
        Sequence[PathLike], Option("An anonymized table to rank beside the configurations.", repeat=True)
    ] = ()
    policy: Annotated[PolicyLike | None, Option("Keep only configurations that satisfy this policy.")] = None
    seed: Seed = 0
    top: Annotated[int, Option("How many rows the table shows.", minimum=1)] = 20
    report: Report = None
    save: Annotated[
        PathLike | None, Option("Write the best configuration to this YAML or JSON file.", writes="best configuration")
    ] = None
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reference not in ("per-configuration",):
            self.refuse("rounding", because="only the per-configuration reference is rounded")
        if self.tables:
            self.refuse(
                *("generate", "measure", "verify", "report", "save", "label_bins", "seed"),
                because="tables are ranked beside configurations by what their released tuples tell",
            )


@command("advise", Advise, run="aegis.library.advise:advise", group=CHOOSE, working="counting")
def show(ranking: Ranking, options: Advise) -> None:
    """The ranking as a table, with what was left out and the next step."""
    made = len(ranking.ranking) + len(ranking.rejected)
    if options.configs is None and made < options.generate:
        terminal.aside(
            f"note: these columns and masks allow {made} different configurations, fewer than {options.generate}"
        )
    show_ranking(ranking, top=options.top)
    if options.report is None and options.save is None and not options.tables:
        terminal.next_step(
            "add --report OUT.html for intervals, heat map and distributions, --save BEST.yaml to keep the best"
        )


def _kept(share: float | None) -> str:
    """A share for people: what exceeds the whole was gained, not kept."""
    if share is None:
        return "–"
    return "100 %+" if share > 1.0005 else f"{100 * share:.1f} %"


def _accuracy(tried: VerifiedConfiguration | None) -> str:
    """Of the models that were trained, with half the width of its interval, in percent."""
    if tried is None:
        return "not tried"
    return f"{100 * tried.accuracy:.1f} ± {50 * (tried.interval[1] - tried.interval[0]):.1f} %"


def show_ranking(ranking: Ranking, *, top: int) -> None:
    """The ranking as a table, with the reasons for the first."""
    rows = []
    tried = {verified.configuration: verified for verified in ranking.verified}
    for place in ranking.ranking[:top]:
        rows.append(
            [
                str(place.rank),
                place.configuration + (" ≈ best" if place.like_best and place.rank > 1 else ""),
                *([_accuracy(tried.get(place.configuration))] if tried else []),
                _kept(place.retained),
                "–" if place.deviation is None else f"{place.deviation:.5f}",
                f"± {(place.interval[1] - place.interval[0]) / 2:.5f}",
                place.reasons[-1] if place.reasons else "",
            ]
        )
    console = terminal.out()
    console.print(
        terminal.table(
            f"{ranking.label} · {ranking.measure} ({ranking.unit}) · reference {ranking.reference} · "
            f"{count(ranking.rows, 'row')}",
            [
                "rank",
                "configuration",
                *([("accuracy", "right")] if tried else []),
                ("kept", "right"),
                ("deviation", "right"),
                "95 %",
                "why",
            ],
            rows,
        )
    )
    if len(ranking.ranking) > top:
        console.print(f"… and {len(ranking.ranking) - top} more", style="dim")
    alike = sum(place.like_best for place in ranking.ranking[1:])
    if alike:
        those = "1 configuration" if alike == 1 else f"{alike} configurations"
        console.print(f"{those} cannot be told apart from the best on these rows.")
    if ranking.rejected:
        rejected = list(ranking.rejected)
        more = f" and {len(rejected) - 8} more" if len(rejected) > 8 else ""
        console.print(
            f"{count(len(rejected), 'configuration')} {'does' if len(rejected) == 1 else 'do'} not satisfy the policy: "
            f"{', '.join(rejected[:8])}{more}"
        )
    for note in ranking.notes:
        terminal.aside(f"note: {note}")
    for column, reason in ranking.skipped.items():
        terminal.aside(f"left out: {column} ({reason})")
