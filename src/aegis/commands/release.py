"""``aegis release``: rows masked and written, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import (
    LEDGER,
    ROLES,
    ConfigurationLike,
    Data,
    DespiteLedger,
    Hierarchies,
    Label,
    Overwrite,
    PathLike,
    Person,
    PolicyLike,
    WithIdentifying,
    WithLedger,
)
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.release import Released

Fitted = Annotated[PathLike | None, Option("Write the fitted configuration, for new rows, to this file (YAML).")]
Mapped = Annotated[PathLike | None, Option("Write what each value became to this file (CSV, readable by you only).")]


@dataclass(frozen=True)
class Release(WithIdentifying, WithLedger):
    """Write a masked table with its certificate, if it satisfies the policy together with all earlier releases."""

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("The privacy policy (YAML).")]
    out: Annotated[str | Path, Option("A .csv or .parquet file, or a database URL (…#table).")]
    config: Annotated[
        ConfigurationLike | None,
        Option("The configuration to mask by; without one the table is released as it is."),
    ] = None
    label: Label = None
    person: Person = None
    insensitive: Annotated[
        Sequence[str],
        Option(
            "Columns that may be published as they are, comma separated; rest: all without a role that do not look "
            "identifying.",
            section=ROLES,
        ),
    ] = ()
    columns: Annotated[Sequence[str] | None, Option("Write these columns only, comma separated (default: all).")] = None
    drop_suppressed: Annotated[bool, Option("Leave suppressed records out instead of starring them.")] = False
    shuffle: Annotated[bool, Option("Write the rows in random order.")] = True
    attacks: Annotated[
        Sequence[str],
        Option("Run these attacks on what is written and put them on the certificate (default: those of the policy)."),
    ] = ()
    sign: Annotated[PathLike | None, Option("Sign the certificate with this private key (aegis key new).")] = None
    for_: Annotated[
        str | None, Option("The catalog's request that the release is for; its certificate is valid for that one only.")
    ] = None
    fitted: Fitted = None
    mapping: Mapped = None
    hierarchies: Hierarchies = None
    overwrite: Overwrite = False
    rows_of: Annotated[
        PathLike | None,
        Option(
            "The original of a table that was anonymized before, rows in the same order: its ledger is used.",
            section=LEDGER,
        ),
    ] = None
    despite_ledger: DespiteLedger = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows_of is not None:
            self.refuse("config", because="a table that was finished before is released as it is")


@command("release", Release, run="aegis.library.release:release", group=RELEASE)
def show_released(released: Released, options: Release) -> None:
    """The verdicts on what was written, what it keeps, and how to check it."""
    show_written(released)
    if released.kept_share is not None:
        share = released.kept_share  # what exceeds the whole was gained, not kept
        shown = "all" if share > 1.0005 else f"{100 * share:.1f} %"
        terminal.aside(f"keeps {shown} of what the quasi-identifiers say about {released.label}")
    if released.unlisted_are_insensitive:
        terminal.aside(f"masked, and no role was given to them: {', '.join(released.unlisted_are_insensitive)}")
    if released.insensitive_as_the_rest:
        terminal.aside(f"insensitive, as the rest: {', '.join(released.insensitive_as_the_rest)}")
    show_ledger(released.ledger)
    terminal.aside(f"certificate: {released.certificate_path} and .html")
    terminal.next_step(f"aegis verify {terminal.word(released.out)} {terminal.word(released.certificate_path)}")


def show_written(released: Released) -> None:
    """The verdicts on what was written."""
    terminal.show_verdicts(
        released.verdicts,
        title=f"{released.out} · {count(released.rows, 'row')}",
        classes=released.classes,
        smallest=released.smallest_class,
        unit=released.unit,
        suppressed=released.suppressed,
    )


def show_ledger(ledger: Mapping[str, Any] | None) -> None:
    """What the release was judged together with, and what waits."""
    if ledger is None:
        terminal.aside("judged alone: there is no ledger of earlier releases")
        return
    beside = count(len(ledger["together_with"]), "earlier release")
    terminal.aside(f"entry {ledger['number']} of {ledger['name']}, judged together with {beside}")
    if ledger["held"] or ledger["withdrawn"]:
        waiting = count(ledger["held"] + ledger["withdrawn"], "row")
        terminal.aside(f"{waiting} wait: alone among those that came or left since, they would be told apart")
