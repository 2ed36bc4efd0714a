"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aegis.errors import OutputError


def check_free(path: Path, *, overwrite: bool) -> None:
    """Raise if ``path`` may not be written."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already; choose another name or add --overwrite")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give the name of a file")


@contextmanager
def draft_of(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary file beside ``path`` that becomes it when the block ends well, and vanishes otherwise."""
    check_free(path, overwrite=overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        check_free(path, overwrite=overwrite)
        draft.chmod(0o644)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write ``text`` as UTF-8."""
    with draft_of(path, overwrite=overwrite) as draft:
        try:
            draft.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from None
