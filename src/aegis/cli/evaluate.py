"""``aegis evaluate``: does choosing from counts choose well on this table?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.cli import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.evaluation.agreement import Agreement
    from aegis.workflows.evaluate import Evaluation


def evaluate(
    data: options.Data,
    label: options.Label = None,
    configs: options.Configs = None,
    generate: options.Generate = 0,
    strength: options.Strength = "mixed",
    families: Annotated[
        str,
        typer.Option(
            "--families",
            help="Sets of --generate candidates, comma separated: light, medium, heavy, mixed, any, k-anonymous, "
            "released.",
        ),
    ] = "",
    tables: Annotated[
        list[Path] | None,
        typer.Option("--tables", help="A released table of the same rows in the same order; may be repeated."),
    ] = None,
    models: Annotated[str, typer.Option("--models", help="Models to train, comma separated; three by default.")] = "",
    splits: Annotated[int, typer.Option("--splits", min=1, help="Train/test splits per configuration.")] = 4,
    most_rows: Annotated[
        int | None, typer.Option("--most-rows", min=50, help="Train on at most this many rows per split.")
    ] = None,
    shortlist: Annotated[
        int, typer.Option("--shortlist", min=0, help="Also try cheap models on this many of the advisor's first.")
    ] = 8,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes that train.")] = 1,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="File that keeps results, so that a stopped run goes on.")
    ] = None,
    hierarchies: options.Hierarchies = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    label_bins: options.LabelBins = None,
    identifying: options.Identifying = "",
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Train models on every configuration and compare all ways of choosing one without training.

    Models: logistic-regression, linear-svm, kernel-svm, random-forest, boosted-trees, sgd, naive-bayes, mlp.
    """
    from aegis.evaluation.models import GOLD_MODELS
    from aegis.workflows.evaluate import evaluate as train

    with terminal.progress("training") as progress:
        done = train(
            data,
            label=label,
            configurations=configs,
            generate=generate,
            strength=strength,
            families=options.names(families),
            tables=tables or (),
            seed=seed,
            models=options.names(models) or GOLD_MODELS,
            splits=splits,
            most_training_rows=most_rows,
            shortlist=shortlist,
            jobs=jobs,
            cache=cache,
            report=report,
            overwrite=overwrite,
            roles=options.roles(identifying=identifying, quasi=quasi, sensitive=sensitive, insensitive=""),
            label_bins=label_bins,
            hierarchies=hierarchies,
            progress=progress,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if json:
        terminal.print_json(done.to_json())
    else:
        _show(done)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    elif not json:
        terminal.next_step("the same with --report OUT.html for the accuracy of every configuration")


def _show(done: Evaluation) -> None:
    for family in done.families:
        accuracies = family.gold.accuracies
        of = f"{done.name}, {family.name}" if len(done.families) > 1 else done.name
        title = (
            f"{of}: {count(len(accuracies), 'candidate')}, accuracy {100 * accuracies.min():.1f} to "
            f"{100 * accuracies.max():.1f} %, {family.gold.cpu_seconds:.1f} CPU seconds to train them all"
        )
        _table(title, family.selectors)
    if len(done.families) > 1:
        _table(f"{done.name}: means over {count(len(done.families), 'family', 'families')}", done.selectors)


def _table(title: str, selectors: Sequence[Agreement]) -> None:
    rows = [
        [
            one.selector,
            f"{one.spearman:.2f}",
            f"{one.kendall:.2f}",
            f"{100 * one.regret:.2f}",
            f"{100 * one.top5:.0f} %",
            f"{one.cpu_seconds:.2f}",
        ]
        for one in selectors
    ]
    columns: list[str | tuple[str, str]] = [
        "selector",
        ("Spearman", "right"),
        ("Kendall", "right"),
        ("regret (points)", "right"),
        ("in the best five", "right"),
        ("CPU s", "right"),
    ]
    terminal.out().print(terminal.table(title, columns, rows))
