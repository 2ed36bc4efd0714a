"""A whole catalog in one file, and back: rows as lines of JSON that any database can take, files under their hashes.

The archive is a snapshot: every row as of one moment, and every file that those rows name. A restore goes into an
empty catalog only, checks every hash on the way and the audit chain at the end, and is one transaction.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Table as SqlTable
from sqlalchemy import func, insert, inspect, select, text
from sqlalchemy.orm import Session

from aegis._version import __version__
from aegis.catalog.database.audit_chain import verify_chain
from aegis.catalog.database.connection import Database, current_form
from aegis.catalog.database.storage import CHUNK_BYTES, Store, chunks_of, open_store
from aegis.catalog.database.tables import Audit, Release, Summary, Table, User, UtcTime
from aegis.catalog.states import KEPT_RELEASES
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import ConflictError, DataError, VerificationError

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_TOGETHER = 500
_MOST_BYTES = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an archive holds: rows per table, how many files, and where the audit ends."""

    created_at: str
    aegis: str
    form: str
    rows: dict[str, int]
    files: int
    file_bytes: int
    audit_rows: int
    audit_head: str


def backup(database: Database, store: Store, out: str | Path, *, overwrite: bool = False) -> Manifest:
    """Write the archive, whole or not at all, readable by its owner only."""
    out = Path(out)
    with (
        draft_of(out, overwrite=overwrite, mode=PRIVATE) as draft,
        tempfile.TemporaryDirectory(prefix="aegis-backup-", dir=draft.parent) as place,
        store.referring(),  # files that rows name stay while they are copied
        database.read(one_moment=True) as session,
    ):
        verdict = verify_chain(session)
        tables = {table.name: _dump(session, table, Path(place)) for table in Table.metadata.sorted_tables}
        sizes = {digest: store.size(digest) for digest in sorted(needed_files(session))}
        manifest = {
            "aegis_backup": FORMAT_VERSION,
            "created_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "aegis": __version__,
            "form": current_form(session.connection()),
            "tables": tables,
            "files": sizes,
            "audit": {"rows": verdict.rows, "head": verdict.head, "intact": verdict.intact},
        }
        (Path(place) / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        with tarfile.open(draft, "w") as archive:
            archive.add(Path(place) / _MANIFEST, arcname=_MANIFEST)
            for name in tables:
                archive.add(Path(place) / f"{name}.jsonl", arcname=f"tables/{name}.jsonl")
            for digest, size_bytes in sizes.items():
                _add(archive, store, digest, size_bytes=size_bytes)
    return _as_manifest(manifest)


def _add(archive: tarfile.TarFile, store: Store, digest: str, *, size_bytes: int) -> None:
    entry = tarfile.TarInfo(f"files/{digest}")
    entry.size, entry.mode = size_bytes, PRIVATE
    with store.open(digest) as stream:
        archive.addfile(entry, stream)


def restore(archive: str | Path, *, database_url: str, storage: str | Path) -> Manifest:
    """Fill an empty catalog from an archive; `ConflictError` where something is there already."""
    with _opened(Path(archive)) as file:
        manifest = _manifest(file)  # before a database is made for what is no backup
        # Filled in the form that it was written from; whoever opens it next brings it up to date.
        database = Database.open(database_url, form=manifest["form"])
        try:
            with database.write() as session:
                for table in (User, Audit):
                    if session.scalar(select(func.count()).select_from(table)):
                        raise ConflictError(
                            "the catalog is not empty; restore into a database and a folder of their own"
                        )
                if manifest["form"] != current_form(session.connection()):
                    raise ConflictError("the database has a newer form than the backup; restore into an empty one")
                _restore(file, manifest, session, open_store(storage, database_url=database_url))
                verdict = verify_chain(session, expected_head=manifest["audit"]["head"])
                if verdict.intact != manifest["audit"]["intact"] or verdict.head != manifest["audit"]["head"]:
                    raise VerificationError(
                        "the audit in the backup does not end where the backup says; nothing was restored"
                    )
                session.commit()
        finally:
            database.close()
    return _as_manifest(manifest)


def _restore(file: tarfile.TarFile, manifest: dict[str, Any], session: Session, store: Store) -> None:
    # A backup of an older form has the tables of that form: the database was made in it, too.
    there = set(inspect(session.connection()).get_table_names())
    tables = {table.name: table for table in Table.metadata.sorted_tables if table.name in there}
    session.execute(text("DELETE FROM chain_head"))
    seen: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="aegis-restore-") as place:
        for name, stream in _entries(file):
            kind, _, rest = name.partition("/")
            if kind == "files" and rest in manifest["files"]:
                draft = store.draft(stream, limit_bytes=_MOST_BYTES)
                if draft.digest != rest:
                    store.discard(draft)
                    raise VerificationError("a file in the backup is not the one it is called; nothing was restored")
                try:
                    store.keep(draft)
                finally:
                    store.discard(draft)
            elif kind == "tables" and (table := rest.removesuffix(".jsonl")) in tables:
                _copy(stream, Path(place) / rest, manifest["tables"][table]["sha256"])
            else:
                raise DataError("the backup holds something that no backup has; nothing was restored")
            seen.add(name)
        names = {f"files/{digest}" for digest in manifest["files"]} | {f"tables/{name}.jsonl" for name in tables}
        if seen != names:
            raise VerificationError("the backup is not complete; nothing was restored")
        for name, sql_table in tables.items():  # in the order of their references
            _load(session, sql_table, Path(place) / f"{name}.jsonl")


def _dump(session: Session, table: SqlTable, place: Path) -> dict[str, Any]:
    hashed, rows = hashlib.sha256(), 0
    with (place / f"{table.name}.jsonl").open("wb") as file:
        result = session.execute(select(table).order_by(*table.primary_key.columns).execution_options(yield_per=1_000))
        for row in result.mappings():
            plain = {key: v.isoformat() if isinstance(v, datetime.datetime) else v for key, v in row.items()}
            line = json.dumps(plain, ensure_ascii=True).encode() + b"\n"
            hashed.update(line)
            file.write(line)
            rows += 1
    return {"rows": rows, "sha256": hashed.hexdigest()}


def _load(session: Session, table: SqlTable, path: Path) -> None:
    moments = [column.name for column in table.columns if isinstance(column.type, UtcTime)]
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for line in file:
            row = json.loads(line)
            for name in moments:
                if row.get(name) is not None:
                    row[name] = datetime.datetime.fromisoformat(row[name])
            rows.append(row)
            if len(rows) == _TOGETHER:
                session.execute(insert(table), rows)
                rows = []
    if rows:
        session.execute(insert(table), rows)


def _copy(stream: IO[bytes], path: Path, expected: str) -> None:
    hashed = hashlib.sha256()
    with path.open("xb") as file:
        for chunk in chunks_of(stream):
            hashed.update(chunk)
            file.write(chunk)
    if hashed.hexdigest() != expected:
        raise VerificationError("a table in the backup was changed after it was written; nothing was restored")


def needed_files(session: Session) -> set[str]:
    """The digests of the files that rows name: of summaries, and of releases that are out or being measured."""
    kept = select(Release.digest).where(Release.state.in_(KEPT_RELEASES))
    return {*session.scalars(select(Summary.digest)), *session.scalars(kept)}


def _opened(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, "r:")
    except FileNotFoundError:
        raise DataError(f"there is no backup {path}; check the path") from None
    except (OSError, tarfile.TarError):
        raise DataError(f"{path} is not a backup of a catalog") from None


def _manifest(file: tarfile.TarFile) -> dict[str, Any]:
    try:
        first = file.next()
        stream = None if first is None or first.name != _MANIFEST or not first.isreg() else file.extractfile(first)
        manifest = json.loads(stream.read(64 * CHUNK_BYTES)) if stream is not None else None
        if manifest["aegis_backup"] != FORMAT_VERSION:  # type: ignore[index]
            raise DataError("the backup has another format than this Aegis reads; use the one that made it")
        return dict(manifest)  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError, tarfile.TarError):
        raise DataError("the file is not a backup of a catalog: it has no manifest") from None


def _entries(file: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in file:
        if entry.name == _MANIFEST:
            continue
        stream = file.extractfile(entry) if entry.isreg() else None
        if stream is None:
            raise DataError("the backup holds something that no backup has; nothing was restored")
        with stream:
            yield entry.name, stream


def _as_manifest(manifest: dict[str, Any]) -> Manifest:
    return Manifest(
        created_at=manifest["created_at"],
        aegis=manifest["aegis"],
        form=manifest["form"],
        rows={name: dumped["rows"] for name, dumped in manifest["tables"].items()},
        files=len(manifest["files"]),
        file_bytes=sum(manifest["files"].values()),
        audit_rows=manifest["audit"]["rows"],
        audit_head=manifest["audit"]["head"],
    )
