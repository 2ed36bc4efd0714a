"""Tried again where the database broke off: it may just have been started again.

A read is always safe to repeat. A write is where nothing of it happened for certain, or where its key finds what did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from aegis.errors import BrokenOffError

T = TypeVar("T")
ATTEMPTS = 3
PAUSE_S = 0.3


def again_if_undone(
    act: Callable[[], T], *, is_keyed: bool = False, attempts: int = ATTEMPTS, pause_s: float = PAUSE_S
) -> T:
    """Do it, and again where the database broke off and nothing was written.

    With ``is_keyed`` the act finds by itself whether it was done before, and is repeated in any case.
    """
    for attempt in range(1, attempts + 1):
        try:
            return act()
        except BrokenOffError as error:
            if attempt == attempts or not (error.undone or is_keyed):
                raise
        time.sleep(pause_s * attempt)
    raise AssertionError("the last attempt returns or raises")
