"""``aegis run``: what a project decided, done again on tomorrow's file."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import DespiteLedger, Overwrite, PathLike, WithLedger, Working
from aegis.commands.release import show_ledger, show_written
from aegis.operation import Argument, Option

if TYPE_CHECKING:
    from aegis.library.run import Rerun


@dataclass(frozen=True)
class Run(WithLedger, Working):
    """Release a newer version of a table as its project decided: same roles, policy, masks and ledger; attacked again.

    The masks stay the same; --choose makes new candidates and takes the best of them.
    """

    data: Annotated[PathLike | None, Argument("The newer file (default: the one that the project names).")] = None
    _: KW_ONLY
    project: Annotated[PathLike, Option("The project file that aegis start wrote.")] = "aegis.yaml"
    delimiter: Annotated[
        str | None, Option("Field delimiter of the newer file (default: as the project says).", blank=True)
    ] = None
    encoding: Annotated[str | None, Option("Encoding of the newer file (default: as the project says).")] = None
    choose: Annotated[bool, Option("Make candidates again and take the one that is recommended now.")] = False
    out: Annotated[PathLike | None, Option("The release (default: NAME.released.csv beside the project).")] = None
    overwrite: Overwrite = False
    despite_ledger: DespiteLedger = None


@command(
    "run",
    Run,
    run="aegis.library.run:run",
    group=RELEASE,
    working="releasing",
    interrupted="nothing was released",
)
def show(rerun: Rerun, options: Run) -> None:
    """What changed since, what was released, and how to check it."""
    released = rerun.released
    for text in rerun.differences:
        terminal.aside(text)
    show_written(released)
    show_ledger(released.ledger)
    terminal.talk().print(rerun.headline, soft_wrap=True)
    terminal.next_step(f"aegis verify {terminal.word(released.out)} {terminal.word(released.certificate_path)}")
