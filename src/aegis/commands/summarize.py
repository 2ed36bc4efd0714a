"""``aegis summarize``: counts for a publisher, instead of rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal
from aegis.masking.plural import count as counted

if TYPE_CHECKING:
    from aegis.counts.summary import Summary


def summarize(
    data: options.Data,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write.")] = None,
    append: Annotated[
        Path | None, typer.Option("--append", help="Add the rows to this summary, counted as it was counted.")
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", help="What to call the rows that are added (default: the data's name).")
    ] = None,
    label: options.Label = None,
    configs: options.Configs = None,
    generate: options.Generate = 0,
    strength: options.Strength = "mixed",
    masks: options.Masks = "",
    level: Annotated[
        str | None,
        typer.Option("--level", help="What is told of unmasked columns: 2d (unless --opaque), 1d or none."),
    ] = None,
    ranges: Annotated[
        int | None, typer.Option("--ranges", min=1, help="Tell 1D histograms in this many ranges (level 1d).")
    ] = None,
    opaque: Annotated[
        bool, typer.Option("--opaque", help="Name the masks by numbers only, and tell no values: level none.")
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option("--pairs/--no-pairs", help="Add scores of whole configurations, measured on pairs of columns."),
    ] = True,
    score: Annotated[
        list[str] | None,
        typer.Option("--score", help="Add this score of whole configurations too (aegis measures); may be repeated."),
    ] = None,
    policy: options.Policy = None,
    min_count: Annotated[
        int | None, typer.Option("--min-count", help="Merge cells of fewer records than this.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Add differentially private noise, with this budget for all.")
    ] = None,
    hierarchies: options.Hierarchies = None,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    label_bins: options.LabelBins = None,
    identifying: options.Identifying = "",
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    insensitive: options.Insensitive = "",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Count the table once and write a summary that can be ranked without the rows.

    With --append only new rows are counted, and added to a summary that is there already.
    """
    from aegis.counts.summary import Level
    from aegis.library.summarize import DEFAULT_PAIR_SCORES
    from aegis.library.summarize import summarize as count

    if level is not None and level not in (known := [each.value for each in Level]):
        raise typer.BadParameter(f"must be one of {', '.join(known)}", param_hint="--level")
    folder = out or append
    if folder is None:
        raise typer.BadParameter("give a folder to write, or with --append one to add to", param_hint="--out")
    with terminal.progress("counting") as progress:
        summary = count(
            data,
            label=label,
            configurations=configs,
            generate=generate,
            strength=strength,
            masks=options.names(masks) or None,
            seed=seed,
            level=level or "2d",
            ranges=ranges,
            opaque=opaque,
            out=out,
            overwrite=overwrite,
            roles=options.roles(identifying=identifying, quasi=quasi, sensitive=sensitive, insensitive=insensitive),
            label_bins=label_bins,
            policy=policy,
            pair_scores=tuple(dict.fromkeys([*(DEFAULT_PAIR_SCORES if pairs else ()), *(score or ())])),
            min_count=min_count,
            epsilon=epsilon,
            hierarchies=hierarchies,
            append=append,
            part=part,
            progress=progress,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if level is not None and summary.level.value != level:
        why = "names its masks by numbers and tells nothing of unmasked columns" if opaque else "had its level before"
        terminal.aside(f"note: the summary {why}: its level is {summary.level.value} and not {level}")
    show_summary(summary, folder, json=json)


def show_summary(summary: Summary, folder: Path, *, json: bool) -> None:
    """What a folder now holds, and what can be done with it."""
    if json:
        terminal.print_json(
            {
                "folder": str(folder),
                "level": summary.level.value,
                "rows": int(summary.rows),
                "label": summary.label,
                "attributes": list(summary.attributes),
                "configurations": [c.name for c in summary.configurations],
                "skipped": dict(summary.skipped),
                "protection": None if summary.protection is None else summary.protection.to_json(),
                "parts": list(summary.parts),
            }
        )
        return
    terminal.talk().print(
        f"{folder}: level {summary.level.value}, {counted(summary.rows, 'row')}, "
        f"{counted(len(summary.attributes), 'attribute')}, "
        f"{counted(len(summary.configurations), 'configuration')}",
        soft_wrap=True,
    )
    if summary.parts:
        terminal.aside(
            f"the sum of {counted(len(summary.parts), 'part')}; scores of pairs of attributes cannot be added, so it "
            "is ranked by single attributes"
        )
    if summary.protection is not None:
        terminal.aside(summary.protection.describe())
    for column, reason in summary.skipped.items():
        terminal.aside(f"left out: {column} ({reason})")
    terminal.next_step(f"aegis advise {terminal.word(folder)}")
