"""``aegis compare``: what anonymizers cost the people who train models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.commands import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.library.compare import AnonymizerComparison

_MODELS = "Training models"


def compare(
    data: options.Data,
    k: Annotated[int, typer.Option("--k", min=1, help="The fewest records a class may have.")],
    methods: Annotated[
        str, typer.Option("--methods", help=f"Anonymizers to compare, all unless named: {','.join(ANONYMIZERS)}.")
    ] = "",
    label: options.Label = None,
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    identifying: options.Identifying = "",
    diversity: Annotated[
        int, typer.Option("--l", min=1, help="The fewest values of each sensitive attribute in a class.")
    ] = 1,
    classes: Annotated[int | None, typer.Option("--classes", min=1, help="How many classes (mo-obam).")] = None,
    trade_off: Annotated[
        float, typer.Option("--lambda", help="How much mixed secrets matter against loss, 0 to 1 (mo-obam).")
    ] = 0.0,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0, help="Time for a search (mo-obam, 20 unless given).")
    ] = None,
    categorical: Annotated[
        str, typer.Option("--categorical", help="Number columns that name categories, comma separated.")
    ] = "",
    models: Annotated[
        str,
        typer.Option("--models", help="Models to train, comma separated (default: all six).", rich_help_panel=_MODELS),
    ] = "",
    splits: Annotated[int, typer.Option("--splits", help="Train/test splits.", rich_help_panel=_MODELS)] = 100,
    test_share: Annotated[
        float, typer.Option("--test-share", help="The share of records to test on.", rich_help_panel=_MODELS)
    ] = 0.25,
    training_rows: Annotated[
        int, typer.Option("--training-rows", help="Train on at most this many records.", rich_help_panel=_MODELS)
    ] = 5_000,
    test_rows: Annotated[
        int, typer.Option("--test-rows", help="Test on at most this many records.", rich_help_panel=_MODELS)
    ] = 5_000,
    positive: Annotated[
        str | None,
        typer.Option("--positive", help="The label F1 is about (default: the rarer of two).", rich_help_panel=_MODELS),
    ] = None,
    balance: Annotated[
        str,
        typer.Option(
            "--balance",
            help="Against a rare label: none, weights, matching (by propensity), or auto: weights below 10 %.",
            rich_help_panel=_MODELS,
        ),
    ] = "auto",
    matches: Annotated[
        int, typer.Option("--matches", min=1, help="Records matched to each rare one.", rich_help_panel=_MODELS)
    ] = 1,
    test_on: Annotated[
        str,
        typer.Option(
            "--test-on",
            help="Test on released records, as in the paper, or on original ones, as when a model is put to use.",
            rich_help_panel=_MODELS,
        ),
    ] = "released",
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="A folder for what is done: an interrupted comparison goes on from there."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes (default: all cores).")] = None,
    seed: options.Seed = 0,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Compare anonymizers by the F1 scores of models trained on their tables, with tests against the original."""
    from aegis.evaluation.classifiers import CLASSIFIERS
    from aegis.evaluation.parallel import available_cores
    from aegis.library.compare import compare as run

    with terminal.progress("comparing") as bar:
        try:
            done = run(
                data,
                label=label,
                methods=options.names(methods),
                k=k,
                quasi=options.names(quasi),
                sensitive=options.names(sensitive),
                identifying=options.names(identifying),
                categorical=options.names(categorical),
                l=diversity,
                classes=classes,
                trade_off=trade_off,
                seconds=seconds,
                models=options.names(models) or CLASSIFIERS,
                splits=splits,
                test_share=test_share,
                training_rows=training_rows,
                test_rows=test_rows,
                positive=positive,
                balance=balance,
                matches=matches,
                test_on=test_on,
                seed=seed,
                jobs=jobs or available_cores(),
                cache=cache,
                report=report,
                overwrite=overwrite,
                progress=bar,
                **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
            )
        except KeyboardInterrupt:
            if cache is not None:
                terminal.aside(f"what was trained is kept in {cache}: the same command goes on from there")
            raise
    if json:
        terminal.print_json(done.to_json())
    else:
        _show(done)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    elif not json:
        terminal.next_step("add --report OUT.html for intervals, tests and feature importance")


def _show(done: AnonymizerComparison) -> None:
    found = done.comparison
    marks = {
        (one.first, one.model): "▼" if one.f1_difference < 0 else "▲"
        for one in found.against_original
        if one.significant
    }
    rows = []
    for name in found.tables:
        loss = done.releases[name]["information_loss"] if name in done.releases else 0.0
        scores = [f"{marks.get((name, model), '')}{found.score(name, model).f1:.4f}" for model in found.models]
        rows.append([name, f"{loss:.5f}", *scores])
    columns: list[str | tuple[str, str]] = ["table", ("loss", "right")]
    columns += [(model, "right") for model in found.models]
    of = f"F1 of {found.positive}" if found.positive is not None else "mean F1 of all labels"
    title = (
        f"{found.label} · {of} · {count(found.splits, 'split')} · {count(found.training_rows, 'record')} to train on"
    )
    terminal.out().print(terminal.table(title, columns, rows))
    terminal.aside("▼ ▲: apart from the original by Mann–Whitney U at 5 %, after Holm's correction")
    for note in done.notes:
        terminal.aside(note)
    if done.skipped:
        terminal.aside(f"left out, because nearly every record has its own text: {', '.join(done.skipped)}")
