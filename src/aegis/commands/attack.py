"""``aegis attack``: the adversary as a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import JUDGE, command
from aegis.commands.fields import (
    ConfigurationLike,
    Hierarchies,
    Label,
    Person,
    PolicyLike,
    Reporting,
    Seed,
    TableLike,
    WithRoles,
    Working,
)
from aegis.operation import Argument, Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.attack import Attacked


@dataclass(frozen=True)
class AttackOptions(WithRoles, Working, Reporting):
    """Attack releases as somebody would who has them all; the original tells how often that is right.

    Exit status 1 where more people are exposed than ``attacks:`` of the policy allows.
    """

    releases: Annotated[Sequence[Path | str], Argument("Released files (.csv or .parquet), one or more.")]
    _: KW_ONLY
    original: Annotated[TableLike, Option("The table that they were made of; it never leaves this machine.")]
    policy: Annotated[PolicyLike | None, Option("The privacy policy, with limits for attacks (YAML).")] = None
    config: Annotated[
        Sequence[ConfigurationLike],
        Option(
            "The configuration of each release, in their order (default: what the certificate beside it says).",
            repeat=True,
        ),
    ] = ()
    attacks: Annotated[Sequence[str], Option("Only these attacks, comma separated (default: all).")] = ()
    label: Label = None
    person: Person = None
    hierarchies: Hierarchies = None
    seed: Seed = 0


@command(
    "attack",
    AttackOptions,
    run="aegis.library.attack:attack",
    group=JUDGE,
    working="attacking",
    interrupted="nothing was written",
)
def show(attacked: Attacked, options: AttackOptions) -> None:
    """One line per attack, what the worst one knows, and whether the limits hold."""
    rows: list[list[str | Text]] = []
    for result in attacked.results:
        if result.not_applicable is not None:
            rows.append([result.name, "–", "–", "–", "–", "", Text(result.not_applicable, style="dim")])
            continue
        low, high = result.interval
        exposed = f"{100 * result.exposed_share:.2f} %"
        rows.append(
            [
                result.name,
                f"{result.singled_out:,} of {result.people:,}",
                "unknown" if result.right is None else f"{result.right:,}",
                f"{100 * low:.1f}–{100 * high:.1f} %" if result.singled_out else "–",
                f"{100 * result.baseline:.2f} %",
                Text(exposed, style="bold red") if result.exceeded else exposed,
                "" if result.limit is None else f"at most {100 * result.limit:g} %",
            ]
        )
    figures = ("singled out", "right", "share right, 95 %", "without release", "exposed")
    terminal.out().print(
        Text(f"{count(len(attacked.releases), 'release')} of {count(attacked.people, 'row')}", style="bold")
    )
    terminal.show_table("", ["attack", *terminal.numbers(*figures), "limit"], rows)
    if attacked.exceeded:
        named = ", ".join(attacked.exceeded)
        terminal.out().print(Text.assemble(("limits exceeded: ", "bold red"), named), soft_wrap=True)
