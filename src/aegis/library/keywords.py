"""Options that a workflow hands on to another function, checked where the caller can see them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from aegis.data.engine import open_dataset
from aegis.registry import did_you_mean


def check_keywords(
    function: Callable[..., Any], given: Iterable[str], *, passed_on_to: tuple[Callable[..., Any], ...] = ()
) -> None:
    """Raise TypeError, in the name of ``function``, for an option that nobody down the line takes."""
    known = {
        name
        for each in (function, *passed_on_to, open_dataset)
        for name, parameter in inspect.signature(each).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
