"""``aegis pull``: a release, downloaded and verified from scratch."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from aegis.catalog.commands.catalog_options import RemoteCatalog, catalog_command, client
from aegis.commands import terminal
from aegis.commands.fields import Hierarchies, Overwrite, PathLike
from aegis.errors import AegisError, NotFoundError, VerificationError
from aegis.operation import Argument, Option, operation
from aegis.result import Result

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client
    from aegis.catalog.records import Release


@dataclass(frozen=True)
class Pull(RemoteCatalog):
    """Download a release with its certificate and measure it again, here, from scratch.

    What does not hold what its certificate says is not kept: exit status 1.
    """

    what: Annotated[str, Argument("A product's name, or the id of a request or of a release.")]
    _: KW_ONLY
    out: Annotated[PathLike | None, Option("The file to write (default: the release's own name, here).")] = None
    hierarchies: Hierarchies = None
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled(Result):
    """A release that is here and verified; ``verification`` is what ``aegis verify --json`` says of it."""

    file: Path
    certificate: Path
    release: str
    present_policy: dict[str, str]
    verification: dict[str, Any]

    @property
    def headline(self) -> str:
        """Where it is."""
        return f"verified: {self.file}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """How it stands to a policy that was changed since."""
        return () if self.present_policy["standing"] == "satisfied" else (self.present_policy["said"],)

    def table_rows(self) -> list[dict[str, Any]]:
        """What was checked."""
        return list(self.verification["checks"])

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis pull --json`` prints."""
        return {
            "file": str(self.file),
            "certificate": str(self.certificate),
            "release": self.release,
            "present_policy": dict(self.present_policy),
            **self.verification,
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """What was verified stands beside the other fields in the JSON."""
        own = ("file", "certificate", "release", "present_policy")
        rest = {name: value for name, value in content.items() if name not in own}
        return {**{name: content[name] for name in own}, "verification": rest}


@operation(Pull)
def pull(options: Pull) -> Pulled:
    """Download a release and measure it again; raises VerificationError, and keeps nothing, where it does not hold."""
    from aegis.data.output import check_free
    from aegis.library.verify import verify

    with client(options) as catalog:
        release = find(catalog, options.what)
        target = Path(_safe(release.file_name)) if options.out is None else Path(options.out)
        beside = target.with_name(f"{target.name}.certificate.json")
        check_free(target, beside, overwrite=options.overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            # The release's own name says its format; it is checked there before it takes its place.
            arrived = catalog.download(release.id, Path(folder) / _safe(release.file_name))
            verification = verify(arrived.file, arrived.certificate, hierarchies=options.hierarchies)
            if not verification.verified:
                raise VerificationError(f"the release was not kept: {verification.reason}")
            Path(arrived.certificate).replace(beside)
            Path(arrived.file).replace(target)
    policy = release.present_policy
    return Pulled(
        file=target,
        certificate=beside,
        release=release.id,
        present_policy={"standing": policy.standing.value, "said": policy.said},
        verification=verification.to_json(),
    )


@catalog_command("pull", Pull, run="aegis.catalog.commands.pull:pull")
def pull_command(pulled: Pulled, options: Pull) -> None:
    """What was checked, and where the release is."""
    rows: list[list[str | Text]] = [
        [row["name"], Text("yes", style="green"), row["said"]] for row in pulled.table_rows()
    ]
    terminal.out().print(terminal.table("", ["what", "holds", "found"], rows))
    terminal.out().print(Text.assemble(("verified: ", "bold green"), str(pulled.file)), soft_wrap=True)
    terminal.next_step(f"aegis verify {terminal.word(pulled.file)} {terminal.word(pulled.certificate)}")


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
