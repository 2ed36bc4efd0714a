"""``aegis exposure``: what the masks of a summary reveal together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import JUDGE, command
from aegis.commands.fields import SummaryLike
from aegis.operation import Argument, Option, Options

if TYPE_CHECKING:
    from aegis.counts.exposure import AttributeExposure, Exposure, MaskExposure


@dataclass(frozen=True)
class Expose(Options):
    """Show what published summaries reveal when combined: the smallest cells, and the records in them."""

    summary: Annotated[SummaryLike, Argument("A summary folder.")]
    _: KW_ONLY
    k: Annotated[int, Option("Cells of fewer records count as small.", minimum=1)] = 5


@command("exposure", Expose, run="aegis.library.exposure:exposure", group=JUDGE)
def show(exposure: Exposure, options: Expose) -> None:
    """The attributes, those that expose most first."""
    ordered = sorted(exposure.attributes, key=lambda a: (-a.records_below_k, -a.records_below_k_with_label))
    rows = [row for attribute in ordered for row in _rows(attribute)]
    below = f"records below {exposure.k}"
    numbers = ("masks", "cells", "smallest", below, "smallest with label", "records below with label")
    terminal.show_table("", ["attribute", *terminal.numbers(*numbers)], rows)
    if exposure.caveat is not None:
        terminal.out().print(Text.assemble(("caveat: ", "bold red"), exposure.caveat), soft_wrap=True)
    if exposure.noisy:
        terminal.aside("the counts carry noise: the sizes are not those of the data")
    if exposure.records_below_k_with_label or exposure.records_below_k:
        terminal.next_step(f"aegis summarize … --min-count {exposure.k}")


def _rows(attribute: AttributeExposure) -> list[list[str]]:
    """The attribute in a line, or a line for each mask that could not be laid over the others."""
    lines: list[tuple[str, str, AttributeExposure | MaskExposure]]
    lines = [(f"{attribute.name} · {mask.id}", "1", mask) for mask in attribute.masks]
    return [
        [
            name,
            masks,
            f"{cells.cells:,}" + (f" ({attribute.open_cells:,} open)" if attribute.open_cells else ""),
            _number(cells.smallest_cell),
            f"{cells.records_below_k:,}",
            _number(cells.smallest_cell_with_label),
            f"{cells.records_below_k_with_label:,}",
        ]
        for name, masks, cells in lines or [(attribute.name, str(attribute.partitions), attribute)]
    ]


def _number(value: int | None) -> str:
    return "open" if value is None else f"{value:,}"
