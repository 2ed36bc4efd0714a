"""Ibis without the compilers of engines that nobody asks.

Importing one engine of Ibis imports the compilers of all of them, and with them every dialect of SQL: more than what
DuckDB needs, at every start. The package of the compilers is entered here with the one of DuckDB in it; whoever asks it
for another name, or for a module of it, gets that as ever.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGE = "ibis.backends.sql.compilers"


def enter_only_duckdb() -> None:
    """Enter the package of compilers with that of DuckDB alone, unless it has been imported before."""
    if PACKAGE in sys.modules:
        return
    found = find_spec(PACKAGE)  # imports the packages around it, not this one
    if found is None or found.loader is None or found.submodule_search_locations is None:
        return
    package = module_from_spec(found)
    package.__dict__["__getattr__"] = _All(package, found)
    sys.modules[PACKAGE] = package
    package.__dict__["DuckDBCompiler"] = import_module(f"{PACKAGE}.duckdb").DuckDBCompiler


class _All:
    """Imports the compilers of all engines at the first name that is not there."""

    def __init__(self, package: ModuleType, found: ModuleSpec) -> None:
        self._package, self._found = package, found

    def __call__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        loader, known = self._found.loader, self._package.__dict__
        assert loader is not None
        if known.pop("__getattr__", None) is not None:
            loader.exec_module(self._package)
        if name not in known:
            raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")
        return known[name]
