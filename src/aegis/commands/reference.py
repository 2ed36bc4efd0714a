"""``aegis masks`` and ``aegis measures``: what there is to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import LOOK_UP, command
from aegis.operation import Option, Options

if TYPE_CHECKING:
    from aegis.library.reference import MaskList, MeasureList


@dataclass(frozen=True, kw_only=True)
class Masks(Options):
    """List the masks with their parameters and an example."""

    schema: Annotated[bool, Option("Print the JSON Schema of configurations with the masks that are installed.")] = (
        False
    )


def masks_json(listing: MaskList, options: Masks) -> dict[str, Any]:
    """The masks, or the schema alone, ready to be saved for an editor."""
    return listing.to_json() if listing.schema is None else dict(listing.schema)


@command("masks", Masks, run="aegis.library.reference:list_masks", group=LOOK_UP, json=masks_json)
def show_masks(listing: MaskList, options: Masks) -> None:
    """A few lines per mask, or the schema."""
    if listing.schema is not None:
        terminal.print_json(listing.schema)
        return
    console = terminal.out()
    for mask in listing.masks:
        signature = ", ".join(p.name if p.required else f"{p.name}={p.default}" for p in mask.parameters)
        fits = "any column" if mask.fits_any else ", ".join(mask.kinds)
        console.print(Text.assemble((mask.name, "bold"), f"({signature})  ", (fits, "dim")), soft_wrap=True)
        summary = mask.summary.replace("``", "'")  # a parameter's name stays apart from the words around it
        console.print(Text(f"    {summary}"), soft_wrap=True)
        console.print(Text(f"    {mask.example.value} → {mask.example.masked}", style="green"), soft_wrap=True)
        if mask.aliases:
            console.print(Text(f"    also: {', '.join(mask.aliases)}", style="dim"), soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Measures(Options):
    """List the measures of utility with what is known of them."""


@command("measures", Measures, run="aegis.library.reference:list_measures", group=LOOK_UP)
def show_measures(listing: MeasureList, options: Measures) -> None:
    """Those of whole configurations, then those of single attributes."""
    pairs = [measure for measure in listing.measures if measure.basis == "pairs"]
    terminal.show_table(
        "Measures of whole configurations, from pairs of attributes (pair-prediction unless another is named)",
        ["name", "unit", "what it says"],
        [[m.name, m.unit, m.summary] for m in pairs],
    )
    terminal.out().print()
    terminal.show_table(
        "Measures of single attributes",
        ["name", "unit", "better", "monotone", "what it says"],
        [
            [m.name, m.unit, "higher" if m.higher_is_better else "lower", "yes" if m.monotone else "no", m.summary]
            for m in listing.measures
            if m.basis == "joint"
        ],
    )
