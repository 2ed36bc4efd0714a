"""The parameters of masks and the rules they follow, said once.

A mask declares its parameters as fields with rules beside them (``rules``, ``one_of``, ``together``, ``goes_with``).
The rules are checked when a mask is made; `parameters_of` describes them for the JSON Schema of configurations, for the
listings and the documentation, and for the forms of the catalog.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Protocol

from aegis.data.yaml_text import number_hint
from aegis.errors import MaskError

SCALARS = ["string", "number", "boolean"]
"""What JSON calls the values that a column may hold."""


class Rule(Protocol):
    """What one parameter may be."""

    def read(self, value: Any, *, mask: str, name: str) -> Any:
        """The value as it is kept; raise unless it follows the rule."""

    def schema(self) -> dict[str, Any]:
        """The same rule in JSON Schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A finite number within its bounds; ``above`` and ``below`` are not themselves allowed."""

    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    def read(self, value: Any, *, mask: str, name: str) -> Any:
        check_finite(value, mask=mask, name=name)
        if self.above is not None and self.below is not None and not self.above < value < self.below:
            raise MaskError(f"mask {mask!r}: {name} must lie between {self.above:g} and {self.below:g}")
        if self.above is not None and not value > self.above:
            raise MaskError(f"mask {mask!r}: {name} must be above {self.above:g}")
        if self.at_least is not None and not value >= self.at_least:
            raise MaskError(f"mask {mask!r}: {name} must be {self.at_least:g} or more")
        if self.at_most is not None and not value <= self.at_most:
            raise MaskError(f"mask {mask!r}: {name} must be {self.at_most:g} at most")
        return value

    def schema(self) -> dict[str, Any]:
        bounds = {
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
            "minimum": self.at_least,
            "maximum": self.at_most,
        }
        return {"type": "number", **{key: bound for key, bound in bounds.items() if bound is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number within its bounds; 3.0 is one."""

    at_least: int
    at_most: int

    def read(self, value: Any, *, mask: str, name: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not self.at_least <= value <= self.at_most:
            bounds = f"{self.at_least} to {self.at_most}"
            raise MaskError(f"mask {mask!r}: {name} must be a whole number from {bounds}{number_hint(value)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.at_least, "maximum": self.at_most}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    choices: tuple[str, ...]

    def read(self, value: Any, *, mask: str, name: str) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise MaskError(f"mask {mask!r}: {name} must be one of {', '.join(self.choices)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.choices)}


@dataclass(frozen=True, slots=True)
class Text:
    """Any text; ``what`` says what it is, for the message."""

    what: str = "text"

    def read(self, value: Any, *, mask: str, name: str) -> str:
        if not isinstance(value, str):
            raise MaskError(f"mask {mask!r}: {name} must be {self.what}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a mask; ``default`` is None where nothing is set or it must be given."""

    name: str
    required: bool
    default: Any
    rule: Rule | None

    def schema(self) -> dict[str, Any]:
        """What it may be, in JSON Schema; null stands for not given where nothing is set by default."""
        if self.rule is None:
            return {}
        rule = self.rule.schema()
        return rule if self.required or self.default is not None else {"anyOf": [rule, {"type": "null"}]}


def parameters_of(mask: Any) -> tuple[Parameter, ...]:
    """The parameters of a mask, or of a class of masks, in the order in which it declares them."""
    described = []
    for item in fields(mask):
        required = item.default is MISSING and item.default_factory is MISSING
        initial = None if item.default is MISSING else item.default
        described.append(Parameter(name=item.name, required=required, default=initial, rule=mask.rules.get(item.name)))
    return tuple(described)


def check_finite(value: Any, *, mask: str, name: str) -> None:
    """Raise unless ``value`` is a finite number."""
    finite = not isinstance(value, bool) and isinstance(value, int | float)
    if finite:
        try:
            finite = math.isfinite(value)
        except OverflowError:  # a whole number that no decimal can hold
            finite = False
    if not finite:
        raise MaskError(f"mask {mask!r}: {name} must be a number{number_hint(value)}")


def check_parameters(mask: Any) -> None:
    """Raise unless the parameters of a mask follow the rules it declares; whole numbers are kept as such."""
    values = {item.name: getattr(mask, item.name) for item in fields(mask)}
    if mask.one_of:
        exactly_one(mask.name, {name: values[name] for name in mask.one_of})
    for names in mask.together:
        if len({values[name] is None for name in names}) > 1:
            raise MaskError(f"mask {mask.name!r} needs both {' and '.join(names)}, or neither")
    for name, rule in mask.rules.items():
        if values[name] is not None or default(mask, name) is not None:
            object.__setattr__(mask, name, rule.read(values[name], mask=mask.name, name=name))
    for name, companion in mask.goes_with.items():
        if values[companion] is None and values[name] != default(mask, name):
            raise MaskError(f"mask {mask.name!r}: {name} goes with {companion} only")


def exactly_one(mask: str, parameters: Mapping[str, Any]) -> str:
    """The name of the one parameter that is set; raise if there is none or more than one."""
    names = [name for name, value in parameters.items() if value is not None]
    if len(names) != 1:
        raise MaskError(f"mask {mask!r} needs exactly one of {', '.join(parameters)}")
    return names[0]


def default(mask: Any, name: str) -> Any:
    """What a parameter is where it is not given; MISSING where it must be."""
    return next(item.default for item in fields(mask) if item.name == name)


def is_list(value: Any) -> bool:
    """Whether something is a list as a configuration has it."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def fifteen_digits(number: float) -> float:
    """``number`` to 15 significant digits: engines read longer decimal literals inexactly.

    >>> fifteen_digits(0.1 + 0.2), fifteen_digits(40)
    (0.3, 40)
    """
    return number if isinstance(number, int) else float(f"{number:.15g}")
