"""A summary folder as one archive, equal bytes for equal content, so that a repeated push is the same push."""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from aegis.counts.folder import is_summary
from aegis.errors import SummaryError

_SPOOL_BYTES = 16 << 20


def packed(folder: Path) -> IO[bytes]:
    """The folder's files as a gzip'd tar, at its start; small ones stay in memory. The caller closes it."""
    if not is_summary(folder):
        raise SummaryError(f"{folder} is not a summary; give the folder that aegis summarize wrote")
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        with (
            gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="", compresslevel=6) as smaller,
            tarfile.open(fileobj=smaller, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    content = path.read_bytes()
                    entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
