"""The compiler of the loops. Only modules that are compiled import this one, and only while they are: see machine_code.

What is compiled here allocates nothing, which the compiler itself checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_numba: Any = numba  # its annotations know neither the option that forbids to allocate nor `carray`
F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Let other compiled functions call ``function``, and keep its type."""
    return cast(F, _numba.njit(error_model="numpy", _nrt=False)(function))


at: Any = _numba.carray
"""The array that lies at a pointer, given its shape."""
