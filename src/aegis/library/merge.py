"""Summaries of parts: a new partition is counted alone, and providers add counts without showing each other rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aegis.commands.merge import Merge
from aegis.commands.summarize import Summarize
from aegis.counts.addition import add_summaries, check_addable, count_part
from aegis.counts.folder import read_summary, write_summary
from aegis.counts.summary import Summary, configuration_of, mask_counts, reduced
from aegis.errors import OutputError, SummaryError
from aegis.library.tables.opening import open_table
from aegis.operation import operation


def append_part(options: Summarize) -> Summary:
    """Count the data alone, as the summary in the folder ``append`` was counted, and add it there (or write ``out``).

    The label, the configurations, the level and the ranges of numbers are those of the folder. ``part`` names the new
    rows (the data's own name otherwise); a name that was added before is refused, so that nothing is counted twice.
    """
    assert options.append is not None
    folder = Path(options.append)
    recorded = read_summary(folder)
    check_addable(recorded, f"the summary {recorded.name}")
    dataset = open_table(options.data, options)
    name = options.part or dataset.name
    _check_new(recorded, name)
    counted = count_part(dataset, recorded, progress=options.progress)
    configurations = [configuration_of(recorded, configuration.name) for configuration in recorded.configurations]
    added = mask_counts(counted, configurations, name=name)
    with _alone(folder):
        recorded = read_summary(folder)  # another part may have been added while this one was counted
        _check_new(recorded, name)
        whole = add_summaries([recorded, reduced(added, level=recorded.level)])
        if options.out is None:
            write_summary(whole, folder, overwrite=True)
        else:
            write_summary(whole, Path(options.out), overwrite=options.overwrite)
    return whole


@operation(Merge)
def merge(options: Merge) -> Summary:
    """Add summaries of different rows, made under the same configurations; write the sum to ``out`` if it is given.

    Example::

        rows = pandas.read_csv("clinic.csv", dtype={"zip": str}).drop(columns="patient")
        asked = {"label": "health", "configs": "configurations/light.yaml", "race": False}
        aegis.merge([aegis.summarize(rows[:600], **asked), aegis.summarize(rows[600:], **asked)])
    """
    folders = [Path(part).resolve() for part in options.summaries if not isinstance(part, Summary)]
    if len(set(folders)) < len(folders):
        raise SummaryError("a summary is named twice, and its rows would count twice; name each once")
    parts = [part if isinstance(part, Summary) else read_summary(Path(part)) for part in options.summaries]
    whole = add_summaries(parts, name=options.name)
    if options.out is not None:
        write_summary(whole, Path(options.out), overwrite=options.overwrite)
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
