"""How long work says how far it is: one shape of callback for every room.

Work that takes more than a moment has a parameter ``progress: Progress | None = None`` and calls it whenever a part
of it is done. The command line draws a bar from the calls, the catalog's worker notes them in its job, a notebook may
print them. A callback that raises ends the work: that is how a caller stops it.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as work proceeds.

    >>> def show(done: int, total: int | None, what: str) -> None:
    ...     print(f"{done} of {total}: {what}")
    >>> progress: Progress = show
    >>> progress(3, 40, "counting age")
    3 of 40: counting age
    """

    def __call__(self, done: int, total: int | None, what: str, /) -> None:
        """Note that ``done`` parts of ``total`` are finished, the latest being ``what``.

        ``total`` is None as long as nobody knows how many there will be. ``what`` names columns, configurations and
        files only, never a value of a record.
        """
