"""``aegis release`` and ``aegis apply``: rows masked and written, with a certificate or without a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.check import show_unlisted, show_verdicts
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import (
    ConfigurationLike,
    Data,
    Hierarchies,
    Label,
    Option,
    Overwrite,
    PathLike,
    PolicyLike,
    WithIdentifying,
)
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.library.apply import Applied
    from aegis.library.release import Released

Fitted = Annotated[PathLike | None, Option("Write the configuration as fitted to these rows here (YAML).")]
Mapping = Annotated[PathLike | None, Option("Write what became of each value here (CSV, readable by you only).")]


@dataclass(frozen=True)
class Release(WithIdentifying):
    """Write a masked table with its certificate, if what is written satisfies the policy; otherwise nothing."""

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("What must hold (YAML).")]
    out: Annotated[str | Path, Option("A .csv or .parquet file, or a database URL (…#table).")]
    config: Annotated[
        ConfigurationLike | None,
        Option("The configuration to mask by; without one the table is released as it is."),
    ] = None
    label: Label = None
    columns: Annotated[Sequence[str] | None, Option("Write these columns only, comma separated (default: all).")] = None
    drop_suppressed: Annotated[bool, Option("Leave suppressed records out instead of starring them.")] = False
    shuffle: Annotated[bool, Option("Write the rows in random order.")] = True
    fitted: Fitted = None
    mapping: Mapping = None
    hierarchies: Hierarchies = None
    overwrite: Overwrite = False


@command("release", Release, run="aegis.library.release:release", group=RELEASE)
def show_released(released: Released, options: Release) -> None:
    """The verdicts on what was written, what it keeps, and how to check it."""
    starred = f", {released.suppressed:,} suppressed" if released.suppressed else ""
    show_verdicts(
        released.verdicts,
        title=f"{released.out} · {count(released.rows, 'row')} in {count(released.classes, 'class', 'classes')}, "
        f"the smallest of {released.smallest_class:,}{starred}",
    )
    if released.kept_share is not None:
        share = released.kept_share  # what exceeds the whole was gained, not kept
        kept = "all" if share > 1.0005 else f"{100 * share:.1f} %"
        terminal.aside(f"keeps {kept} of what the quasi-identifiers say about {released.label}")
    show_unlisted(released.unlisted_are_insensitive)
    terminal.aside(f"certificate: {released.certificate_path} and .html")
    terminal.next_step(f"aegis verify {terminal.word(released.out)} {terminal.word(released.certificate_path)}")


@dataclass(frozen=True)
class Apply(WithIdentifying):
    """Mask rows without checking a policy; values never seen go to open buckets or become * (see the how-to)."""

    data: Data
    _: KW_ONLY
    config: Annotated[ConfigurationLike, Option("The configuration to mask by (YAML or JSON).")]
    out: Annotated[PathLike, Option("A .csv or .parquet file.")]
    shuffle: Annotated[bool, Option("Write the rows in random order.")] = False
    fitted: Fitted = None
    mapping: Mapping = None
    hierarchies: Hierarchies = None
    overwrite: Overwrite = False


@command("apply", Apply, run="aegis.library.apply:apply", group=RELEASE)
def show_applied(applied: Applied, options: Apply) -> None:
    """What was masked, and that nothing was checked."""
    terminal.talk().print(f"{applied.out}: {count(len(applied.masked), 'column')} masked")
    if applied.fitted_here:
        terminal.aside(f"fitted on these rows: {', '.join(applied.fitted_here)}; --fitted keeps that for the next ones")
    terminal.aside("no policy was checked")
    terminal.next_step(f"aegis check {terminal.word(applied.out)} --policy POLICY.yaml")
