"""``aegis apply``: mask rows by a configuration that was fitted before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aegis.commands import options, terminal
from aegis.commands.release import Config, Fitted, Mapping
from aegis.masking.plural import count


def apply(
    data: options.Data,
    config: Config,
    out: Annotated[Path, typer.Option("--out", help="A .csv or .parquet file.")],
    fitted: Fitted = None,
    mapping: Mapping = None,
    shuffle: Annotated[bool, typer.Option("--shuffle/--no-shuffle", help="Write the rows in random order.")] = False,
    hierarchies: options.Hierarchies = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Mask rows without checking a policy; values never seen go to open buckets or become * (see the how-to)."""
    from aegis.library.apply import apply as mask
    from aegis.library.unlisted import warning

    done = mask(
        data,
        configuration=config,
        out=out,
        shuffle=shuffle,
        fitted=fitted,
        mapping=mapping,
        overwrite=overwrite,
        hierarchies=hierarchies,
        **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
    )
    if json:
        terminal.print_json(done.to_json())
        return
    terminal.talk().print(f"{out}: {count(len(done.columns), 'column')} masked")
    if done.fitted_here:
        terminal.aside(f"fitted on these rows: {', '.join(done.fitted_here)}; --fitted keeps that for the next ones")
    if done.looks_identifying:
        terminal.warn(warning(done.looks_identifying))
    terminal.aside("no policy was checked")
    terminal.next_step(f"aegis check {out} --policy POLICY.yaml")
