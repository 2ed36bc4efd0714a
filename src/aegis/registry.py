"""Named things that outsiders may add to: masks, measures, privacy models, anonymizers, engines.

There is one Registry class and one instance per kind of thing, living in the room that owns the kind. Other packages
add entries through entry points of the group ``aegis.<kind>``; they are loaded at the first look-up, not at import.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from aegis.errors import AegisError, InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """A mapping from a public name to a thing of one kind.

    >>> colours: Registry[int] = Registry("colours", noun="colour")
    >>> colours.add("red", 1)
    1
    >>> colours["red"], list(colours)
    (1, ['red'])
    >>> colours["rde"]
    Traceback (most recent call last):
    aegis.errors.InputError: there is no colour called 'rde'; did you mean 'red'? (known: red)
    """

    def __init__(
        self, kind: str, *, noun: str, error: type[AegisError] = InputError, modules: tuple[str, ...] = ()
    ) -> None:
        self.kind = kind
        self.noun = noun
        self._error = error
        self._modules = modules
        self._entries: dict[str, T] = {}
        self._loaded = self._loading = False
        self._lock = threading.RLock()

    def add(self, name: str, thing: T) -> T:
        """Enter ``thing`` under ``name`` and give it back unchanged."""
        if name in self._entries:
            raise ValueError(f"two entries of {self.kind} are called {name!r}")
        self._entries[name] = thing
        return thing

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator form of `add`."""
        return lambda thing: self.add(name, thing)

    def __getitem__(self, name: str) -> T:
        self._load()
        if name not in self._entries:
            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(self._entries))
            raise self._error(f"there is no {self.noun} called {name!r}{hint} (known: {known})")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._entries))

    def items(self) -> Iterator[tuple[str, T]]:
        """Names with their things, in alphabetical order."""
        return ((name, self[name]) for name in self)

    def _load(self) -> None:
        """Import the modules that register entries of our own, then those of other packages."""
        if self._loaded:
            return
        with self._lock:  # a server's threads look up at once: nobody may see half of the entries
            if self._loaded or self._loading:  # loading: a module that is being imported looks something up itself
                return
            self._loading = True
            try:
                for module in self._modules:
                    import_module(module)
                for entry in entry_points(group=f"aegis.{self.kind}"):
                    if entry.name not in self._entries:
                        self._entries[entry.name] = entry.load()
                self._loaded = True
            finally:
                self._loading = False
