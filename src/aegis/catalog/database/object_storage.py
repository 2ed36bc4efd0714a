"""Files in a bucket of an S3-compatible object store, under the same names as in a folder.

Bytes are written to a draft on the local disk first, where they are counted and hashed; what was found good is sent to
``drafts/`` of the bucket and copied to its place there when it is kept. A key of an object store appears only with all
of its bytes, so that nothing is ever half there.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from aegis.catalog.database.connection import parse_url
from aegis.catalog.database.storage import (
    CHUNK_BYTES,
    GONE,
    Draft,
    FolderStore,
    Stored,
    Stream,
    chunks_of,
    is_digest,
    locked,
    place_of,
    storing,
)
from aegis.errors import (
    AegisError,
    EngineError,
    NotFoundError,
    StorageFullError,
    StorageUnreachableError,
    VerificationError,
)

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

    from aegis.catalog.database.storage import Bucket


_log = logging.getLogger("aegis.catalog")
_PART_BYTES = 8 << 20
_MOST_COPIED_BYTES = 5 << 30  # what a store copies by itself in one request
_PROBE = "probe"
_PROBE_SECONDS = 10.0
_SPOOL = "aegis-drafts-"
_FULL = ("<Code>QuotaExceeded", "StorageFull<", "507 Insufficient")


class BucketStore:
    """A bucket, or a prefix in one; nobody else writes there. Credentials are those of the environment."""

    def __init__(self, bucket: Bucket, *, lock: ReferenceLock, reserve_bytes: int = 0) -> None:
        self._lock = lock
        self._probed_at: float | None = None
        self._staged: set[str] = set()
        with storing():
            spool = Path(tempfile.gettempdir()) / f"{_SPOOL}{os.getuid()}"
            spool.mkdir(mode=0o700, exist_ok=True)
            if spool.is_symlink() or spool.stat().st_uid != os.getuid() or spool.stat().st_mode & 0o077:
                raise StorageFullError(f"{spool} is somebody else's; an administrator has to remove it")
        self._spool = FolderStore(spool, reserve_bytes=reserve_bytes)
        self._objects = _client(bucket)

    def check_room(self) -> None:
        self._spool.check_room()
        # At most every ten seconds: each probe is a request that is paid for.
        if self._probed_at is None or time.monotonic() - self._probed_at > _PROBE_SECONDS:
            self._probed_at = None
            with _store_errors(writing=True):
                obstore.put(self._objects, _PROBE, b"")
            self._probed_at = time.monotonic()

    def draft(self, stream: Stream, *, limit_bytes: int) -> Draft:
        self.check_room()
        return self._spool.draft(stream, limit_bytes=limit_bytes)

    def stage(self, draft: Draft) -> None:
        """Send the bytes to the bucket, so that keeping them is a copy there."""
        if draft.bytes <= _MOST_COPIED_BYTES:
            self._send(draft, _staged(draft))
            self._staged.add(_staged(draft))

    def keep(self, draft: Draft) -> Stored:
        place = place_of(draft.digest)
        if self._size(place) == draft.bytes:
            pass  # the same bytes were kept before
        elif _staged(draft) in self._staged:
            with _store_errors(writing=True):
                obstore.copy(self._objects, _staged(draft), place)
        else:  # larger than a store copies, or kept at once
            self._send(draft, place)
        return Stored(digest=draft.digest, bytes=draft.bytes)

    def discard(self, draft: Draft) -> None:
        self._spool.discard(draft)
        if _staged(draft) not in self._staged:
            return
        self._staged.discard(_staged(draft))
        try:
            with suppress(NotFoundError), _store_errors(writing=True):
                obstore.delete(self._objects, _staged(draft))
        except AegisError as error:  # whoever sent it is answered all the same; the sweep comes by later
            _log.warning("a draft stays in the object store until it is swept up (%s)", type(error).__name__)

    def open(self, digest: str) -> BinaryIO:
        place = place_of(digest)
        with _store_errors():
            # Piece by piece, each a request of its own: whoever reads slowly holds no connection to the store.
            return cast(BinaryIO, io.BufferedReader(_Reader(self._objects, place), CHUNK_BYTES))

    def size(self, digest: str) -> int:
        size = self._size(place_of(digest))
        if size is None:
            raise NotFoundError(GONE)
        return size

    @contextmanager
    def local(self, digest: str) -> Iterator[Path]:
        """A copy on the local disk, which is what its name says it is."""
        with tempfile.TemporaryDirectory(prefix="aegis-fetched-") as folder:
            path, hashed = Path(folder) / digest, hashlib.sha256()
            with self.open(digest) as stream, storing(), path.open("xb") as file:
                for chunk in chunks_of(stream):
                    hashed.update(chunk)
                    file.write(chunk)
            if hashed.hexdigest() != digest:
                raise VerificationError("a stored file was changed in the object store; restore it from a backup")
            yield path

    def remove(self, digest: str) -> None:
        with suppress(NotFoundError), _store_errors(writing=True):
            obstore.delete(self._objects, place_of(digest))

    def digests(self) -> Iterator[str]:
        names = []
        with _store_errors():
            for batch in obstore.list(self._objects):
                for entry in batch:
                    name = entry["path"].rpartition("/")[2]
                    if is_digest(name) and entry["path"] == place_of(name):
                        names.append(name)
        yield from sorted(names)

    def sweep_drafts(self, *, older_than_seconds: float, now_seconds: float) -> int:
        removed = self._spool.sweep_drafts(older_than_seconds=older_than_seconds, now_seconds=now_seconds)
        with _store_errors(writing=True):
            staged = [entry for batch in obstore.list(self._objects, "drafts") for entry in batch]
            for entry in staged:
                if now_seconds - entry["last_modified"].timestamp() > older_than_seconds:
                    obstore.delete(self._objects, entry["path"])
                    removed += 1
        return removed

    def referring(self, *, removing: bool = False) -> AbstractContextManager[bool]:
        return self._lock.held(alone=removing)

    def _send(self, draft: Draft, key: str) -> None:
        with _store_errors(writing=True):
            obstore.put(self._objects, key, draft.path, chunk_size=_PART_BYTES, max_concurrency=4)

    def _size(self, key: str) -> int | None:
        try:
            with _store_errors():
                return obstore.head(self._objects, key)["size"]
        except NotFoundError:
            return None


class _Reader(io.RawIOBase):
    """An object, read from its beginning to its end."""

    def __init__(self, objects: S3Store, key: str) -> None:
        self._file = obstore.open_reader(objects, key, buffer_size=_PART_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        with _store_errors():
            piece = bytes(self._file.read(len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def _staged(draft: Draft) -> str:
    return f"drafts/{draft.digest}-{draft.path.name}"


def _client(bucket: Bucket) -> S3Store:
    config: S3Config = {"virtual_hosted_style_request": not bucket.path_style}
    if bucket.endpoint:
        config["endpoint"] = bucket.endpoint
    if bucket.region:
        config["region"] = bucket.region
    options: ClientConfig = {
        "allow_http": bucket.endpoint.startswith("http://"),  # the address allows it on this machine only
        "connect_timeout": timedelta(seconds=5),
        "timeout": timedelta(seconds=60),
    }
    return S3Store(
        bucket.name,
        prefix=bucket.prefix or None,
        config=config,
        client_options=options,
        retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=15)},
    )


@contextmanager
def _store_errors(*, writing: bool = False) -> Iterator[None]:
    """Errors of the object store as those of the catalog; its own messages may hold addresses and keys."""
    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise StorageFullError(
                "the bucket where the catalog keeps files is not there; an administrator has to make it"
            ) from None
        raise NotFoundError(GONE) from None
    except (PermissionDeniedError, UnauthenticatedError):
        raise StorageFullError(
            f"the bucket where the catalog keeps files may not be {'written' if writing else 'read'}; "
            "an administrator has to look at its policy and the credentials"
        ) from None
    except BaseError as error:
        if any(mark in str(error) for mark in _FULL):
            raise StorageFullError(
                "the object store of the catalog is full; an administrator has to make room"
            ) from None
        raise StorageUnreachableError(
            "the object store where the catalog keeps files does not answer or broke off; try again in a moment"
        ) from None


# A lock beside the database, for stores that have none: held by those who refer to files, alone by who removes one.
#
# Whoever shares the database shares the lock: on SQLite a file beside it, on PostgreSQL an advisory lock of the server,
# so that several machines may share a bucket. Both end with their process, however that ends.

_ADVISORY_KEY = 0x6165676973  # any number that nobody else takes in this database


class ReferenceLock:
    """The lock of the catalog in the database at ``database_url``."""

    def __init__(self, database_url: str) -> None:
        self._url = parse_url(database_url)

    def held(self, *, alone: bool) -> AbstractContextManager[bool]:
        """Hold it together with others, or ``alone`` if nobody does; gives whether it is held."""
        is_file = self._url.get_backend_name() == "sqlite"
        return self._held_file(alone=alone) if is_file else self._held_advisory(alone=alone)

    @cached_property
    def _engine(self) -> Engine:
        # Connections of their own: taken from the pool, many writers at once would wait for each other's.
        return create_engine(self._url, poolclass=NullPool)

    @contextmanager
    def _held_file(self, *, alone: bool) -> Iterator[bool]:
        path = Path(f"{self._url.database}.storage-lock")
        with storing():
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        with os.fdopen(handle, "rb") as file:
            yield locked(file, alone=alone)

    @contextmanager
    def _held_advisory(self, *, alone: bool) -> Iterator[bool]:
        ask = text("SELECT pg_try_advisory_lock(:key)" if alone else "SELECT true FROM pg_advisory_lock_shared(:key)")
        try:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        except DBAPIError as error:
            raise _unanswered(error) from None
        with connection:
            try:
                is_held = bool(connection.scalar(ask, {"key": _ADVISORY_KEY}))
            except DBAPIError as error:
                raise _unanswered(error) from None
            yield is_held


def _unanswered(error: DBAPIError) -> EngineError:
    return EngineError(
        f"the database of the catalog does not lend its lock ({type(error.orig).__name__}); try again in a moment"
    )
