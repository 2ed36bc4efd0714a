"""A file as plain text that engines read: unpacked from gzip, bzip2, xz, Zstandard or zip, its lines ending alike.

A file that is cut or damaged is an error, never the rows that happen to be there.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from aegis.errors import DataError

_BLOCK = 1 << 22


def _zstandard(path: Path) -> Any:
    import pyarrow as pa  # part of the core, imported late because few need it

    return pa.input_stream(str(path), compression="zstd")


_OPENERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    ".gz": ("gzip", gzip.open),
    ".bz2": ("bzip2", bz2.open),
    ".xz": ("xz", lzma.open),
    ".zst": ("Zstandard", _zstandard),
    ".zstd": ("Zstandard", _zstandard),
    ".zip": ("zip", Path.open),
}


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in _OPENERS


def without_compression(path: Path) -> Path:
    """The name of the file inside: without the ending that says how it is compressed.

    >>> without_compression(Path("stays.csv.xz")).name, without_compression(Path("stays.csv")).name
    ('stays.csv', 'stays.csv')
    """
    return path.with_suffix("") if is_compressed(path) else path


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The file itself where it is not compressed; otherwise a copy of what is in it, readable by nobody else."""
    if not is_compressed(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
        plain = Path(folder) / "plain"
        with plain.open("wb") as file:
            for block in _blocks(path):
                file.write(block)
        yield plain


@contextmanager
def as_utf8(path: Path, encoding: str | None, *, named: str) -> Iterator[Path]:
    """A copy of a text in UTF-8, readable by nobody else; the file itself where ``encoding`` is None.

    Engines read a few encodings; a spreadsheet of some country writes its own (cp1252, cp932).
    """
    if encoding is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
        copy = Path(folder) / "utf8"
        try:
            with (
                path.open(encoding=encoding, newline="") as source,
                copy.open("w", encoding="utf-8", newline="") as target,
            ):
                while block := source.read(_BLOCK):
                    target.write(block)
        except UnicodeError:  # its message quotes what it could not read
            raise DataError(f"{named} is not text in {encoding}; name the encoding that it was written in") from None
        yield copy


@contextmanager
def evened(path: Path) -> Iterator[Path]:
    """A copy whose lines all end alike, readable by nobody else; what stands in quotes stays as it is.

    Files that were joined, or edited on two systems, have lines that end in different ways.
    """
    with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
        even = Path(folder) / "even"
        with path.open("rb") as source, even.open("wb") as target:
            quoted, carried = False, b""
            while block := source.read(_BLOCK):
                block, carried = carried + block, b""
                if block.endswith(b"\r"):  # its other half may be in the next block
                    block, carried = block[:-1], b"\r"
                parts = block.split(b'"')
                for number, part in enumerate(parts):
                    quoted = quoted != bool(number)  # every quote opens or closes; a doubled one does both
                    if not quoted:
                        parts[number] = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                target.write(b'"'.join(parts))
            target.write(b"\n" if carried and not quoted else carried)
        yield even


def _blocks(path: Path) -> Iterator[bytes]:
    """What a compressed file holds, block by block, to its very end."""
    name, opened = _OPENERS[path.suffix.lower()]
    try:
        if name == "zip":
            yield from _of_archive(path)
            return
        with opened(path) as stream:
            while block := stream.read(_BLOCK):
                yield block
    except (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile):
        raise _damaged(path, name) from None
    except (EOFError, zlib.error):
        raise DataError(f"{path.name} is cut short or damaged, so rows would be missing; fetch it again") from None
    except OSError as error:  # bzip2 and Zstandard say so of what is not theirs
        if error.errno is not None:
            raise DataError(f"{path.name} cannot be read: {error.strerror}") from None
        raise _damaged(path, name) from None


def _of_archive(path: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(files) != 1:
            raise DataError(f"{path.name} holds {len(files)} files and a table is one; unpack it and give the file")
        if files[0].flag_bits & 0x1:
            raise DataError(f"{path.name} is locked with a password; unpack it and give the file")
        stream: IO[bytes]
        with archive.open(files[0]) as stream:
            while block := stream.read(_BLOCK):
                yield block


def _damaged(path: Path, name: str) -> DataError:
    return DataError(
        f"{path.name} is no {name} file, is cut short or damaged; compress it again, or name it without {path.suffix}"
    )
