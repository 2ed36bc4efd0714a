"""Modules loaded without a look for garbage meanwhile.

What a module brings along stays as long as the process; looking through all of it again and again while the next one
is loaded finds nothing and takes a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

_OURS = {"process": False}


def own_process() -> None:
    """Say that the process is ours: what it has loaded is spared later looks too, and no garbage of others is kept."""
    _OURS["process"] = True


def loaded(name: str) -> ModuleType:
    """The module ``name``.

    >>> loaded("aegis.plural").count(2, "row")
    '2 rows'
    """
    with undisturbed():
        return import_module(name)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Where something is imported late: what it brings along is not looked through meanwhile."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
        if _OURS["process"]:
            gc.freeze()
    finally:
        if collecting:
            gc.enable()
