"""``aegis ledger``: what was released from a table, what no longer counts, and the budget that all of it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import (
    LEDGER,
    ConfigurationLike,
    Data,
    Hierarchies,
    Label,
    PathLike,
    PolicyLike,
    Reading,
    WithIdentifying,
    WithLedger,
)
from aegis.commands.synthesize import Synthesize
from aegis.operation import Argument, Option, Options
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.ledger import LedgerShown

LedgerPath = Annotated[
    PathLike | None, Option("The ledger (default: DATA.ledger.jsonl beside the data).", section=LEDGER)
]


@dataclass(frozen=True)
class LedgerShow(Options):
    """Show what was released from a table, when, to whom and how, and check that nobody changed the record."""

    data: Annotated[PathLike, Argument("The table, or its ledger (.ledger.jsonl).")]
    _: KW_ONLY
    table: Annotated[str | None, Option("The table of a database file.")] = None
    delta: Annotated[float, Option("The δ at which spent budgets are added up.", above=0, maximum=0.5)] = 1e-6


@dataclass(frozen=True)
class LedgerAdd(WithIdentifying, WithLedger):
    """Record a release that was made of this table, as it is now, without the ledger."""

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("The policy that it was released under (YAML).")]
    config: Annotated[ConfigurationLike | None, Option("The configuration that masked it.")] = None
    name: Annotated[str, Option("What it is called on the record.")] = "added by hand"
    label: Label = None
    insensitive: Annotated[
        Sequence[str],
        Option("Columns that it shows as they are, comma separated; rest: all that have neither role nor mask."),
    ] = ()
    columns: Annotated[Sequence[str] | None, Option("The columns that it has, comma separated (default: all).")] = None
    drop_suppressed: Annotated[bool, Option("Suppressed records were left out instead of starred.")] = False
    hierarchies: Hierarchies = None


@dataclass(frozen=True)
class LedgerForget(Options):
    """Record that a release no longer counts, and why. Its entry stays, and so does the budget that it spent."""

    data: Annotated[PathLike, Argument("The table, or its ledger (.ledger.jsonl).")]
    release: Annotated[int, Argument("The number of the release, as aegis ledger show has it.")]
    _: KW_ONLY
    reason: Annotated[str, Option("Why nobody can combine it with another release.")]
    table: Annotated[str | None, Option("The table of a database file.")] = None


@dataclass(frozen=True)
class LedgerLimit(Reading):
    """Set the privacy budget that all differentially private releases of a table keep together."""

    data: Data
    _: KW_ONLY
    epsilon: Annotated[float | None, Option("The most ε, at --delta.", above=0)] = None
    delta: Annotated[float, Option("The δ that goes with it.", minimum=0, maximum=0.5)] = 0.0
    rho: Annotated[float | None, Option("The most ρ of zero-concentrated differential privacy.", above=0)] = None
    reason: Annotated[str | None, Option("Why; needed to raise a limit that is set.")] = None
    ledger: LedgerPath = None


def _show(shown: LedgerShown, options: Options) -> None:
    """A line for each release."""
    rows = [
        [
            str(row["number"]),
            row["at"][:16].replace("T", " "),
            row["name"],
            row["recipient"],
            row["kind"],
            f"{row['rows']:,}",
            row["counts"],
        ]
        for row in shown.table_rows()
    ]
    title = f"{shown.path.name}: {count(shown.finished, 'release')} of {shown.source or 'nothing yet'}"
    terminal.show_table(title, [("", "right"), "when (UTC)", "release", "to", "by", ("rows", "right"), "counts"], rows)
    if shown.limit is not None or shown.spent is not None:
        limit = "no limit is set" if shown.limit is None else f"left: {shown.left}, for the limit is {shown.limit}"
        terminal.aside(f"privacy budget spent: {shown.spent or 'nothing'}; {limit}")
    terminal.aside(f"the record is whole; its head is {shown.head}")


@command("ledger show", LedgerShow, run="aegis.library.ledger:ledger_show", group=RELEASE)
def show_ledger(shown: LedgerShown, options: LedgerShow) -> None:
    """What is on record."""
    _show(shown, options)


@command("ledger add", LedgerAdd, run="aegis.library.ledger:ledger_add", group=RELEASE)
def show_added(shown: LedgerShown, options: LedgerAdd) -> None:
    """What is on record now."""
    _show(shown, options)


@command("ledger forget", LedgerForget, run="aegis.library.ledger:ledger_forget", group=RELEASE)
def show_forgotten(shown: LedgerShown, options: LedgerForget) -> None:
    """What is on record now."""
    _show(shown, options)


@command("ledger limit", LedgerLimit, run="aegis.library.ledger:ledger_limit", group=RELEASE)
def show_limited(shown: LedgerShown, options: LedgerLimit) -> None:
    """What is on record now."""
    _show(shown, options)
    if options.delta and options.epsilon is not None:
        room = int(options.delta / Synthesize.delta * (1 + 1e-9))
        terminal.aside(
            f"a synthetic table that looks for its values spends δ as well, {Synthesize.delta:g} unless --delta says "
            f"otherwise: this limit has room for {count(room, 'such table')}"
        )
