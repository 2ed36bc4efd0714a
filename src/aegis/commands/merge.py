"""``aegis merge``: the summaries of several providers, or of several parts, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aegis.commands import options
from aegis.commands.summarize import show_summary


def merge(
    summaries: Annotated[list[Path], typer.Argument(help="Summary folders of different rows, two or more.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    name: Annotated[
        str | None, typer.Option("--name", help="What to call the whole (default: the name of the first).")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Add summaries of different rows under the same configurations: counts add up exactly, and no row is shared."""
    from aegis.library.parts import merge_summaries

    show_summary(merge_summaries(summaries, out=out, name=name, overwrite=overwrite), out, json=json)
