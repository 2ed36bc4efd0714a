"""``aegis demo``: the bundled clinic, ranked and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aegis.commands import options, terminal
from aegis.commands.advise import show_ranking


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the example and its report.")] = Path("demo"),
    json: options.Json = False,
    seed: options.Seed = 0,
) -> None:
    """Write the clinic example, rank its configurations and write the report."""
    from aegis.library.advise import advise
    from aegis.library.clinic import write_clinic

    table = write_clinic(out)
    report = out / "ranking.html"
    with terminal.progress("counting") as progress:
        advice = advise(
            table,
            configurations=out / "configurations",
            seed=seed,
            progress=progress,
            report=report,
            overwrite=True,
        )
    if json:
        terminal.print_json(advice.to_json())
    else:
        show_ranking(advice, top=20)
    terminal.talk().print(f"example: {table}\nreport:  {report.resolve()}")
    terminal.next_step(f"aegis start YOUR.csv, or aegis inspect {table}")
