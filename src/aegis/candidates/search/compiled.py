"""The one place of the search that knows numba: loops that no array operation can express are compiled and cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile ``function`` to machine code, kept on disk for the next process."""
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))
