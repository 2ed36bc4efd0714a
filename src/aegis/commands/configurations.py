"""``aegis generate`` and ``aegis diff``: configurations to choose from, and what sets two of them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aegis.commands import options, terminal
from aegis.masking.plural import count as counted


def generate(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", help="The YAML or JSON file to write.")],
    label: options.Label = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many.")] = 50,
    strength: options.Strength = "mixed",
    masks: options.Masks = "",
    hierarchies: options.Hierarchies = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    label_bins: options.LabelBins = None,
    identifying: options.Identifying = "",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Make masking configurations that fit a table, for editing or for the advisor."""
    from aegis.library.generate import generate as make

    with terminal.progress("counting") as progress:
        made = make(
            data,
            configurations=count,
            label=label,
            strength=strength,
            masks=options.names(masks) or None,
            seed=seed,
            out=out,
            overwrite=overwrite,
            roles=options.roles(identifying=identifying, quasi="", sensitive="", insensitive=""),
            label_bins=label_bins,
            hierarchies=hierarchies,
            progress=progress,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if json:
        terminal.print_json({"file": str(out), "configurations": [{"name": c.name, "id": c.id} for c in made]})
    else:
        terminal.talk().print(f"{out}: {counted(len(made), 'configuration')}", soft_wrap=True)
        known = options.data_words(data, table=table, engine=engine) + options.label_words(label, label_bins)
        terminal.next_step(f"aegis advise {known} --configs {terminal.word(out)}")


def diff(
    one: Annotated[Path, typer.Argument(help="A configuration file.")],
    other: Annotated[Path, typer.Argument(help="Another one.")],
    json: options.Json = False,
    hierarchies: options.Hierarchies = None,
) -> None:
    """Show what the second configuration does differently: + masked there only, - here only, ~ both."""
    from aegis.library.proposals import one_configuration

    first = one_configuration(one, hierarchies=hierarchies)
    second = one_configuration(other, hierarchies=hierarchies)
    lines = first.diff(second)
    if json:
        terminal.print_json({"one": first.id, "other": second.id, "equal": not lines, "lines": lines})
        return
    for line in lines or ["no difference"]:
        terminal.out().print(line, markup=False, soft_wrap=True)
