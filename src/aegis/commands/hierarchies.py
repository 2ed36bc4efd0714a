"""``aegis hierarchies``: levels of generalisation for the columns of a table, previewed and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import CHOOSE, command
from aegis.commands.fields import Data, HierarchiesLike, PathLike, Person, WithRoles, replacing
from aegis.operation import Option

if TYPE_CHECKING:
    from aegis.library.hierarchies import HierarchyPreview


@dataclass(frozen=True)
class MakeHierarchies(WithRoles):
    """Make hierarchies from what columns hold, or take those of ARX, and show how large the groups of a level are."""

    data: Data
    _: KW_ONLY
    columns: Annotated[
        Sequence[str], Option("The columns, comma separated (default: the quasi-identifying ones, else all).")
    ] = ()
    hierarchies: Annotated[
        HierarchiesLike | None,
        Option("Folder of hierarchy files, as ARX writes them, to look at instead of making some."),
    ] = None
    order: Annotated[
        Sequence[str],
        Option("An order of texts, COLUMN=first<second<third; usual ones are known (months, sizes).", repeat=True),
    ] = ()
    k: Annotated[int, Option("Groups of fewer records, or people, count as small.", minimum=1)] = 5
    person: Person = None
    out: Annotated[
        PathLike | None, Option("Write the hierarchies to this folder, for editing.", writes="hierarchies")
    ] = None
    overwrite: Annotated[bool, replacing("out")] = False


@command("hierarchies", MakeHierarchies, run="aegis.library.hierarchies:hierarchies", group=CHOOSE)
def show(preview: HierarchyPreview, options: MakeHierarchies) -> None:
    """One line for each level of each column, with the groups it leaves."""
    counted = "people" if preview.unit else "records"
    for column in preview.columns:
        rows = [
            [
                str(level.number),
                level.what,
                f"{level.groups:,}",
                f"{level.smallest:,}",
                f"{level.small_groups:,}" if level.small_groups else "",
                f"{level.records_in_small_groups:,}" if level.small_groups else "",
            ]
            for level in column.levels
        ]
        figures = terminal.numbers("groups", f"smallest, {counted}", f"groups below {preview.k}", "records in them")
        terminal.show_table(f"{column.name} ({column.source})", [("level", "right"), "what", *figures], rows)
    if preview.out is None:
        terminal.aside("add --out FOLDER to keep and edit them")
    else:
        again = terminal.data_words(options.data, options)
        terminal.next_step(f"aegis search {again} --policy POLICY.yaml --hierarchies {terminal.word(preview.out)}")
