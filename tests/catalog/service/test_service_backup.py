"""Backup and restore: the same catalog afterwards, on whichever database; anything broken restores nothing."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.catalog.conftest import keep_now

from aegis.catalog.database.backup import backup, restore
from aegis.catalog.database.tables import Product, Table, User
from aegis.catalog.service import audit_log, releases, requests
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.worker import verification
from aegis.errors import ConflictError, DataError, OutputError, VerificationError

Stage = Any


@pytest.fixture
def full(stage: Stage) -> Stage:
    """A catalog in which a whole flow happened."""
    stage.product()
    stage.summary()
    stage.request, stage.release = stage.provisioned()
    return stage


def _rows(catalog: Catalog) -> dict[str, list[Any]]:
    with catalog.read(SYSTEM) as work:
        return {
            table.name: [tuple(row) for row in work.session.execute(select(table).order_by(*table.primary_key.columns))]
            for table in Table.metadata.sorted_tables
        }


@pytest.mark.parametrize("onto", ["sqlite", "postgres"])
def test_what_is_restored_is_what_was_backed_up(
    full: Stage, onto: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = tmp_path / "catalog.backup"
    told = backup(full.catalog.database, full.catalog.store, out)
    assert out.stat().st_mode & 0o777 == 0o600
    assert told.files == 2
    url = str(tmp_path / "again.sqlite") if onto == "sqlite" else request.getfixturevalue("new_postgres")()
    assert restore(out, database_url=url, storage=tmp_path / "again") == told
    with Catalog.open(url, tmp_path / "again", clock=full.clock) as again:
        assert _rows(again) == _rows(full.catalog)
        assert list(again.store.digests()) == list(full.catalog.store.digests())
        with again.read(full.actor("admin")) as work:
            verdict = audit_log.verify(work, expected_head=told.audit_head)
            assert (verdict.intact, verdict.head) == (True, told.audit_head)
        with again.write(full.actor("consumer")) as work:  # and life goes on
            releases.open_download(work, release_id=full.release.id).stream.close()
            requests.withdraw(work, request_id=full.request.id)


def test_a_catalog_moves_into_a_bucket_and_back(full: Stage, tmp_path: Path, new_bucket: Callable[[], str]) -> None:
    first, second, bucket = tmp_path / "first.backup", tmp_path / "second.backup", new_bucket()
    told = backup(full.catalog.database, full.catalog.store, first)
    url = str(tmp_path / "in-bucket.sqlite")
    assert restore(first, database_url=url, storage=bucket) == told
    with Catalog.open(url, bucket, clock=full.clock) as moved:
        assert list(moved.store.digests()) == list(full.catalog.store.digests())
        again = backup(moved.database, moved.store, second)
    assert (again.files, again.file_bytes, again.audit_head) == (told.files, told.file_bytes, told.audit_head)
    back = str(tmp_path / "back.sqlite")
    restore(second, database_url=back, storage=tmp_path / "back")
    with Catalog.open(back, tmp_path / "back", clock=full.clock) as catalog:
        assert _rows(catalog) == _rows(full.catalog)
        for digest in full.catalog.store.digests():
            with catalog.store.open(digest) as file, full.catalog.store.open(digest) as original:
                assert file.read() == original.read()


def test_a_catalog_with_anything_in_it_is_left_alone(full: Stage, tmp_path: Path) -> None:
    out = tmp_path / "catalog.backup"
    backup(full.catalog.database, full.catalog.store, out)
    before = _rows(full.catalog)
    with pytest.raises(ConflictError, match="not empty"):
        restore(out, database_url=full.url, storage=full.catalog.store.root)
    assert _rows(full.catalog) == before


def test_a_backup_does_not_overwrite(small_stage: Stage, tmp_path: Path) -> None:
    out = tmp_path / "catalog.backup"
    backup(small_stage.catalog.database, small_stage.catalog.store, out)
    with pytest.raises(OutputError):
        backup(small_stage.catalog.database, small_stage.catalog.store, out)
    backup(small_stage.catalog.database, small_stage.catalog.store, out, overwrite=True)


def _repacked(archive: Path, out: Path, edit: Any) -> Path:
    with tarfile.open(archive) as source, tarfile.open(out, "w") as target:
        for entry in source:
            stream = source.extractfile(entry)
            assert stream is not None
            content = edit(entry.name, stream.read())
            if content is not None:
                fresh = tarfile.TarInfo(entry.name)
                fresh.size = len(content)
                target.addfile(fresh, io.BytesIO(content))
    return out


@pytest.mark.parametrize(
    "edit",
    [
        lambda name, content: content.replace(b"consumer", b"intruder") if name == "tables/users.jsonl" else content,
        lambda name, content: content + b" " if name.startswith("files/") else content,
        lambda name, content: None if name.startswith("files/") else content,
        lambda name, content: None if name == "tables/audit.jsonl" else content,
        lambda name, content: None if name == "manifest.json" else content,
        lambda name, content: b"{}" if name == "manifest.json" else content,
    ],
)
def test_a_changed_backup_restores_nothing(small_stage: Stage, tmp_path: Path, edit: Any) -> None:
    small_stage.product()
    small_stage.summary()
    backup(small_stage.catalog.database, small_stage.catalog.store, tmp_path / "good.backup")
    bad = _repacked(tmp_path / "good.backup", tmp_path / "bad.backup", edit)
    url = str(tmp_path / "again.sqlite")
    with pytest.raises((VerificationError, DataError)):
        restore(bad, database_url=url, storage=tmp_path / "again")
    with Catalog.open(url, tmp_path / "again") as again, again.read(SYSTEM) as work:
        assert work.session.scalar(select(func.count()).select_from(User)) == 0


def test_a_forged_audit_is_not_restored(small_stage: Stage, tmp_path: Path) -> None:
    """Every hash of the archive was made to fit; the chain does not."""
    small_stage.product()
    backup(small_stage.catalog.database, small_stage.catalog.store, tmp_path / "good.backup")
    lines: dict[str, bytes] = {}

    def edit(name: str, content: bytes) -> bytes:
        if name == "tables/audit.jsonl":
            lines[name] = content.replace(b"product registered", b"product borrowed", 1)
            return lines[name]
        return content

    _repacked(tmp_path / "good.backup", tmp_path / "half.backup", edit)

    def refit(name: str, content: bytes) -> bytes:
        if name != "manifest.json":
            return content
        manifest = json.loads(content)
        manifest["tables"]["audit"]["sha256"] = hashlib.sha256(lines["tables/audit.jsonl"]).hexdigest()
        return json.dumps(manifest).encode()

    bad = _repacked(tmp_path / "half.backup", tmp_path / "bad.backup", refit)
    with pytest.raises(VerificationError, match="audit"):
        restore(bad, database_url=str(tmp_path / "again.sqlite"), storage=tmp_path / "again")


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 10_240])
def test_what_is_no_backup_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError):
        restore(tmp_path / "x", database_url=str(tmp_path / "a.sqlite"), storage=tmp_path / "s")
    with pytest.raises(DataError, match="no backup"):
        restore(tmp_path / "missing", database_url=str(tmp_path / "a.sqlite"), storage=tmp_path / "s")


def test_for_what_is_no_backup_no_catalog_is_made(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    before, new = set(tmp_path.iterdir()), tmp_path / "new"
    for name in ("table.csv", "nowhere.tar"):
        with pytest.raises(DataError):
            restore(tmp_path / name, database_url=str(new / "c.sqlite"), storage=new / "files")
    assert set(tmp_path.iterdir()) == before


def test_files_of_nobody_are_swept_and_files_of_somebody_are_not(full: Stage) -> None:
    orphan = keep_now(full.catalog.store, [b"a crash came between the file and its row"], limit_bytes=100)
    assert verification.sweep(full.catalog) == 1
    assert orphan.digest not in set(full.catalog.store.digests())
    assert len(list(full.catalog.store.digests())) == 2
    with full.catalog.read(SYSTEM) as work:
        assert work.session.scalar(select(func.count()).select_from(Product)) == 1
