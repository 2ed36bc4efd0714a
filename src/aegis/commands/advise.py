"""``aegis advise``: which configuration keeps most of what the table says about its label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal
from aegis.errors import ConfigurationError
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.ranking.ranking import Ranking, VerifiedConfiguration


def advise(
    data: Annotated[str, typer.Argument(help="A table (file or URL), or a summary folder.")],
    label: options.Label = None,
    configs: options.Configs = None,
    generate: options.Generate = 0,
    strength: options.Strength = "mixed",
    masks: options.Masks = "",
    measure: Annotated[
        str | None, typer.Option("--measure", help="How usefulness is measured; see aegis measures.")
    ] = None,
    reference: Annotated[
        str,
        typer.Option("--reference", help="What losses are compared with: auto, exact, pooled, per-configuration."),
    ] = "auto",
    verify: Annotated[
        int,
        typer.Option("--verify", min=0, help="Train cheap models on a shortlist of so many and rank it by accuracy."),
    ] = 0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes that train for --verify.")] = 1,
    top: Annotated[int, typer.Option("--top", min=1, help="How many rows the table shows.")] = 20,
    tables: Annotated[
        list[Path] | None,
        typer.Option("--tables", help="An anonymized table to rank beside the configurations; may be repeated."),
    ] = None,
    policy: options.Policy = None,
    hierarchies: options.Hierarchies = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    report: options.Report = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the best configuration to this YAML or JSON file.")
    ] = None,
    overwrite: options.Overwrite = False,
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
    """Rank masking configurations by how much of the label stays predictable, from counts alone."""
    from aegis.library.advise import advise as ask
    from aegis.library.rank_tables import rank_tables

    if tables:
        if verify:
            raise ConfigurationError("--verify trains on configurations and not on tables; leave out one of the two")
        ranked = rank_tables(
            data,
            tables=tables,
            configurations=configs,
            label=label,
            policy=policy,
            hierarchies=hierarchies,
            roles=options.roles(identifying=identifying, quasi=quasi, sensitive=sensitive, insensitive=insensitive),
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
        if json:
            terminal.print_json(ranked.to_json())
        else:
            show_ranking(ranked, top=top)
        return
    with terminal.progress("counting") as progress:
        advice = ask(
            data,
            measure=measure,
            reference=reference,
            seed=seed,
            report=report,
            save=save,
            overwrite=overwrite,
            verify=verify,
            jobs=jobs,
            label=label,
            configurations=configs,
            generate=generate,
            strength=strength,
            masks=options.names(masks) or None,
            roles=options.roles(identifying=identifying, quasi=quasi, sensitive=sensitive, insensitive=insensitive),
            label_bins=label_bins,
            policy=policy,
            hierarchies=hierarchies,
            progress=progress,
            **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
        )
    made = len(advice.ranking) + len(advice.rejected)
    if configs is None and made < generate:
        terminal.aside(f"note: these columns and masks allow {made} different configurations, fewer than {generate}")
    if json:
        terminal.print_json(advice.to_json())
    else:
        show_ranking(advice, top=top)
    for what, path in (("best configuration", save), ("report", report)):
        if path is not None:
            terminal.talk().print(f"{what}: {path}", soft_wrap=True)
    if report is None and save is None and not json:
        terminal.next_step(
            "add --report OUT.html for intervals, heat map and distributions, --save BEST.yaml to keep the best"
        )


def _kept(share: float | None) -> str:
    """A share for people: what exceeds the whole was gained, not kept."""
    if share is None:
        return "–"
    return "100 %+" if share > 1.0005 else f"{100 * share:.1f} %"


def _accuracy(tried: VerifiedConfiguration | None) -> str:
    """Of the models that were trained, with half the width of its interval, in percent."""
    if tried is None:
        return "not tried"
    return f"{100 * tried.accuracy:.1f} ± {50 * (tried.interval[1] - tried.interval[0]):.1f} %"


def show_ranking(advice: Ranking, *, top: int) -> None:
    """The ranking as a table, with the reasons for the first."""
    rows = []
    tried = {one.configuration: one for one in advice.verified}
    for one in advice.ranking[:top]:
        rows.append(
            [
                str(one.rank),
                one.configuration + (" ≈ best" if one.like_best and one.rank > 1 else ""),
                *([_accuracy(tried.get(one.configuration))] if tried else []),
                _kept(one.retained),
                "–" if one.deviation is None else f"{one.deviation:.5f}",
                f"± {(one.interval[1] - one.interval[0]) / 2:.5f}",
                one.reasons[-1] if one.reasons else "",
            ]
        )
    console = terminal.out()
    console.print(
        terminal.table(
            f"{advice.label} · {advice.measure} ({advice.unit}) · reference {advice.reference} · "
            f"{count(advice.rows, 'row')}",
            [
                "rank",
                "configuration",
                *([("accuracy", "right")] if tried else []),
                ("kept", "right"),
                ("deviation", "right"),
                "95 %",
                "why",
            ],
            rows,
        )
    )
    if len(advice.ranking) > top:
        console.print(f"… and {len(advice.ranking) - top} more", style="dim")
    alike = sum(one.like_best for one in advice.ranking[1:])
    if alike:
        those = "1 configuration" if alike == 1 else f"{alike} configurations"
        console.print(f"{those} cannot be told apart from the best on these rows.")
    if advice.rejected:
        named = list(advice.rejected)
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        console.print(
            f"{count(len(named), 'configuration')} {'does' if len(named) == 1 else 'do'} not satisfy the policy: "
            f"{', '.join(named[:8])}{more}"
        )
    for note in advice.notes:
        terminal.aside(f"note: {note}")
    for column, reason in advice.skipped.items():
        terminal.aside(f"left out: {column} ({reason})")
