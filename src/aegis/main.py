"""The entry point of the command line, small enough that Ctrl-C is answered from the first moment on.

What the command line imports takes a few tenths of a second, and whoever presses Ctrl-C there is told one sentence too:
nothing has begun, so the process may end at once.
"""

from __future__ import annotations

import os
import signal
from types import FrameType


def run() -> None:
    """Import the command line and run it."""
    signal.signal(signal.SIGINT, _end)
    from aegis.command_line import run as run_command_line

    run_command_line()


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"interrupted; nothing was left half-written\n")
    os._exit(130)
