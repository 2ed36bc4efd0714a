"""Where summaries and releases lie: under the hash of their bytes, never changed, never half there.

Bytes are written to a draft, flushed to the disk and then renamed to their place, and only then does a row of the
database speak of them; so a row never names bytes that a crash could take away. A file that no row names is harmless
and is swept up later.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from aegis.catalog.settings import LOOPBACK
from aegis.errors import InputError, MissingExtraError, NotFoundError, StorageFullError, TooLargeError

if TYPE_CHECKING:
    from aegis.catalog.database.object_storage import BucketStore

CHUNK_BYTES = 1 << 20
_WATCHED_BYTES = 32 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
GONE = "the stored file is not there any more; ask the provider to push it again"

Stream = BinaryIO | Iterable[bytes]
"""Bytes to store: something to read from, or chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Bytes in the store: their hash and how many they are."""

    digest: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Bytes that arrived and are not kept yet."""

    path: Path
    digest: str
    bytes: int


Store: TypeAlias = "FolderStore | BucketStore"
"""What the catalog takes for a place for files: both do the same, a bucket as `FolderStore` says it."""


class FolderStore:
    """A folder on the local disk: ``ab/cd/<sha256>``, readable by its owner only."""

    def __init__(self, root: Path, *, reserve_bytes: int = 0) -> None:
        self.root = root
        self._reserve_bytes = reserve_bytes
        self._drafts = root / "drafts"
        self._lock = root / "lock"
        with storing():
            self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.touch(mode=0o600, exist_ok=True)

    def check_room(self) -> None:
        """Raise `StorageFullError` where nothing more can be written."""
        with storing():
            free = shutil.disk_usage(self.root).free
            if free < self._reserve_bytes:
                raise StorageFullError(
                    f"the disk of the catalog has {free >> 20} MiB left and {self._reserve_bytes >> 20} MiB are kept "
                    "free; an administrator has to make room"
                )
            handle, name = tempfile.mkstemp(dir=self._drafts)
            os.close(handle)
            Path(name).unlink()

    def draft(self, stream: Stream, *, limit_bytes: int) -> Draft:
        """Write the bytes down, outside of any transaction; `TooLargeError` beyond the limit, and nothing stays."""
        self.check_room()
        with storing():
            handle, name = tempfile.mkstemp(dir=self._drafts)  # 0600 from the start
        path = Path(name)
        hashed, size, watched = hashlib.sha256(), 0, 0
        try:
            with storing(), os.fdopen(handle, "wb") as file:
                for chunk in limited(stream, limit_bytes=limit_bytes):
                    size += len(chunk)
                    if size - watched > _WATCHED_BYTES:
                        watched = size
                        self.check_room()
                    hashed.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Draft(path=path, digest=hashed.hexdigest(), bytes=size)

    def stage(self, draft: Draft) -> None:
        """Do what takes long about keeping a draft that was found good, outside of any transaction: here nothing."""

    def keep(self, draft: Draft) -> Stored:
        """Give the draft its place for good."""
        place = self._place(draft.digest)
        with storing():
            for folder in (place.parent.parent, place.parent):
                if not folder.exists():
                    folder.mkdir(mode=0o700, exist_ok=True)
                    _flush_folder(folder.parent)
            # A write that is tried again after the database broke off may have put it there the first time.
            if draft.path.exists() or not place.is_file():
                draft.path.replace(place)
            _flush_folder(place.parent)
        return Stored(digest=draft.digest, bytes=draft.bytes)

    def discard(self, draft: Draft) -> None:
        """Remove a draft; nothing happens if it was kept."""
        draft.path.unlink(missing_ok=True)

    def open(self, digest: str) -> BinaryIO:
        """The bytes, to be read."""
        return self.path(digest).open("rb")

    def size(self, digest: str) -> int:
        """How many bytes there are."""
        return self.path(digest).stat().st_size

    @contextmanager
    def local(self, digest: str) -> Iterator[Path]:
        """A file of the local disk that holds the bytes, for as long as the block lasts."""
        yield self.path(digest)

    def path(self, digest: str) -> Path:
        """The file itself."""
        place = self._place(digest)
        if not place.is_file():
            raise NotFoundError(GONE)
        return place

    def remove(self, digest: str) -> None:
        with storing():
            self._place(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Everything that is kept."""
        for path in sorted(self.root.glob("??/??/*")):
            if is_digest(path.name):
                yield path.name

    @contextmanager
    def referring(self, *, removing: bool = False) -> Iterator[bool]:
        """Held from `keep` until the row that names the bytes is committed; alone by whoever removes bytes.

        Gives whether it is held: whoever removes does not wait for those who refer, which a backup does for long.
        """
        with self._lock.open("rb") as file:
            yield locked(file, alone=removing)

    def sweep_drafts(self, *, older_than_seconds: float, now_seconds: float) -> int:
        """Remove drafts that a crash left behind; gives how many."""
        removed = 0
        for path in self._drafts.iterdir():
            with storing(), suppress(FileNotFoundError):
                if now_seconds - path.stat().st_mtime > older_than_seconds:
                    path.unlink()
                    removed += 1
        return removed

    def _place(self, digest: str) -> Path:
        return self.root / place_of(digest)


def locked(file: BinaryIO, *, alone: bool) -> bool:
    """Lock a file together with others, or ``alone`` if nobody has it; it ends with its process, however that ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
    except BlockingIOError:
        return False
    return True


def is_digest(name: str) -> bool:
    """Whether something kept would be called so."""
    return _DIGEST.fullmatch(name) is not None


def place_of(digest: str) -> str:
    """Where bytes lie below the root of a store.

    >>> place_of("ab" * 32)[:8]
    'ab/ab/ab'
    """
    if not is_digest(digest):
        raise ValueError("a digest has 64 hexadecimal digits")
    return f"{digest[:2]}/{digest[2:4]}/{digest}"


@contextmanager
def storing() -> Iterator[None]:
    """Errors of the disk as those of the catalog: it is full, or may not be written."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StorageFullError("the disk of the catalog is full; an administrator has to make room") from None
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise StorageFullError(
                "the folder where the catalog keeps files may not be written; an administrator has to look at it"
            ) from None
        raise


def chunks_of(stream: Stream) -> Iterator[bytes]:
    """The bytes in pieces that fit into memory."""
    read = getattr(stream, "read", None)
    if read is None:
        yield from stream
        return
    while chunk := read(CHUNK_BYTES):
        yield chunk


def limited(stream: Stream, *, limit_bytes: int) -> Iterator[bytes]:
    """The bytes in pieces, and an error as soon as there are more than ``limit_bytes``."""
    size = 0
    for chunk in chunks_of(stream):
        size += len(chunk)
        if size > limit_bytes:
            raise TooLargeError(
                f"more than the {limit_bytes} bytes that are accepted were sent; send less or ask the administrator "
                "to raise the limit"
            )
        yield chunk


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# From what an administrator writes after ``--storage`` to the store: a folder, or a bucket at an s3:// address

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_EXAMPLE = "s3://BUCKET/PREFIX?endpoint=https://s3.example&region=eu-central-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A place in an object store; who one is there stands in the environment only."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    """The bucket's name is in the path of the address instead of its host, as many stores of one's own want it."""


def parse_bucket(address: str) -> Bucket:
    """The bucket of an s3:// address.

    >>> parse_bucket("s3://files/catalog?endpoint=https://minio.example:9000&style=path")
    Bucket(name='files', prefix='catalog', endpoint='https://minio.example:9000', region='', path_style=True)
    """
    try:
        parts = urlsplit(address)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InputError(f"the address of the storage cannot be read; write {_EXAMPLE}") from None
    if "@" in address:
        raise InputError(
            "an address of the storage holds no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
        )
    if parts.scheme != "s3" or not _BUCKET.fullmatch(parts.netloc) or parts.fragment:
        raise InputError(f"files lie in a folder or in a bucket; write the path of a folder or {_EXAMPLE}")
    prefix = unquote(parts.path).strip("/")
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise InputError("the prefix in the bucket is made of letters, digits, dots, strokes and /")
    settings = dict(options)
    if len(settings) != len(options) or not settings.keys() <= {"endpoint", "region", "style"}:
        raise InputError("an address of the storage takes endpoint, region and style, each once")
    if settings.get("style", "host") not in ("host", "path"):
        raise InputError("style is host or path: where the store expects the bucket's name")
    endpoint = settings.get("endpoint", "")
    there = urlsplit(endpoint)
    if endpoint and (there.scheme not in ("http", "https") or not there.hostname or there.query):
        raise InputError("the endpoint of the storage must be an address like https://s3.example")
    if there.scheme == "http" and there.hostname not in LOOPBACK:
        raise InputError("releases would travel to the storage in the clear; its endpoint must be https")
    return Bucket(
        name=parts.netloc,
        prefix=prefix,
        endpoint=endpoint,
        region=settings.get("region", ""),
        path_style=settings.get("style") == "path",
    )


def open_store(storage: str | Path, *, database_url: str, reserve_bytes: int = 0) -> Store:
    """The store at a folder or an s3:// address; its catalog's database says who may remove something."""
    if not isinstance(storage, str) or "://" not in storage:
        return FolderStore(Path(storage), reserve_bytes=reserve_bytes)
    bucket = parse_bucket(storage)
    try:
        from aegis.catalog.database.object_storage import BucketStore, ReferenceLock  # an extra
    except ModuleNotFoundError:
        raise MissingExtraError(feature="Storage in an object store", extra="s3") from None
    return BucketStore(bucket, lock=ReferenceLock(database_url), reserve_bytes=reserve_bytes)
