"""``aegis reproduce``: the papers' tables and figures, theirs beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from aegis.commands import options, terminal

if TYPE_CHECKING:
    from aegis_papers.reproduction import Reproduction, Value

_STYLES = {"same": "green", "better": "bold green", "different": "yellow", "not comparable": "dim"}


def reproduce(
    name: Annotated[str, typer.Argument(help="Which paper: aegis, mo-obam or minimax.")],
    datasets: Annotated[
        Path | None,
        typer.Option("--datasets", envvar="AEGIS_DATASETS", help="Folder of the public data sets the paper uses."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Up to half a minute (minimax) on bundled data: shows the page, compares nothing real.",
        ),
    ] = False,
    work: Annotated[
        Path | None,
        typer.Option("--work", help="Folder that keeps finished parts (default: the user's cache, until the end)."),
    ] = None,
    seed: options.Seed = 0,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Repeat a paper's tables and figures and say of each value whether ours is the same."""
    from aegis_papers.chapters import reproduce as repeat

    try:
        with terminal.progress("reproducing") as progress:
            done = repeat(
                name,
                datasets=datasets,
                quick=quick,
                seed=seed,
                work=work,
                report=report,
                overwrite=overwrite,
                progress=progress,
            )
    except KeyboardInterrupt:
        if work is not None or not quick:
            terminal.aside("stopped; finished parts are kept, and the same command goes on behind them")
        raise
    if json:
        terminal.print_json(done.to_json())
    else:
        _show(done)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    elif not json:
        terminal.next_step(f"aegis reproduce {name} … --report {name}.html for the figures and the reasons")


def _show(done: Reproduction) -> None:
    for section in done.sections:
        if not section.claims:
            continue
        rows: list[list[str | Text]] = [
            [
                claim.what,
                claim.source,
                _text(claim.paper),
                _text(claim.ours),
                claim.unit,
                Text(claim.verdict.value, style=_STYLES[claim.verdict.value]),
            ]
            for claim in section.claims
        ]
        columns: list[str | tuple[str, str]] = ["claim", "source", ("paper", "right"), ("ours", "right"), "unit", ""]
        terminal.out().print(terminal.table(section.title, columns, rows))
        terminal.out().print()
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in done.verdicts.items() if count)
    terminal.out().print(Text(f"{len(done.claims)} claims: {counts}", style="bold"))
    if done.quick:
        terminal.aside("quick run on bundled data: the verdicts say nothing about the paper")


def _text(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
