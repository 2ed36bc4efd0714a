"""``aegis anonymize``: microaggregation with a hard k."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.commands import interruption, options, terminal

if TYPE_CHECKING:
    from aegis.library.anonymize import Anonymization


def anonymize(
    data: options.Data,
    k: Annotated[int, typer.Option("--k", min=1, help="The fewest records a class may have.")],
    out: Annotated[Path, typer.Option("--out", help="The .csv or .parquet file to write.")],
    method: Annotated[str, typer.Option("--method", help=f"The anonymizer: {', '.join(ANONYMIZERS)}.")] = "mo-obam",
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    classes: Annotated[int | None, typer.Option("--classes", min=1, help="How many classes (mo-obam).")] = None,
    trade_off: Annotated[
        float, typer.Option("--lambda", help="How much mixed secrets matter against loss, 0 to 1 (mo-obam).")
    ] = 0.0,
    diversity: Annotated[
        int, typer.Option("--l", min=1, help="The fewest values of each sensitive attribute in a class.")
    ] = 1,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0, help="Time for a search (mo-obam, 20 unless given).")
    ] = None,
    rounded: Annotated[bool, typer.Option("--round", help="Publish rounded means.")] = False,
    medoid: Annotated[bool, typer.Option("--medoid", help="Publish real tuples: no invented values.")] = False,
    categorical: Annotated[
        str, typer.Option("--categorical", help="Number columns that name categories, comma separated.")
    ] = "",
    tau: Annotated[
        str, typer.Option("--tau", help="More linkage thresholds to count for, comma separated (0.05, 0.075, 0.1).")
    ] = "",
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Replace quasi-identifiers by the centres of classes of at least k records. Rows stay in order."""
    from aegis.commands.tune import numbers
    from aegis.library.anonymize import anonymize as cluster
    from aegis.library.unlisted import warning

    with interruption.waiting() as check, terminal.progress("searching") as bar:

        def show(done: int, total: int | None, what: str) -> None:
            check()
            bar(done, total, what)

        done = cluster(
            data,
            method=method,
            k=k,
            quasi=options.names(quasi),
            sensitive=options.names(sensitive),
            l=diversity,
            classes=classes,
            trade_off=trade_off,
            seconds=seconds,
            seed=seed,
            centroid="medoid" if medoid else "rounded" if rounded else "mean",
            categorical=options.names(categorical),
            taus=numbers(tau, "--tau"),
            out=out,
            overwrite=overwrite,
            progress=show,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if json:
        terminal.print_json(done.to_json())
    else:
        _show(done)
    for column in done.suppressed:
        terminal.aside(f"{column} is identifying and was replaced by *")
    if done.as_they_are:
        terminal.aside(f"published as they are: {', '.join(done.as_they_are)}")
    if done.looks_identifying:
        terminal.warn(warning(done.looks_identifying))
    if done.result.diagnosis.finished == "interrupted":
        terminal.talk().print(f"interrupted: {out} holds the best valid table so far")
        raise typer.Exit(130)
    if not json:
        terminal.next_step(f"aegis check {out} --policy POLICY.yaml")


def _show(done: Anonymization) -> None:
    result = done.result
    before, after = result.before, result.after
    rows = [
        ["classes an attacker sees", f"{before.classes:,}", f"{after.classes:,}"],
        ["smallest class", f"{before.smallest_class:,}", f"{after.smallest_class:,}"],
    ]
    rows += [
        [f"people at linkage risk above {tau:g}", f"{before.linkage[tau]:,}", f"{after.linkage[tau]:,}"]
        for tau in before.linkage
    ]
    rows += [
        [f"people whose {name} is certain", f"{number:,}", f"{after.homogeneity_by_attribute[name]:,}"]
        for name, number in before.homogeneity_by_attribute.items()
    ]
    columns: list[str | tuple[str, str]] = ["", ("before", "right"), ("after", "right")]
    title = f"{result.method}: information loss {result.information_loss:.5f} ({result.scale} scale), {result.gap}"
    terminal.out().print(terminal.table(title, columns, rows))
