"""``aegis verify``: is a release what its certificate says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from aegis.commands import options, terminal


def verify(
    release: Annotated[str, typer.Argument(help="The released file, or the URL of the released table (…#table).")],
    certificate: Annotated[Path, typer.Argument(help="Its .certificate.json.")],
    hierarchies: options.Hierarchies = None,
    json: options.Json = False,
    engine: options.Engine = None,
) -> int:
    """Check the certificate's hash, the release's hash, and every model on its rows.

    Exit status 1 if something does not hold, 2 if a file is missing or is no certificate.
    """
    from aegis.library.verify import verify as examine

    found = examine(release, certificate, hierarchies=hierarchies, engine=engine)
    if json:
        terminal.print_json(found.to_json())
        return 0 if found.verified else 1
    rows: list[list[str | Text]] = [
        [step.name, Text("yes", style="green") if step.passed else Text("NO", style="bold red"), step.said]
        for step in found.steps
    ]
    terminal.out().print(terminal.table("", ["what", "holds", "found"], rows))
    if found.reason is not None:
        terminal.out().print(Text.assemble(("not verified: ", "bold red"), found.reason), soft_wrap=True)
        return 1
    terminal.out().print(Text("verified", style="bold green"))
    return 0
