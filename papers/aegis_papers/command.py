"""``aegis reproduce``: the papers' tables and figures: printed, repeated by their recipe, and ours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import LOOK_UP, command
from aegis.commands.fields import PathLike, Report, Seed, Working, replacing
from aegis.operation import Argument, Option

if TYPE_CHECKING:
    from aegis_papers.reproduction import Reproduction, Value

_STYLES = {"same": "green", "different": "yellow", "not comparable": "dim"}


@dataclass(frozen=True)
class Reproduce(Working):
    """Repeat a paper's tables and figures by its own recipe, and show what the product reaches beside it."""

    name: Annotated[str, Argument("Which paper: aegis, mo-obam or minimax.")]
    _: KW_ONLY
    datasets: Annotated[
        PathLike | None, Option("Folder of the public data sets the paper uses.", variable="AEGIS_DATASETS")
    ] = None
    quick: Annotated[
        bool, Option("Up to half a minute (minimax) on bundled data: shows the page, compares nothing real.")
    ] = False
    work: Annotated[
        PathLike | None, Option("Folder that keeps finished parts (default: the user's cache, until the end).")
    ] = None
    seed: Seed = 0
    report: Report = None
    overwrite: Annotated[bool, replacing("report")] = False


@command(
    "reproduce",
    Reproduce,
    run="aegis_papers.chapters:reproduce",
    group=LOOK_UP,
    working="reproducing",
    interrupted="stopped; finished parts are kept, and the same command goes on behind them",
    register=False,
)
def reproduce(done: Reproduction, options: Reproduce) -> None:
    """Every value with its verdict."""
    _show(done)
    if options.report is None:
        terminal.next_step(
            f"aegis reproduce {options.name} … --report {options.name}.html for the figures and the reasons"
        )


def _show(done: Reproduction) -> None:
    for section in done.sections:
        if not section.claims:
            continue
        rows: list[list[str | Text]] = [
            [
                claim.what,
                claim.source,
                _text(claim.printed),
                _text(claim.as_printed),
                _text(claim.ours),
                claim.unit,
                Text(claim.verdict.value, style=_STYLES[claim.verdict.value]),
                Text("better" if claim.better else "", style="bold green"),
            ]
            for claim in section.claims
        ]
        figures = terminal.numbers("printed", "as printed", "ours")
        terminal.show_table(section.title, ["value", "source", *figures, "unit", "verdict", ""], rows)
        terminal.out().print()
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in done.verdicts.items() if count)
    share = f" ({100 * done.same_share:.0f} % of the comparable ones are the same)" if done.comparable else ""
    terminal.out().print(Text(f"{len(done.claims)} values, by the paper's recipe: {counts}{share}", style="bold"))
    if done.better:
        terminal.out().print(Text(f"ours is better in {done.better} of them, shown by a test", style="bold green"))
    if done.quick:
        terminal.aside("quick run on bundled data: the verdicts say nothing about the paper")


def _text(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
