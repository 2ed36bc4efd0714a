"""``aegis verify``: is a release what its certificate says?"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from aegis.commands import terminal
from aegis.commands.command import RELEASE, command
from aegis.commands.fields import Engine, HierarchiesLike, PathLike
from aegis.operation import Argument, Option, Options

if TYPE_CHECKING:
    from aegis.library.verify import Verification


@dataclass(frozen=True)
class Verify(Options):
    """Check a release against its certificate: hashes, the masks on every value, every privacy model on its rows.

    Exit status 1 if something does not hold, 2 if a file is missing or is no certificate.
    """

    release: Annotated[str | Path, Argument("The released file, or the URL of the released table (…#table).")]
    certificate: Annotated[PathLike, Argument("Its .certificate.json.")]
    _: KW_ONLY
    key: Annotated[
        PathLike | None,
        Option("The provider's public key, to check the signature beside the certificate (….sig)."),
    ] = None
    signature: Annotated[PathLike | None, Option("The signature (default: CERTIFICATE.sig).", only_with="key")] = None
    hierarchies: Annotated[
        HierarchiesLike | None,
        Option("Folder of the hierarchies that distances are measured by (default: hierarchies beside the release)."),
    ] = None
    engine: Engine = None
    model: Annotated[
        PathLike | None, Option("The file of boxes that made the release, to check every row against them.")
    ] = None


@command("verify", Verify, run="aegis.library.verify:verify", group=RELEASE)
def show(verification: Verification, options: Verify) -> None:
    """What was checked, one line each."""
    rows: list[list[str | Text]] = [
        [check.name, Text("yes", style="green") if check.passed else Text("NO", style="bold red"), check.said]
        for check in verification.checks
    ]
    terminal.show_table("", ["what", "holds", "found"], rows)
    if verification.reason is not None:
        terminal.out().print(Text.assemble(("not verified: ", "bold red"), verification.reason), soft_wrap=True)
        return
    terminal.out().print(Text("verified", style="bold green"))
    for text in verification.not_checked:
        terminal.aside(f"not checked: {text}")
