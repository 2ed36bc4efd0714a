"""Summaries of parts: a new partition is counted alone, and providers add counts without showing each other rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aegis.counts.addition import add_summaries, check_addable
from aegis.counts.collect_part import count_part
from aegis.counts.folder import read_summary, write_summary
from aegis.counts.summary import Summary, configuration_of, reduced
from aegis.counts.summary import summarize as summarize_counts
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import OutputError, SummaryError
from aegis.progress import Progress


def append_part(
    data: Any,
    *,
    append: str | Path,
    part: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    roles: Roles | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Summary:
    """Count ``data`` alone, as the summary in the folder ``append`` was counted, and add it there (or write ``out``).

    The label, the configurations, the level and the ranges of numbers are those of the folder. ``part`` names the new
    rows (the data's own name otherwise); a name that was added before is refused, so that nothing is counted twice.
    """
    folder = Path(append)
    recorded = read_summary(folder)
    check_addable(recorded, f"the summary {recorded.name}")
    dataset = data if isinstance(data, Dataset) else open_dataset(data, roles=roles, **options)
    name = part or dataset.name
    _check_new(recorded, name)
    counted = count_part(dataset, recorded, progress=progress)
    added = summarize_counts(
        name=name,
        label=counted.label,
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=[configuration_of(recorded, one.name) for one in recorded.configurations],
        skipped=recorded.skipped,
    )
    with _alone(folder):
        recorded = read_summary(folder)  # another part may have been added while this one was counted
        _check_new(recorded, name)
        whole = add_summaries([recorded, reduced(added, level=recorded.level)])
        if out is None:
            write_summary(whole, folder, overwrite=True)
        else:
            write_summary(whole, Path(out), overwrite=overwrite)
    return whole


def merge_summaries(
    parts: Sequence[Summary | str | Path],
    *,
    out: str | Path | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Summary:
    """Add summaries of different rows, made under the same configurations; write the sum to ``out`` if it is given."""
    folders = [Path(part).resolve() for part in parts if not isinstance(part, Summary)]
    if len(set(folders)) < len(folders):
        raise SummaryError("a summary is named twice, and its rows would count twice; name each once")
    read = [part if isinstance(part, Summary) else read_summary(Path(part)) for part in parts]
    whole = add_summaries(read, name=name)
    if out is not None:
        write_summary(whole, Path(out), overwrite=overwrite)
    return whole


def _check_new(recorded: Summary, name: str) -> None:
    if name in (recorded.parts or (recorded.name,)):
        raise SummaryError(
            f"a part called {name!r} is in the summary already; if these are other rows give them a name of their own "
            "with --part"
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else adds to the folder meanwhile; where the system has no locks, the last one to write wins."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)  # the folder itself stays; the files in it are replaced
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(f"somebody else is adding to {folder} at this moment; try again") from None
        yield
    finally:
        os.close(handle)
