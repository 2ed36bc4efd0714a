"""``aegis apply``: rows masked and written without a check."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import ConfigurationLike, Data, Hierarchies, Overwrite, PathLike, WithIdentifying
from aegis.commands.release import Fitted, Mapped
from aegis.operation import Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.apply import Applied


@dataclass(frozen=True)
class Apply(WithIdentifying):
    """Mask rows without checking a policy; values not seen before go to open-ended ranges or become *."""

    data: Data
    _: KW_ONLY
    config: Annotated[ConfigurationLike, Option("The configuration to mask by (YAML or JSON).")]
    out: Annotated[PathLike, Option("A .csv or .parquet file.")]
    shuffle: Annotated[bool, Option("Write the rows in random order.")] = False
    fitted: Fitted = None
    mapping: Mapped = None
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
