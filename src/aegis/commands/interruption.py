"""Ctrl-C, heard everywhere and acted on where it is safe.

Engines and compiled code turn a KeyboardInterrupt into errors of their own. So the signal is remembered: whatever
error follows it ends the command as an interruption, and anytime searches ask at safe places whether to stop.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_heard = False


def heard() -> bool:
    """Whether Ctrl-C was pressed since the command began."""
    return _heard


def forget() -> None:
    """It was answered: what comes after it is nobody's interruption."""
    global _heard
    _heard = False


def listen() -> None:
    """Remember Ctrl-C, and interrupt as usual."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        global _heard
        _heard = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


@contextmanager
def waiting() -> Iterator[Callable[[], None]]:
    """In this block the first Ctrl-C only takes effect where the function given is called; the second at once.

    Work that ends all the same, with the best so far, has answered it.
    """
    before = signal.getsignal(signal.SIGINT)

    def note(_signal: int, _frame: FrameType | None) -> None:
        global _heard
        if _heard:
            raise KeyboardInterrupt
        _heard = True

    def check() -> None:
        if _heard:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
        forget()
    finally:
        signal.signal(signal.SIGINT, before)
