"""``aegis tune``: which number of classes, trade-off and k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal

if TYPE_CHECKING:
    from aegis.library.tune import Tuning


def tune(
    data: options.Data,
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    k_values: Annotated[str, typer.Option("--k-values", help="Values of k to try, comma separated.")] = "5,10,15,20",
    classes_values: Annotated[
        str,
        typer.Option(
            "--classes-values", help="Numbers of classes to try (default: 4, then 10 to a fifth of the unique tuples)."
        ),
    ] = "",
    lambda_values: Annotated[
        str,
        typer.Option(
            "--lambda-values", help="Trade-offs to try (default: 0.0001 to 1 by tens; from 0.01 for binary secrets)."
        ),
    ] = "",
    diversity: Annotated[
        int, typer.Option("--l", min=1, help="The fewest values of each sensitive attribute in a class.")
    ] = 1,
    seconds_each: Annotated[float, typer.Option("--seconds-each", min=0, help="Time for each setting.")] = 2.0,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="Search steps instead of time, for equal results anywhere.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Also search the number of classes for each k.")
    ] = True,
    categorical: Annotated[
        str, typer.Option("--categorical", help="Number columns that name categories, comma separated.")
    ] = "",
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
) -> int:
    """Try MO-OBAM over a grid of classes, trade-offs and k, search beside it, and recommend a setting."""
    from aegis.evaluation.parallel import available_cores
    from aegis.library.tune import tune as run

    with terminal.progress("tuning") as bar:
        done = run(
            data,
            quasi=options.names(quasi),
            sensitive=options.names(sensitive),
            ks=_whole(k_values, "--k-values"),
            classes=_whole(classes_values, "--classes-values") or None,
            trade_offs=numbers(lambda_values, "--lambda-values") or None,
            l=diversity,
            seconds_each=seconds_each,
            rounds=rounds,
            search=search,
            categorical=options.names(categorical),
            seed=seed,
            jobs=jobs or available_cores(),
            report=report,
            overwrite=overwrite,
            progress=bar,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    if json:
        terminal.print_json(done.to_json())
    else:
        _show(done)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    if done.tuning.interrupted:
        terminal.aside("interrupted: this is what was tried until then")
        return 130
    if not json:
        best = done.tuning.recommended.setting
        secrets = f"--sensitive {','.join(done.sensitive)} --lambda {best.trade_off:g} " if done.sensitive else ""
        again = terminal.data_words(data, table=table, engine=engine)
        terminal.next_step(
            f"aegis anonymize {again} --quasi {','.join(done.quasi)} {secrets}--k {best.k} --classes {best.classes} "
            "--out OUT.csv"
        )
    return 0


def numbers(text: str, option: str, *, kind: str = "numbers") -> tuple[float, ...]:
    """The numbers of a list that an option takes."""
    from aegis.errors import InputError

    try:
        return tuple(float(part) for part in options.names(text))
    except ValueError:
        raise InputError(f"{option} takes {kind} separated by commas") from None


def _whole(text: str, option: str) -> tuple[int, ...]:
    from aegis.errors import InputError

    found = numbers(text, option, kind="whole numbers")
    if not all(number.is_integer() for number in found):
        raise InputError(f"{option} takes whole numbers separated by commas")
    return tuple(int(number) for number in found)


def _show(done: Tuning) -> None:
    rows = []
    for trial in done.tuning.by_k.values():
        result, setting = trial.known, trial.setting
        rows.append(
            [
                str(setting.k),
                f"{setting.classes:,}",
                f"{setting.trade_off:g}",
                f"{result.information_loss:.5f}",
                f"{result.entropy_sum_of_minima_bits:.2f}",
                f"{result.smallest_class:,}",
                f"{result.after.linkage[0.05]:,}",
                f"{result.after.homogeneity:,}",
                "recommended" if setting == done.tuning.recommended.setting else "",
            ]
        )
    columns: list[str | tuple[str, str]] = [
        (name, "right")
        for name in ("k", "classes", "λ", "loss", "entropy", "smallest class", "linkage 0.05", "homogeneity")
    ]
    tried = len(done.tuning.grid) + len(done.tuning.search)
    terminal.out().print(terminal.table(f"{done.source} · best of {tried} settings for each k", [*columns, ""], rows))
    terminal.out().print(done.tuning.advice, soft_wrap=True)
