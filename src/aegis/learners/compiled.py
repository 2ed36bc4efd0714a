"""The one place of the learners that knows numba: loops are compiled once and kept on disk for the next process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` to machine code that lets other threads run meanwhile, and keep its type."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
