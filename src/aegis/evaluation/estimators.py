"""Models of scikit-learn by name, declared as data: the library is imported when one is built."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from aegis.errors import MeasureError, MissingExtraError


@dataclass(frozen=True, slots=True)
class Estimator:
    """A class of scikit-learn as ``module.Class``, and its parameters beside the seed."""

    path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = True

    def build(self, seed: int) -> Any:
        """A fresh model."""
        module, name = self.path.split(".")
        random = {"random_state": seed} if self.seeded else {}
        return getattr(import_module(f"sklearn.{module}"), name)(**self.parameters, **random)


def check_names(names: Collection[str], known: Collection[str], *, without_library: Collection[str] = ()) -> None:
    """Raise unless every name is known, and the library is there if one of them needs it."""
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"there is no model called {', '.join(map(repr, unknown))}" if unknown else "no model is named"
        raise MeasureError(f"{problem}; use {', '.join(known)}")
    if all(name in without_library for name in names):
        return
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError(feature="training models", extra="evaluate") from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Train in one thread: models are tried in parallel, and threads that wait would count as work.

    A model that stops before its tolerance is a model too, and its figures say how good: its warnings are not shown.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        yield
