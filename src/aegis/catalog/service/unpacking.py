"""A summary in one file, zip or tar, unpacked with care because it comes from outside.

Only the files a summary has are taken, under names of our own choosing; links, devices, absolute paths and paths that
climb are refused, and so is whatever grows beyond the limits while it is unpacked, whatever its header says.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from aegis.catalog.database.storage import Store, limited
from aegis.catalog.settings import Settings
from aegis.counts.folder import MANIFEST, read_summary
from aegis.counts.summary import Summary
from aegis.errors import AegisError, SummaryError, TooLargeError

_NAME = re.compile(r"(?:[A-Za-z0-9._-]{1,100}/)?(summary\.json|attributes/[0-9]{1,6}\.json)")
_MOST_AT_ONCE = 2 << 20  # no honest archive asks for more in one read; a forged header does
_CHUNK = 1 << 16


class _Careful(io.RawIOBase):
    """A file that refuses to be read in one huge piece, as forged archive headers ask for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._end - self._file.tell(), 0)
        size = left if size is None or size < 0 else size
        if size > _MOST_AT_ONCE:
            raise SummaryError("the archive has a table of contents that no summary has; pack the folder again")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@contextmanager
def unpacked(path: Path, settings: Settings) -> Iterator[Path]:
    """The summary folder of an archive, in a temporary place."""
    with tempfile.TemporaryDirectory(prefix="aegis-summary-") as place:
        folder = Path(place) / "summary"
        (folder / "attributes").mkdir(parents=True)
        with path.open("rb") as file:
            _unpack(file, folder, settings)
        yield folder


@contextmanager
def opened_summary(store: Store, digest: str, settings: Settings) -> Iterator[Summary]:
    """A summary of the store, read."""
    with store.local(digest) as file, unpacked(file, settings) as folder:
        yield read_carefully(folder)


def read_carefully(folder: Path) -> Summary:
    """Read and check a summary from outside: whatever is wrong with it is one sentence without paths or values."""
    try:
        return read_summary(folder)
    except AegisError as error:
        sentence = str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "the summary")
        raise SummaryError(sentence) from None
    except (
        Exception,
        MemoryError,
        RecursionError,
    ) as error:  # a forged file may break anything, and must break nothing
        raise SummaryError(
            f"the summary does not follow the summary format ({type(error).__name__}); write it again with "
            "aegis summarize"
        ) from None


def _unpack(file: BinaryIO, folder: Path, settings: Settings) -> None:
    start = file.read(4)
    file.seek(0)
    try:
        if start[:2] == b"PK":
            with zipfile.ZipFile(_Careful(file)) as archive:
                _write(_of_zip(archive), folder, settings)
        elif start[:2] == b"\x1f\x8b":
            with tempfile.TemporaryFile() as plain, gzip.GzipFile(fileobj=file) as squeezed:
                # Room for the headers of the entries, of a thousand bytes and more each.
                room = settings.summary_unpacked_bytes + 4_096 * settings.summary_files
                for chunk in limited(iter(lambda: squeezed.read(_CHUNK), b""), limit_bytes=room):
                    plain.write(chunk)
                plain.seek(0)
                _unpack_tar(plain, folder, settings)
        else:
            _unpack_tar(file, folder, settings)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError):
        raise SummaryError("the archive is broken, or neither zip nor tar; pack the summary folder again") from None
    except (ValueError, OSError, RuntimeError, OverflowError) as error:
        if isinstance(error, AegisError):
            raise
        raise SummaryError("the archive cannot be unpacked; pack the summary folder again") from None


def _unpack_tar(file: Any, folder: Path, settings: Settings) -> None:
    with tarfile.open(fileobj=_Careful(file), mode="r:") as archive:
        _write(_of_tar(archive), folder, settings)


def _of_zip(archive: zipfile.ZipFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        kind = entry.external_attr >> 28  # the type of a Unix file; 0 where the archive does not say
        if kind not in (0, 0o10) or entry.flag_bits & 1:
            raise SummaryError("the archive holds links or locked files; pack the summary folder alone")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SummaryError("the archive is packed in an unusual way; use plain zip or tar")
        with archive.open(entry) as stream:
            yield entry.filename, stream


def _of_tar(archive: tarfile.TarFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in archive:
        if entry.isdir():
            continue
        stream = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
        if stream is None:
            raise SummaryError("the archive holds links or devices; pack the summary folder alone")
        with stream:
            yield entry.name.removeprefix("./"), stream


def _write(entries: Iterable[tuple[str, IO[bytes]]], folder: Path, settings: Settings) -> None:
    left, seen = settings.summary_unpacked_bytes, set()
    for name, stream in entries:
        match = _NAME.fullmatch(name)
        if match is None:
            raise SummaryError("the archive holds files that no summary has; pack the summary folder alone")
        inside = match.group(1)
        if inside in seen:
            raise SummaryError("the archive holds a file twice; pack the summary folder again")
        seen.add(inside)
        if len(seen) > settings.summary_files:
            raise TooLargeError(f"the archive holds more than the {settings.summary_files} files that are accepted")
        with (folder / inside).open("xb") as file:
            pieces = iter(lambda s=stream: s.read(_CHUNK), b"")  # type: ignore[misc]
            for chunk in limited(pieces, limit_bytes=min(left, settings.summary_file_bytes)):
                file.write(chunk)
                left -= len(chunk)
    if MANIFEST not in seen:
        raise SummaryError(f"the archive holds no {MANIFEST}; pack the folder that aegis summarize wrote")
