"""Named things that outsiders may add to: masks, measures, privacy models, anonymizers, engines.

There is one Registry class and one instance per kind of thing, living in the room that owns the kind. A new entry is a
module in the registry's package; other packages add theirs through entry points of the group ``aegis.<kind>``. Both
are imported at the first look-up, not when the registry is.
"""

from __future__ import annotations

import difflib
import pkgutil
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from aegis.errors import AegisError, InputError

T = TypeVar("T")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest name there is, or nothing where none is near.

    >>> did_you_mean("bucketise", ["bucketize", "suppress"])
    "; did you mean 'bucketize'?"
    >>> did_you_mean("xyz", ["bucketize", "suppress"])
    ''
    >>> did_you_mean("lable", ["table", "label"])
    "; did you mean 'label'?"
    """
    near = difflib.get_close_matches(name, list(names), n=3)
    # Letters that changed places are the likeliest slip of all; of equally near names the nearest comes first.
    near.sort(key=lambda other: sorted(other) != sorted(name))
    return f"; did you mean {near[0]!r}?" if near else ""


class Registry(Generic[T]):
    """A mapping from a public name to a thing of one kind.

    ``package`` names the package whose modules register the entries of our own, ``modules`` single ones where the
    package holds other things too; ``error`` is what a name that does not exist raises.

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
        self,
        kind: str,
        *,
        noun: str,
        error: type[AegisError] = InputError,
        package: str | None = None,
        modules: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.noun = noun
        self._error = error
        self._package = package
        self._modules = modules
        self._entries: dict[str, T] = {}
        self._loaded = self._loading = False
        self._lock = threading.RLock()

    def add(self, name: str, entry: T) -> T:
        """Put ``entry`` under ``name`` and give it back unchanged."""
        if name in self._entries:
            raise ValueError(f"two entries of {self.kind} are called {name!r}")
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator form of `add`."""
        return lambda entry: self.add(name, entry)

    def __getitem__(self, name: str) -> T:
        self._load()
        if name not in self._entries:
            hint = did_you_mean(name, self._entries)
            names = ", ".join(sorted(self._entries))
            raise self._error(f"there is no {self.noun} called {name!r}{hint} (known: {names})")
        return self._entries[name]

    def in_module(self, name: str) -> T | None:
        """The entry called as the module of our own package that enters it; nothing else is read for it.

        None where no module of that name enters one, which says nothing about entries of other modules.
        """
        if self._package is None or not name.isidentifier():
            return None
        module = f"{self._package}.{name}"
        if not self._loaded and find_spec(module) is not None:
            import_module(module)
        return self._entries.get(name)

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
                for module in (*_modules_of(self._package), *self._modules):
                    import_module(module)
                for entry in _installed().select(group=f"aegis.{self.kind}"):
                    if entry.name not in self._entries:
                        self._entries[entry.name] = entry.load()
                self._loaded = True
            finally:
                self._loading = False


@cache
def _installed() -> Any:  # of another type in each version of Python; all can be asked for a group
    """What all installed packages say of themselves: a file of each is read, once and not for every registry."""
    return entry_points()


def _modules_of(package: str | None) -> list[str]:
    """The names of the modules that lie directly in a package."""
    if package is None:
        return []
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(import_module(package).__path__)]
