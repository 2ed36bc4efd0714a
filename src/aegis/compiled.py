"""Loops that no array operation can express, compiled by numba and kept on disk for the next process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])

NONE_YET = cast(int, np.int64(-1))
"""No index found yet, as a typed number: for a literal -1 every function that it reaches is compiled once more."""

ZERO = cast(int, np.int64(0))
"""Where an index or a count begins that is handed to other functions, typed for the same reason."""


def compiled(function: F) -> F:
    """Compile ``function`` to machine code that lets other threads run meanwhile, and keep its type."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
