"""``aegis search``: the best configuration that satisfies a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import interruption, options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.candidates.search.board import Progress
    from aegis.library.search import Found


def search(
    data: options.Data,
    policy: Annotated[Path, typer.Option("--policy", help="What the release must satisfy (YAML).")],
    label: options.Label = None,
    hierarchies: options.Hierarchies = None,
    space: Annotated[str, typer.Option("--space", help="levels, cuts or both.")] = "both",
    measure: Annotated[
        str | None, typer.Option("--measure", help="Utility of the released tuple; see aegis measures.")
    ] = None,
    verify: Annotated[int, typer.Option("--verify", min=0, help="Train a cheap model on this many of the best.")] = 0,
    seconds: Annotated[float, typer.Option("--seconds", help="The most it may take.")] = 60.0,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Write the best configuration here (YAML or JSON).")] = None,
    save_hierarchies: Annotated[
        Path | None, typer.Option("--save-hierarchies", help="Write the hierarchies used, for editing, to this folder.")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Find the configuration that keeps most of the label among those that satisfy the policy."""
    from aegis.library.search import search as find

    with interruption.waiting() as check, terminal.progress("searching") as bar:

        def show(now: Progress) -> None:
            check()
            best = "none yet" if now.best is None else f"{now.best:.5f}"
            bar(now.nodes, None, f"configurations, best {best}, bound {now.bound:.5f}")

        found = find(
            data,
            policy=policy,
            label=label,
            hierarchies=hierarchies,
            space=space,
            measure=measure,
            verify=verify,
            seconds=seconds,
            seed=seed,
            out=out,
            save_hierarchies=save_hierarchies,
            overwrite=overwrite,
            progress=show,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if json:
        terminal.print_json(found.to_json())
    else:
        _show(found)
    if found.search.interrupted:
        terminal.talk().print("interrupted: this is the best so far, and it satisfies the policy")
        raise typer.Exit(130)
    if json:
        return
    if out is not None:
        terminal.talk().print(f"configuration: {out}", soft_wrap=True)
    config = out or "BEST.yaml"
    if out is None:
        terminal.aside("add --out BEST.yaml to keep it")
    again = terminal.data_words(data, table=table, engine=engine)
    terminal.next_step(f"aegis release {again} --config {config} --policy {policy} --out released.parquet")


def _show(found: Found) -> None:
    result, chosen = found.search, found.chosen
    rows = [[column, mask.describe()] for column, mask in found.configuration.masks.items()]
    title = (
        f"{result.measure} of the released tuple: {chosen.utility:.5f} {result.unit} · "
        f"{count(chosen.classes, 'class', 'classes')}, "
        f"smallest {chosen.smallest_class:,}, {chosen.suppressed:,} of {count(result.records, 'record')} suppressed"
    )
    console = terminal.out()
    console.print(terminal.table(title, ["column", "mask"], rows))
    if result.proved:
        console.print(
            f"Proved: no configuration of its space is better ({count(result.nodes, 'configuration')} weighed)."
        )
    else:
        limit = f"{result.bound:.5f} {result.unit}"
        console.print(f"{count(result.nodes, 'configuration')} weighed; none of the space searched can exceed {limit}.")
    for number, one in enumerate(found.verified, start=1):
        low, high = one.accuracy.interval
        mark = " ← taken" if one.candidate is chosen else ""
        console.print(f"verified {number}: accuracy {one.accuracy.accuracy:.4f} ({low:.4f} to {high:.4f}){mark}")
