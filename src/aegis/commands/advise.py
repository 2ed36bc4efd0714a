"""``aegis advise``: which configuration keeps most of what the table says about its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import (
    ROLES,
    Goal,
    LabelBins,
    PathLike,
    Person,
    PolicyLike,
    Proposing,
    Report,
    Seed,
    SummaryLike,
    TableLike,
    WithLedger,
    WithRoles,
    Working,
    replacing,
)
from aegis.errors import OptionError
from aegis.operation import Argument, Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.ranking.ranking import Ranking

REFERENCES = (
    "auto",
    "exact",
    "pooled",
    "per-configuration",
    "sampling",
    *(f"nearest-{norm}{whole}" for whole in ("", "-integer") for norm in ("l1", "l2", "linf")),
)
ROUNDINGS = ("randomised", "systematic", "none")
PAPER_CASES = ("I", "II", "draft-1", "draft-2", "draft-3")
PAPER_MEASURES = ("g3", "mutual-information", "chi-square")
_MOST_REJECTED = 8
"""So many candidates that were not ranked are shown, each with the reason."""


@dataclass(frozen=True)
class Advise(Proposing, WithRoles, WithLedger, Working):
    """Rank masking configurations by what models trained on them reach, the most useful first.

    Three small models judge every candidate on a sample of the rows; --fast, --measure and --paper rank from counts.
    """

    data: Annotated[TableLike | SummaryLike, Argument("A table (file or URL), or a summary folder.")]
    _: KW_ONLY
    label: Annotated[
        str | None,
        Option(
            "The column to be predicted, or several separated by commas; without one each column in turn.",
            section=ROLES,
        ),
    ] = None
    label_bins: LabelBins = None
    goal: Goal = None
    rows: Annotated[int, Option("The most rows that models are trained and tested on.", minimum=30)] = 20_000
    fast: Annotated[bool, Option("Rank from counts alone, without training a model.")] = False
    measure: Annotated[str | None, Option("Rank by this measure, from counts alone; see aegis measures.")] = None
    reference: Annotated[str, Option("What losses are compared with.", choices=REFERENCES, only_with="measure")] = (
        "auto"
    )
    rounding: Annotated[
        str, Option("How a per-configuration reconstruction becomes whole counts.", choices=ROUNDINGS)
    ] = "randomised"
    paper: Annotated[
        str | None,
        Option(
            "Rank as Algorithm 1 of the Aegis paper does, in this case of it; by g3, or a --measure of the paper's.",
            choices=PAPER_CASES,
        ),
    ] = None
    tables: Annotated[
        Sequence[PathLike], Option("An anonymized table to rank beside the configurations.", repeat=True)
    ] = ()
    candidates: Annotated[
        Sequence[str],
        Option("Kinds of candidates to make: masks, search, clusters, boxes, sanitized, synthetic; comma separated."),
    ] = ("masks",)
    seconds: Annotated[
        float | None, Option("Time limit of a search for candidates in seconds (search, sanitized).", above=0)
    ] = None
    ways: Annotated[
        bool,
        Option("Of several ways to cut boxes the one that models do best with; if not, the usual one.", terminal=False),
    ] = True
    policy: Annotated[PolicyLike | None, Option("Keep only configurations that satisfy this policy.")] = None
    person: Person = None
    seed: Seed = 0
    top: Annotated[int, Option("How many rows the table shows.", minimum=1)] = 20
    report: Report = None
    save: Annotated[
        PathLike | None,
        Option(
            "Write the best configuration of masks to this YAML or JSON file.", writes="best configuration of masks"
        ),
    ] = None
    overwrite: Annotated[bool, replacing("report", "save")] = False

    def __post_init__(self) -> None:
        if self.paper is not None:
            self.refuse(
                "reference", "rounding", because="--paper fixes what losses are compared with and how that is rounded"
            )
            self.refuse("fast", because="the paper's algorithm ranks from counts alone anyhow")
            if self.measure is not None and self.measure not in PAPER_MEASURES:
                raise OptionError(
                    f"the paper's algorithm ranks by {', '.join(PAPER_MEASURES[:-1])} or {PAPER_MEASURES[-1]}; give "
                    "one of them with --measure, or leave --paper out"
                )
        super().__post_init__()
        object.__setattr__(self, "candidates", tuple(dict.fromkeys(self.candidates)))  # named twice is named
        if self.reference not in ("per-configuration",):
            self.refuse("rounding", because="only the per-configuration reference is rounded")
        if self.fast and self.measure is not None:
            self.refuse("fast", because="a measure ranks from counts alone anyhow")
        if self.from_counts:
            self.refuse("goal", "rows", because="counts alone rank without models, and it is for models")
            self.refuse("tables", because="a finished table is judged by models, and counts alone cannot compare it")
            self.refuse("candidates", because="what is no configuration is judged by models, not from counts alone")
        if not {"search", "sanitized"} & set(self.candidates):
            self.refuse("seconds", because="no search is made: --candidates names neither search nor sanitized")
        if "boxes" not in self.candidates:
            self.refuse("ways", because="no boxes are cut: --candidates does not name them")
        if self.policy is None:
            self.refuse("ledger", "recipient", "person", because="without a policy nothing is judged")

    @property
    def from_counts(self) -> bool:
        """Whether counts alone rank, and no model is trained."""
        return self.fast or self.measure is not None or self.paper is not None

    @property
    def made_kinds(self) -> tuple[str, ...]:
        """The kinds that are made on the spot."""
        return tuple(kind for kind in self.candidates if kind != "masks")

    @property
    def has_others(self) -> bool:
        """Whether there are candidates that are no configurations of masks."""
        return bool(self.tables or self.made_kinds)


@command("advise", Advise, run="aegis.library.advise:advise", group=CHOOSE, working="counting")
def show(ranking: Ranking, options: Advise) -> None:
    """The ranking as a table, with what was left out and the next step."""
    show_ranking(ranking, top=options.top)
    if options.report is None and options.save is None and not options.tables:
        terminal.next_step(
            "add --report OUT.html for intervals, heat map and distributions, --save BEST.yaml to keep the best"
        )


def show_ranking(ranking: Ranking, *, top: int) -> None:
    """The ranking as a table, with the reasons for each, and what is worth knowing beside it."""
    console = terminal.out()
    title, columns, rows = _by_models(ranking, top) if ranking.race else _by_measure(ranking, top)
    terminal.show_table(title, columns, rows)
    if len(ranking.ranking) > top:
        console.print(f"… and {len(ranking.ranking) - top} more", style="dim")
    if ranking.race is not None and not ranking.race.label_told:
        console.print("Nobody can say which is the best: models of the unmasked table are no better than guessing.")
    elif ranking.race is not None and ranking.best_group:
        group = [place.configuration for place in ranking.best_group]
        sure = f"with {ranking.race.probability:.0%} probability"
        if len(group) == 1:
            console.print(f"{group[0]} is the best {sure}.")
        else:
            more = f" and {len(group) - 8} more" if len(group) > 8 else ""
            console.print(f"One of these {len(group)} is the best {sure}: {', '.join(group[:8])}{more}.")
    elif alike := sum(place.like_best for place in ranking.ranking[1:]):
        console.print(f"{count(alike, 'configuration')} cannot be told apart from the best on these rows.")
    for name, reason in list(ranking.rejected.items())[:_MOST_REJECTED]:
        terminal.aside(f"not ranked: {name} ({reason})")
    if len(ranking.rejected) > _MOST_REJECTED:
        terminal.aside(f"not ranked: {len(ranking.rejected) - _MOST_REJECTED} more; --json says why of each")
    for note in ranking.notes:
        terminal.aside(f"note: {note}")
    for column, reason in ranking.skipped.items():
        terminal.aside(f"left out: {column} ({reason})")


Table = tuple[str, list[terminal.Column], list[list[str]]]


def _by_models(ranking: Ranking, top: int) -> Table:
    race = ranking.race
    assert race is not None
    rows = [
        [
            str(place.rank),
            place.configuration + (" ≈ best" if place.like_best and place.rank > 1 and race.label_told else ""),
            f"{race.shown(place.performance or 0.0)} ± {race.shown_width(place)}",
            place.kept_shown,
            "–" if place.privacy is None else f"{place.privacy.smallest_class:,}",
            place.reasons[-1] if place.reasons else "",
        ]
        for place in ranking.ranking[:top]
    ]
    title = (
        f"{ranking.label} · {race.title} · unmasked {race.shown(race.unmasked.performance)}, guessing "
        f"{race.shown(race.guessing)} · {count(ranking.rows, 'row')}"
    )
    judged = any(place.privacy for place in ranking.ranking)
    columns = ["rank", "candidate", *terminal.numbers(race.title, "kept")]
    if not judged:
        rows = [[*row[:4], *row[5:]] for row in rows]
    return title, [*columns, *(terminal.numbers("smallest class") if judged else []), "why"], rows


def _by_measure(ranking: Ranking, top: int) -> Table:
    rows = [
        [
            str(place.rank),
            place.configuration + (" ≈ best" if place.like_best and place.rank > 1 else ""),
            "–" if place.retained is None else f"{min(place.retained, 1.0):.1%}",
            "–" if place.deviation is None else f"{place.deviation:.5f}",
            f"± {place.half_width:.5f}",
            place.reasons[-1] if place.reasons else "",
        ]
        for place in ranking.ranking[:top]
    ]
    title = (
        f"{ranking.label} · {ranking.measure} ({ranking.unit}) · reference {ranking.reference} · "
        f"{count(ranking.rows, 'row')}"
    )
    return title, ["rank", "configuration", *terminal.numbers("kept", "deviation"), "95 %", "why"], rows
