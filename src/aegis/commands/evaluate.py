"""``aegis evaluate``: does choosing from counts choose well on this table?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.evaluation.agreement import Agreement, Spread
    from aegis.evaluation.evaluated import Evaluation


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
            "released (masks, noise, clustered and sanitized tables).",
        ),
    ] = "",
    tables: Annotated[
        list[Path] | None,
        typer.Option("--tables", help="A released table of the same rows in the same order; may be repeated."),
    ] = None,
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="Draw the random families this often, by seed, seed + 1, ….")
    ] = 1,
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
    from aegis.library.evaluate import evaluate as train

    with terminal.progress("training") as progress:
        done = train(
            data,
            label=label,
            configurations=configs,
            generate=generate,
            strength=strength,
            families=options.names(families),
            tables=tables or (),
            draws=draws,
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
    from aegis.evaluation.agreement import over_draws

    for family in done.families:
        low = min(float(draw.gold.accuracies.min()) for draw in family.draws)
        high = max(float(draw.gold.accuracies.max()) for draw in family.draws)
        candidates = sum(len(draw.gold.scores) for draw in family.draws)
        of = f"{done.name}, {family.name}" if len(done.families) > 1 else done.name
        drawn, each = "", ""
        if len(family.draws) > 1:
            drawn, each = f" in {len(family.draws)} draws", ", for one draw"
        title = (
            f"{of}: {count(candidates, 'candidate')}{drawn}, accuracy {100 * low:.1f} to {100 * high:.1f} %, "
            f"{family.training_seconds:.1f} CPU seconds to train them all{each}"
        )
        _table(title, family.spreads, ranges=len(family.draws) > 1)
        for note in family.notes:
            terminal.aside(note)
    if len(done.families) > 1:
        title = f"{done.name}: means over {count(len(done.families), 'family', 'families')}"
        _table(title, over_draws([done.selectors]), ranges=False)


def _table(title: str, selectors: Sequence[Spread], *, ranges: bool) -> None:
    def cell(one: Spread, say: Callable[[Agreement], str]) -> str:
        return say(one.mean) + (f" ({say(one.lowest)} to {say(one.highest)})" if ranges else "")

    rows = [
        [
            one.mean.selector,
            cell(one, lambda each: f"{each.spearman:.2f}"),
            cell(one, lambda each: f"{each.kendall:.2f}"),
            cell(one, lambda each: f"{100 * each.regret:.2f}"),
            cell(one, lambda each: f"{100 * each.top5:.0f} %"),
            f"{one.mean.cpu_seconds:.2f}",
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
