"""``aegis reconstruct``: what the authorised party makes of a sanitized release."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import Overwrite, PathLike, Reading, TableLike
from aegis.operation import Argument, Option
from aegis.plural import count

if TYPE_CHECKING:
    from aegis.library.reconstruct import Reconstructed


@dataclass(frozen=True)
class Reconstruct(Reading):
    """Estimate private values from a sanitized release and the authorised party's own columns."""

    release: Annotated[TableLike, Argument("The release that 'aegis sanitize' wrote, public or the party's own.")]
    _: KW_ONLY
    with_: Annotated[TableLike, Option("The party's own columns: the same records in the same order.")]
    model: Annotated[PathLike, Option("The reconstructor that came with the release (.npz).")]
    out: Annotated[PathLike, Option("The .csv or .parquet file to write.", writes="estimates")]
    overwrite: Overwrite = False


@command("reconstruct", Reconstruct, run="aegis.library.reconstruct:reconstruct", group=RELEASE)
def show(done: Reconstructed, options: Reconstruct) -> None:
    """One line for each column, with the error that was measured when the release was made."""
    for filled in done.filled:
        terminal.aside(filled.sentence())
    rows = [[column, f"{loss:.4g}"] for column, loss in done.promised.items()]
    title = f"estimates of {count(done.rows, 'row')}"
    terminal.show_table(title, ["column", ("error on rows kept apart", "right")], rows)
