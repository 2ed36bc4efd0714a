"""The upkeep of a catalog: ``aegis audit verify``, and with ``aegis backup`` and ``restore`` everything in one file."""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from aegis.catalog.commands.catalog_options import OwnCatalog, catalog_command, check_server, open_catalog
from aegis.commands import terminal
from aegis.commands.fields import Overwrite, PathLike
from aegis.operation import Argument, Option, operation
from aegis.plural import count
from aegis.result import Result

if TYPE_CHECKING:
    from aegis.catalog.database.backup import Manifest


@dataclass(frozen=True, kw_only=True)
class VerifyAudit(OwnCatalog):
    """Walk the chain of hashes and find any row that was changed, removed, added or moved.

    Exit status 1 if the chain is broken. Note the head elsewhere: whoever can rewrite the whole database can rewrite
    the whole chain, but not what you noted.
    """

    head: Annotated[str | None, Option("A head that was noted earlier; it must still be in the chain.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict(Result):
    """Whether the chain is whole: how many rows were walked, where it first fails and why, and its last hash."""

    rows: int
    intact: bool
    first_broken: int | None
    reason: str | None
    head: str

    @property
    def exit_status(self) -> int:
        """1 if the chain is broken."""
        return 0 if self.intact else 1

    @property
    def headline(self) -> str:
        """Whether it is intact."""
        if self.intact:
            return f"intact: {count(self.rows, 'row')}"
        return f"broken at row {self.first_broken}: {self.reason}"


@operation(VerifyAudit)
def verify_audit(options: VerifyAudit) -> AuditVerdict:
    """Walk the catalog's record; with a ``head`` that was noted earlier, see that it is still in the chain."""
    with open_catalog(options) as catalog:
        from aegis.catalog.records import record_of  # an extra
        from aegis.catalog.service.audit_log import verify
        from aegis.catalog.service.permissions import SYSTEM

        with catalog.read(SYSTEM) as work:
            verdict = verify(work, expected_head=options.head)
    return record_of(AuditVerdict, verdict)


@catalog_command("audit verify", VerifyAudit, run="aegis.catalog.commands.upkeep:verify_audit")
def audit_command(verdict: AuditVerdict, options: VerifyAudit) -> None:
    """Whether it is whole, and the head to note."""
    mark, _, rest = verdict.headline.partition(" ")
    style = "bold green" if verdict.intact else "bold red"
    terminal.out().print(Text.assemble((f"{mark} ", style), rest), soft_wrap=True)
    if verdict.intact:
        terminal.out().print(f"head: {verdict.head}", soft_wrap=True)


@dataclass(frozen=True)
class Backup(OwnCatalog):
    """Write the whole catalog, database and stored files, into one archive. The catalog may go on running."""

    out: Annotated[PathLike, Argument("The archive to write (.tar).")]
    _: KW_ONLY
    overwrite: Overwrite = False


@dataclass(frozen=True)
class Restore(OwnCatalog):
    """Fill an empty catalog from an archive, and check its record; one that holds anything is left alone."""

    archive: Annotated[PathLike, Argument("An archive that aegis backup wrote.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Result):
    """What an archive holds: rows per table, how many files, and where the audit ends."""

    archive: Path
    created_at: str
    aegis: str
    form: str
    rows: dict[str, int]
    files: int
    file_bytes: int
    audit_rows: int
    audit_head: str

    @property
    def headline(self) -> str:
        """How much there is, and of when."""
        rows, files = count(sum(self.rows.values()), "row"), count(self.files, "file")
        return f"{self.archive}: {rows} and {files}, as of {self.created_at}"

    def table_rows(self) -> list[dict[str, Any]]:
        """How many rows each table has."""
        return [{"table": table, "rows": rows} for table, rows in self.rows.items()]


@operation(Backup)
def backup(options: Backup) -> Archive:
    """Write the archive, whole or not at all, readable by its owner only."""
    with open_catalog(options) as catalog:
        from aegis.catalog.database.backup import backup as write  # an extra

        manifest = write(catalog.database, catalog.store, options.out, overwrite=options.overwrite)
    return _archive(Path(options.out), manifest)


@operation(Restore)
def restore(options: Restore) -> Archive:
    """Fill an empty catalog from an archive."""
    check_server()
    from aegis.catalog.database.backup import restore as fill  # an extra

    archive = Path(options.archive)
    return _archive(archive, fill(archive, database_url=options.database, storage=options.storage))


def _archive(path: Path, manifest: Manifest) -> Archive:
    return Archive(archive=path, **asdict(manifest))


@catalog_command("backup", Backup, run="aegis.catalog.commands.upkeep:backup")
def backup_command(archive: Archive, options: Backup) -> None:
    """How much there is, and the head of the record, worth noting elsewhere."""
    _show(archive)
    terminal.next_step(f"aegis restore {terminal.word(options.out)} --database NEW.sqlite --storage NEW-FOLDER")


@catalog_command("restore", Restore, run="aegis.catalog.commands.upkeep:restore")
def restore_command(archive: Archive, options: Restore) -> None:
    """How much there is, and the head of the record."""
    _show(archive)
    database = "URL" if "://" in options.database else terminal.word(options.database)
    terminal.next_step(f"aegis serve --database {database} --storage {terminal.word(options.storage)}")


def _show(archive: Archive) -> None:
    terminal.out().print(archive.headline, soft_wrap=True)
    terminal.out().print(f"audit: {count(archive.audit_rows, 'row')}, head {archive.audit_head}", soft_wrap=True)
