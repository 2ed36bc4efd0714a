"""``aegis exposure``: what the masks of a summary reveal together."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from aegis.commands import options, terminal

if TYPE_CHECKING:
    from aegis.counts.exposure import AttributeExposure, MaskExposure


def exposure(
    summary: Annotated[Path, typer.Argument(help="A summary folder.")],
    k: Annotated[int, typer.Option("--k", min=1, help="Cells of fewer records count as small.")] = 5,
    json: options.Json = False,
) -> None:
    """Say what published summaries show when laid over each other: the smallest cells, and the records in them."""
    from aegis.library.exposure import exposure as expose

    found = expose(summary, k=k)
    if json:
        terminal.print_json(
            {
                "k": found.k,
                "rows": found.rows,
                "noisy": found.noisy,
                "opaque": found.opaque,
                "caveat": found.caveat,
                "smallest_cell": found.smallest_cell,
                "records_below_k": found.records_below_k,
                "smallest_cell_with_label": found.smallest_cell_with_label,
                "records_below_k_with_label": found.records_below_k_with_label,
                "attributes": [asdict(attribute) for attribute in found.attributes],
            }
        )
        return
    ordered = sorted(found.attributes, key=lambda a: (-a.records_below_k, -a.records_below_k_with_label))
    rows = [row for attribute in ordered for row in _rows(attribute)]
    numbers = ("masks", "cells", "smallest", f"records below {k}", "smallest with label", "records below with label")
    columns: list[str | tuple[str, str]] = ["attribute", *((name, "right") for name in numbers)]
    terminal.out().print(terminal.table("", columns, rows))
    if found.caveat is not None:
        terminal.out().print(Text.assemble(("caveat: ", "bold red"), found.caveat), soft_wrap=True)
    if found.noisy:
        terminal.aside("the counts carry noise: the sizes are not those of the data")
    if found.records_below_k_with_label or found.records_below_k:
        terminal.next_step(f"aegis summarize … --min-count {k}")


def _rows(attribute: AttributeExposure) -> list[list[str]]:
    """The attribute in a line, or a line for each mask that could not be laid over the others."""
    shown: list[tuple[str, str, AttributeExposure | MaskExposure]]
    shown = [(f"{attribute.name} · {mask.id}", "1", mask) for mask in attribute.masks]
    return [
        [
            name,
            masks,
            f"{one.cells:,}" + (f" ({attribute.open_cells:,} open)" if attribute.open_cells else ""),
            _number(one.smallest_cell),
            f"{one.records_below_k:,}",
            _number(one.smallest_cell_with_label),
            f"{one.records_below_k_with_label:,}",
        ]
        for name, masks, one in shown or [(attribute.name, str(attribute.partitions), attribute)]
    ]


def _number(value: int | None) -> str:
    return "open" if value is None else f"{value:,}"
