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
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from aegis.errors import NotFoundError, StorageFullError, TooLargeError

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


class Store(Protocol):
    """What the catalog needs of a place for files: a folder, or a bucket of an object store."""

    def draft(self, stream: Stream, *, limit_bytes: int) -> Draft:
        """Write the bytes down, outside of any transaction; `TooLargeError` beyond the limit, and nothing stays."""
        ...

    def check_room(self) -> None:
        """Raise `StorageFullError` where nothing more can be written."""
        ...

    def stage(self, draft: Draft) -> None:
        """Do what takes long about keeping a draft that was found good, outside of any transaction."""
        ...

    def keep(self, draft: Draft) -> Stored:
        """Give the draft its place for good."""
        ...

    def discard(self, draft: Draft) -> None:
        """Remove a draft; nothing happens if it was kept."""
        ...

    def open(self, digest: str) -> BinaryIO:
        """The bytes, to be read."""
        ...

    def size(self, digest: str) -> int:
        """How many bytes there are."""
        ...

    def local(self, digest: str) -> AbstractContextManager[Path]:
        """A file of the local disk that holds the bytes, for as long as the block lasts."""
        ...

    def remove(self, digest: str) -> None: ...

    def digests(self) -> Iterator[str]:
        """Everything that is kept."""
        ...

    def sweep_drafts(self, *, older_than_seconds: float, now_seconds: float) -> int:
        """Remove drafts that a crash left behind; gives how many."""
        ...

    def referring(self, *, removing: bool = False) -> AbstractContextManager[bool]:
        """Held from `keep` until the row that names the bytes is committed; alone by whoever removes bytes.

        Gives whether it is held: whoever removes does not wait for those who refer, which a backup does for long.
        """
        ...


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
        """Nothing: the draft is on the disk where it will stay."""

    def keep(self, draft: Draft) -> Stored:
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
        draft.path.unlink(missing_ok=True)

    def open(self, digest: str) -> BinaryIO:
        return self.path(digest).open("rb")

    def size(self, digest: str) -> int:
        return self.path(digest).stat().st_size

    @contextmanager
    def local(self, digest: str) -> Iterator[Path]:
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
        for path in sorted(self.root.glob("??/??/*")):
            if is_digest(path.name):
                yield path.name

    @contextmanager
    def referring(self, *, removing: bool = False) -> Iterator[bool]:
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
