"""The checks that parameters of masks share."""

from __future__ import annotations

import math
from typing import Any

from aegis.errors import MaskError


def check_number(
    mask: str, name: str, value: Any, *, above: float | None = None, at_least: float | None = None
) -> None:
    """Raise unless ``value`` is a finite number within its bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MaskError(f"mask {mask!r}: {name} must be a number")
    if above is not None and not value > above:
        raise MaskError(f"mask {mask!r}: {name} must be above {above:g}")
    if at_least is not None and not value >= at_least:
        raise MaskError(f"mask {mask!r}: {name} must be {at_least:g} or more")


def check_whole(mask: str, name: str, value: Any, *, at_least: int, at_most: int) -> None:
    """Raise unless ``value`` is a whole number within its bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= at_most:
        raise MaskError(f"mask {mask!r}: {name} must be a whole number from {at_least} to {at_most}")


def check_choice(mask: str, name: str, value: Any, *, choices: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise MaskError(f"mask {mask!r}: {name} must be one of {', '.join(choices)}")


def exactly_one(mask: str, given: dict[str, Any]) -> str:
    """The name of the one parameter that is set; raise if there is none or more than one."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise MaskError(f"mask {mask!r} needs exactly one of {', '.join(given)}")
    return names[0]


def fifteen_digits(number: float) -> float:
    """``number`` to 15 significant digits: engines read longer decimal literals inexactly.

    >>> fifteen_digits(0.1 + 0.2), fifteen_digits(40)
    (0.3, 40)
    """
    return number if isinstance(number, int) else float(f"{number:.15g}")
