"""``aegis masks`` and ``aegis measures``: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from aegis.commands import options, terminal


def masks(
    json: options.Json = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON Schema of configurations with the masks that are installed."),
    ] = False,
) -> None:
    """List the masks with their parameters and an example."""
    from aegis.data.kind import Kind
    from aegis.masking.catalogue import catalogue
    from aegis.masking.configuration_schema import configuration_schema

    if schema:
        terminal.print_json(configuration_schema())
        return
    rows = catalogue()
    if json:
        terminal.print_json(
            {
                "masks": [
                    {
                        "name": row.name,
                        "summary": row.summary,
                        "parameters": [
                            {"name": p.name, "required": p.required, "default": p.default} for p in row.parameters
                        ],
                        "kinds": [kind.value for kind in row.kinds],
                        "random": row.random,
                        "aliases": list(row.aliases),
                        "example": {"mask": row.example_spec, "value": row.example_value, "masked": row.example_masked},
                    }
                    for row in rows
                ]
            }
        )
        return
    console = terminal.out()
    for row in rows:
        fits = "any column" if len(row.kinds) == len(Kind) else ", ".join(row.kinds)
        console.print(Text.assemble((row.name, "bold"), f"({row.signature})  ", (fits, "dim")), soft_wrap=True)
        console.print(Text(f"    {row.summary.replace('``', '')}"), soft_wrap=True)
        console.print(Text(f"    {row.example_value} → {row.example_masked}", style="green"), soft_wrap=True)
        if row.aliases:
            console.print(Text(f"    also: {', '.join(row.aliases)}", style="dim"), soft_wrap=True)


def measures(json: options.Json = False) -> None:
    """List the measures of utility with what is known of them."""
    from aegis.measures.measure import MEASURES, AttributeMeasure, PairMeasure, measures_of

    if json:
        terminal.print_json({"measures": [measure.facts() for _, measure in MEASURES.items()]})
        return
    terminal.out().print(
        terminal.table(
            "Measures of whole configurations, from pairs of attributes (pair-prediction unless another is named)",
            ["name", "unit", "what it says"],
            [[m.name, m.unit, m.summary] for m in measures_of(PairMeasure).values()],
        )
    )
    terminal.out().print()
    terminal.out().print(
        terminal.table(
            "Measures of single attributes",
            ["name", "unit", "better", "monotone", "what it says"],
            [
                [m.name, m.unit, "higher" if m.higher_is_better else "lower", "yes" if m.monotone else "no", m.summary]
                for m in measures_of(AttributeMeasure).values()
            ],
        )
    )
