"""The one place that knows numba: loops that no array operation can express are compiled, and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` to machine code that lets other threads run meanwhile, and keep its type."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
