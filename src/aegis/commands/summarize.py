"""``aegis summarize``: counts for a publisher, instead of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import (
    LEDGER_OPTIONS,
    Data,
    Goal,
    Label,
    LabelBins,
    PathLike,
    PolicyLike,
    Proposing,
    Seed,
    WithBudget,
    WithRoles,
    Working,
    replacing,
)
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.counts.collect import Limits
    from aegis.counts.summary import Summary
else:
    Limits = object

DECIDED = ("label", "configs", "generate", "level", "ranges", "opaque", "label_bins", "policy", "min_count", "epsilon")
"""What a summary that is added to has decided already."""


@dataclass(frozen=True)
class Summarize(Proposing, WithRoles, WithBudget, Working):
    """Count the table once and write a summary that can be ranked without the rows.

    With --append only new rows are counted, and added to a summary that is there already.
    """

    data: Data
    _: KW_ONLY
    out: Annotated[PathLike | None, Option("Folder to write.")] = None
    append: Annotated[PathLike | None, Option("Add the rows to this summary, counted as it was counted.")] = None
    part: Annotated[
        str | None, Option("What to call the rows that are added (default: the data's name).", only_with="append")
    ] = None
    label: Label = None
    label_bins: LabelBins = None
    level: Annotated[
        str | None,
        Option(
            "What the summary shows of unmasked columns (default: 2d, or none with --opaque).",
            choices=("2d", "1d", "none"),
        ),
    ] = None
    ranges: Annotated[int | None, Option("Show 1D histograms in this many ranges (level 1d).", minimum=1)] = None
    opaque: Annotated[bool, Option("Name the masks by numbers only, and show no values: level none.")] = False
    race: Annotated[bool, Option("Add what models reach on each configuration, measured on a sample of rows.")] = True
    goal: Goal = None
    score: Annotated[
        Sequence[str], Option("Add this score of whole configurations too; see aegis measures.", repeat=True)
    ] = ()
    policy: Annotated[PolicyLike | None, Option("Keep only configurations that satisfy this policy.")] = None
    min_count: Annotated[int | None, Option("Merge cells of fewer records than this.")] = None
    epsilon: Annotated[float | None, Option("Add differentially private noise, with this budget for all.")] = None
    seed: Seed = 0
    overwrite: Annotated[bool, replacing("out")] = False
    limits: Annotated[
        Limits | None, Option("Up to how many distinct values a column is counted exactly.", terminal=False)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is None:
            self.refuse(*LEDGER_OPTIONS, "despite_ledger", because="nothing is written, so nothing is released")
        if self.append is not None:
            self.refuse(
                *DECIDED,
                *LEDGER_OPTIONS,
                "despite_ledger",
                because="the summary that is added to decides what is counted",
            )
        if self.ranges is not None and self.level != "1d":
            self.refuse("ranges", because="ranges are for histograms of --level 1d")
        if self.opaque and self.level not in (None, "none"):
            self.refuse("level", because="an opaque summary shows nothing of unmasked columns: its level is none")
        if self.min_count is not None or self.epsilon is not None:
            self.refuse("score", "goal", because="scores are not covered by --min-count and --epsilon")
        if self.epsilon is not None:
            self.refuse(
                "policy",
                because="which configurations satisfy it is read off the true rows, and one row can decide that: the "
                "noise of --epsilon would not hide it; check the configuration that is chosen",
            )
        if not self.race:
            self.refuse("goal", because="without a race no model has a goal")


def as_json(summary: Summary, options: Summarize) -> dict[str, Any]:
    """What the folder now holds."""
    return description(summary, options.out or options.append)


def description(summary: Summary, folder: object) -> dict[str, Any]:
    """What a summary holds, without its counts."""
    return {
        "folder": str(folder),
        "level": summary.level.value,
        "rows": int(summary.rows),
        "label": summary.label,
        "attributes": list(summary.attributes),
        "configurations": [configuration.name for configuration in summary.configurations],
        "skipped": dict(summary.skipped),
        "protection": None if summary.protection is None else summary.protection.to_json(),
        "parts": list(summary.parts),
    }


@command(
    "summarize",
    Summarize,
    run="aegis.library.summarize:summarize",
    group=CHOOSE,
    working="counting",
    json=as_json,
    one_of=("out", "append"),
)
def show(summary: Summary, options: Summarize) -> None:
    """What the folder now holds, and what can be done with it."""
    show_summary(summary, options.out or options.append)
    if options.epsilon is not None and not options.has_ledger:
        terminal.warn(
            "judged alone: no ledger notes what this spent, so nobody adds it to what else leaves of the rows"
        )


def show_summary(summary: Summary, folder: object) -> None:
    """What a folder now holds, and what can be done with it."""
    terminal.talk().print(
        f"{folder}: level {summary.level.value}, {count(summary.rows, 'row')}, "
        f"{count(len(summary.attributes), 'attribute')}, "
        f"{count(len(summary.configurations), 'configuration')}",
        soft_wrap=True,
    )
    if summary.parts:
        terminal.aside(
            f"the sum of {count(len(summary.parts), 'part')}; scores of pairs of attributes cannot be added, so it "
            "is ranked by single attributes"
        )
    if summary.protection is not None:
        terminal.aside(summary.protection.describe())
    for column, reason in summary.skipped.items():
        terminal.aside(f"left out: {column} ({reason})")
    terminal.next_step(f"aegis advise {terminal.word(folder)}")
