"""``aegis release``: mask, write, measure again, certify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aegis.commands import options, terminal
from aegis.commands.check import Policy, show_verdicts, unlisted_columns
from aegis.masking.plural import count

Config = Annotated[Path, typer.Option("--config", help="The configuration to mask by (YAML or JSON).")]
Fitted = Annotated[
    Path | None, typer.Option("--fitted", help="Write the configuration as fitted to these rows here (YAML).")
]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="Write what became of each value here (CSV, readable by you only)."),
]


def release(
    data: options.Data,
    policy: Policy,
    out: Annotated[str, typer.Option("--out", help="A .csv or .parquet file, or a database URL (…#table).")],
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The configuration to mask by; without one the table is released as it is."),
    ] = None,
    label: options.Label = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Write these columns only, comma separated (default: all).")
    ] = None,
    drop_suppressed: Annotated[
        bool, typer.Option("--drop-suppressed", help="Leave suppressed records out instead of starring them.")
    ] = False,
    shuffle: Annotated[bool, typer.Option("--shuffle/--no-shuffle", help="Write the rows in random order.")] = True,
    fitted: Fitted = None,
    mapping: Mapping = None,
    hierarchies: options.Hierarchies = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Write a masked table with its certificate, if what is written satisfies the policy; otherwise nothing."""
    from aegis.library.release import release as write
    from aegis.library.unlisted import warning

    done = write(
        data,
        configuration=config,
        policy=policy,
        out=out,
        label=label,
        columns=None if columns is None else options.names(columns),
        shuffle=shuffle,
        drop_suppressed=drop_suppressed,
        fitted=fitted,
        mapping=mapping,
        overwrite=overwrite,
        hierarchies=hierarchies,
        **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
    )
    if json:
        terminal.print_json(done.to_json())
        return
    content = done.certificate.content
    starred = f", {done.suppressed:,} suppressed" if done.suppressed else ""
    show_verdicts(
        content["verdicts"],
        title=f"{out} · {count(done.rows, 'row')} in {count(content['classes'], 'class', 'classes')}, "
        f"the smallest of {content['smallest_class']:,}{starred}",
    )
    utility = content["utility"]
    if utility is not None and utility["kept_share"] is not None:
        share = utility["kept_share"]
        kept = "all" if share > 1.0005 else f"{100 * share:.1f} %"  # what exceeds the whole was gained, not kept
        terminal.aside(f"keeps {kept} of what the quasi-identifiers say about {utility['label']}")
    unlisted_columns(content["roles"]["unlisted_are_insensitive"])
    suspicious = tuple(content["roles"]["unlisted_that_look_identifying"])
    if suspicious:
        terminal.warn(warning(suspicious))
    terminal.aside(f"certificate: {done.certificate_path} and .html")
    terminal.next_step(f"aegis verify {out} {done.certificate_path}")
