"""Write files whole or not at all, alone or together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aegis.errors import OutputError

PUBLIC, PRIVATE = 0o644, 0o600


def check_free(*outputs: str | Path | None, overwrite: bool) -> None:
    """Raise if one of the ``outputs`` that are named may not be written, or two of them are one file."""
    paths = [Path(output) for output in outputs if output is not None]
    if len({path.resolve() for path in paths}) < len(paths):
        raise OutputError("two of the outputs are one file; give each a name of its own")
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path} is a folder; give the name of a file")
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists already; choose another name or add --overwrite")


def check_apart(outputs: Iterable[Any], inputs: Iterable[Any]) -> None:
    """Raise if an output is one of the inputs, or two outputs are one file: nobody means to lose a source.

    What a command line names is kept apart where it is declared (`aegis.operation`); this is for names that come from
    elsewhere.
    """
    taken = {Path(i).resolve(): i for i in inputs if isinstance(i, str | Path) and Path(i).is_file()}
    for output in outputs:
        if output is None or "://" in str(output):
            continue
        place = Path(output).resolve()
        if place in taken:
            raise OutputError(f"{output} is an input or another output of this command; choose another name")
        taken[place] = output


@contextmanager
def draft_of(path: Path, *, overwrite: bool = False, mode: int = PUBLIC) -> Iterator[Path]:
    """A temporary file beside ``path`` that becomes it when the block ends well, and vanishes otherwise."""
    with drafts_of([path], overwrite=overwrite, modes=[mode]) as (draft,):
        yield draft


@contextmanager
def drafts_of(
    paths: Sequence[Path], *, overwrite: bool = False, modes: Sequence[int] | None = None
) -> Iterator[tuple[Path, ...]]:
    """Temporary files beside several paths that become them together, or vanish together.

    The first path is the one that counts: it appears last, so that whoever sees it sees the others. A file that stood
    there is moved away before the others change, and comes back if the block fails.
    """
    modes = modes or [PUBLIC] * len(paths)
    drafts: list[Path] = []
    try:
        check_free(*paths, overwrite=overwrite)
        for path in paths:
            drafts.append(_new_draft(path))
        yield tuple(drafts)
        check_free(*paths, overwrite=overwrite)
        for draft, mode in zip(drafts, modes, strict=True):
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.chmod(mode)
        _put_in_place(paths, drafts)
    except OSError as error:
        raise OutputError(f"{paths[0]} cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write ``text`` as UTF-8."""
    with draft_of(path, overwrite=overwrite) as draft:
        draft.write_text(text, encoding="utf-8")


def _new_draft(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not readable by others while it is not yet known to be fit for them.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    return Path(name)


def _put_in_place(paths: Sequence[Path], drafts: Sequence[Path]) -> None:
    first = paths[0]
    aside = drafts[0].with_suffix(".old")
    stood = first.exists()
    if stood and len(paths) > 1:
        first.replace(aside)
    try:
        for path, draft in reversed(list(zip(paths, drafts, strict=True))):
            draft.replace(path)
    except BaseException:
        if aside.exists():
            aside.replace(first)
        raise
    aside.unlink(missing_ok=True)
    with suppress(OSError):  # some systems cannot flush a folder; the files themselves are flushed
        handle = os.open(first.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
