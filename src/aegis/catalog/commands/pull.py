"""``aegis pull``: a release, downloaded and verified from scratch."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from aegis.catalog.commands import catalog_options
from aegis.commands import options, terminal
from aegis.errors import AegisError, NotFoundError, VerificationError

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client
    from aegis.catalog.records import Release


def pull(
    what: Annotated[
        str, typer.Argument(help="A product's name, or the id of a request or of a release.", metavar="WHAT")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write (default: the release's own name, here).")
    ] = None,
    hierarchies: options.Hierarchies = None,
    overwrite: options.Overwrite = False,
    url: catalog_options.Url = catalog_options.DEFAULT_URL,
    token_file: catalog_options.TokenFile = None,
    json: options.Json = False,
) -> int:
    """Download a release with its certificate and measure it again, here, from scratch.

    What does not hold what its certificate says is not kept: exit status 1.
    """
    from aegis.catalog.records import Standing
    from aegis.data.output import check_free
    from aegis.library.verify import verify

    with catalog_options.client(url, token_file) as catalog:
        found = find(catalog, what)
        target = Path(_safe(found.file_name)) if out is None else out
        beside = target.with_name(f"{target.name}.certificate.json")
        for path in (target, beside):
            check_free(path, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            # The release's own name says its format; it is checked there before it takes its place.
            arrived = catalog.download(found.id, Path(folder) / _safe(found.file_name))
            examined = verify(arrived.file, arrived.certificate, hierarchies=hierarchies)
            if not examined.verified:
                raise VerificationError(f"the release was not kept: {examined.reason}")
            Path(arrived.certificate).replace(beside)
            Path(arrived.file).replace(target)
    if json:
        terminal.print_json(
            {
                "file": str(target),
                "certificate": str(beside),
                "release": found.id,
                "present_policy": {"standing": found.present_policy.standing.value, "said": found.present_policy.said},
                **examined.to_json(),
            }
        )
        return 0
    rows: list[list[str | Text]] = [[step.name, Text("yes", style="green"), step.said] for step in examined.checks]
    terminal.out().print(terminal.table("", ["what", "holds", "found"], rows))
    terminal.out().print(Text.assemble(("verified: ", "bold green"), str(target)), soft_wrap=True)
    if found.present_policy.standing is not Standing.SATISFIED:
        terminal.warn(found.present_policy.said)
    terminal.next_step(f"aegis verify {target} {beside}")
    return 0


def find(catalog: Client, what: str) -> Release:
    """The release that is meant: its own id, that of the request it fulfils, or the newest of a product."""
    if not re.fullmatch(r"[0-9a-f]{32}", what):
        for release in catalog.releases(what):
            if release.state == "verified":
                return release
        raise NotFoundError(f"{what} has no verified release for you yet; ask for access, or look at your request")
    try:
        return catalog.release(what)
    except NotFoundError as absent:
        try:
            request = catalog.request(what)
        except AegisError:
            raise absent from None
    if request.release_id is None:
        raise NotFoundError(f"the request is {request.state} and has no release yet; its provider pushes it")
    return catalog.release(request.release_id)


def _safe(name: str) -> str:
    """A file name without a folder, whatever the catalog calls it.

    >>> _safe("../../etc/clinic.csv"), _safe("")
    ('clinic.csv', 'release')
    """
    return Path(name.replace("\\", "/")).name.lstrip(".") or "release"
