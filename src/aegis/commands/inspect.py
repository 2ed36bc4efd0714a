"""``aegis inspect``: what the columns of a table hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import START, command
from aegis.commands.fields import Data, WithRoles
from aegis.operation import listed
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.inspection.profile import Profile


@dataclass(frozen=True)
class Inspect(WithRoles):
    """Show columns, kinds, distinct and missing values, and suggest roles. Shows no values."""

    data: Data


@command("inspect", Inspect, run="aegis.library.inspect:inspect", group=START)
def show(profile: Profile, options: Inspect) -> None:
    """One line per column, and the ranking that one would ask for next."""
    rows = [
        [
            column.name,
            column.kind.value,
            f"{column.distinct:,}",
            f"{column.missing:,}" if column.missing else "",
            column.role.value if column.role is not None else Text(f"{column.suggested.value}?", style="dim"),
            column.why if column.role is None else "as given",
        ]
        for column in profile.columns
    ]
    columns = ["column", "kind", *terminal.numbers("distinct", "missing"), "role", "why"]
    terminal.show_table(f"{profile.name}: {count(profile.rows, 'row')}", columns, rows)
    for column in profile.columns:
        if column.looks_like is not None:
            terminal.aside(
                f"{column.name} looks like {column.looks_like}: leave it out, or mask it "
                f"({terminal.word(column.name)}: {column.mask})"
            )
    if profile.person is not None:
        rows_each = next(column.rows_each or 1.0 for column in profile.columns if column.name == profile.person)
        terminal.aside(
            f"{profile.person} looks as if it said whose the rows are ({rows_each:.1f} on average): if so, count "
            f"people and not rows, with unit: {profile.person} in the policy or --person "
            f"{terminal.word(profile.person)}"
        )
    label = next((c.name for c in profile.columns if (c.role or c.suggested).value == "label"), "COLUMN")
    again = terminal.data_words(options.data, options)
    empty = [c.name for c in profile.columns if not c.distinct and (c.role is None or c.role.value != "identifying")]
    left_out = f" --identifying {terminal.word(listed(empty))}" if empty else ""
    terminal.next_step(f"aegis advise {again} --label {terminal.word(label)}{left_out} --generate 50")
