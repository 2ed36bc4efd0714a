"""Ctrl-C inside an engine: engines turn it into errors of their own, and nobody's data is at fault."""

from __future__ import annotations


def is_interruption(error: BaseException) -> bool:
    """Whether an engine's error means that somebody interrupted the query.

    >>> is_interruption(RuntimeError("Query interrupted")), is_interruption(ValueError("no column interrupted"))
    (True, False)
    """
    seen: BaseException | None = error
    while seen is not None:
        if "Interrupt" in type(seen).__name__:  # KeyboardInterrupt itself, and DuckDB's InterruptException
            return True
        # Other errors may quote names or data, so only the bare error of DuckDB's Python binding is read.
        if type(seen) is RuntimeError and "interrupt" in str(seen).lower():
            return True
        seen = seen.__cause__ or seen.__context__
    return False
