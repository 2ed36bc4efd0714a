"""``aegis start``: from a file to a release one would sign, one question at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import START, command
from aegis.commands.fields import Goal, Label, LabelBins, Overwrite, PathLike, PolicyLike, Seed, WithLedger, WithRoles
from aegis.operation import Argument, Option

if TYPE_CHECKING:
    from aegis.library.guided.started import Started

PURPOSE_NAMES = ("internal", "partner", "public")
COUNT_ROWS = "none"
"""The answer to ``--person`` that counts rows."""
MUST_HOLD = "Privacy policy"
MADE = "Candidates"


@dataclass(frozen=True)
class Start(WithRoles, WithLedger):
    """Go from a file to a certified release in six steps: columns, roles, policy, candidates, choice, release.

    Everything decided is kept in aegis.yaml beside the data at once: leave with Ctrl-C, go on with the same command.
    """

    data: Annotated[
        str | Path,
        Argument("A CSV, Parquet, Excel, JSON lines, Arrow or DuckDB file, a folder of Parquet, or a URL (…#table)."),
    ]
    _: KW_ONLY
    yes: Annotated[bool, Option("Take every suggestion without asking.", short="-y")] = False
    web: Annotated[bool, Option("Ask on a page in the browser, served to this machine only.")] = False
    label: Label = None
    label_bins: LabelBins = None
    goal: Goal = None
    purpose: Annotated[
        str | None,
        Option("Who gets the table: it decides what must hold.", choices=PURPOSE_NAMES, section=MUST_HOLD),
    ] = None
    k: Annotated[
        int | None,
        Option(
            "The fewest rows, or people, that look alike (default: as the purpose says).", section=MUST_HOLD, minimum=1
        ),
    ] = None
    person: Annotated[
        str | None,
        Option(
            "The column that says whose rows they are: people are counted (default: one that looks like it, if any); "
            "none to count rows.",
            section=MUST_HOLD,
        ),
    ] = None
    policy: Annotated[PolicyLike | None, Option("A policy of your own (YAML).", section=MUST_HOLD)] = None
    candidates: Annotated[
        Sequence[str], Option("Only these kinds of candidates, comma separated (default: all).", section=MADE)
    ] = ()
    generate: Annotated[
        int | None, Option("How many mask configurations are generated (default: 40).", section=MADE, minimum=0)
    ] = None
    seconds: Annotated[
        float | None,
        Option(
            "Time limit of the search for masks in seconds, before models are trained (default: 20, and 120 more where "
            "that found nothing but hiding everything).",
            section=MADE,
            above=0,
        ),
    ] = None
    out: Annotated[PathLike | None, Option("The release (default: NAME.released.csv beside the project).")] = None
    report: Annotated[PathLike | None, Option("The report (default: NAME.report.html beside the project).")] = None
    project: Annotated[PathLike | None, Option("The project file (default: aegis.yaml beside the data).")] = None
    restart: Annotated[bool, Option("Begin anew, whatever the project file says.")] = False
    seed: Seed = 0
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.web:
            self.refuse("yes", because="a page asks; without questions no page is needed")
        if self.policy is not None:
            self.refuse("purpose", "k", "person", because="the policy says what must hold")


@command(
    "start",
    Start,
    run="aegis.library.start:start",
    group=START,
    interrupted="what was decided is kept: the same command goes on from here",
)
def show(started: Started, options: Start) -> None:
    """What was decided and released, where it stands, and the commands that repeat it."""
    console = terminal.out()
    console.print(started.headline, style="bold", soft_wrap=True)
    if started.out is not None:
        console.print(f"release      {started.out}", soft_wrap=True)
        console.print(f"certificate  {started.certificate}", soft_wrap=True)
    console.print(f"report       {started.report}", soft_wrap=True)
    console.print(f"project      {started.project}", soft_wrap=True)
    for line in started.commands[1:]:
        terminal.aside(line)
    terminal.next_step(started.commands[0])
