"""Replace each distinct value by a random token."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from aegis.data.kind import Kind, Values
from aegis.masking.mask import MASKS, MappedMask, as_objects
from aegis.masking.parameter import Rule, Whole, check_parameters


@MASKS.register("token")
@dataclass(frozen=True, slots=True, kw_only=True)
class Token(MappedMask):
    """Replace each distinct value by ``length`` random hexadecimal digits, other ones at every application.

    Within one application equal values get equal tokens and different values different ones; only the mapping, which
    a release can export, leads back.

    >>> tokens = Token().on_values(as_objects(["a", "b", "a"])).tolist()
    >>> tokens[0] == tokens[2], tokens[0] == tokens[1], len(tokens[0])
    (True, False, 16)
    """

    name: ClassVar[str] = "token"
    injective: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("Ana Lima", "c41f7ab2900d6e35")
    rules: ClassVar[Mapping[str, Rule]] = {"length": Whole(at_least=8, at_most=64)}

    length: int = 16

    def __post_init__(self) -> None:
        check_parameters(self)

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def on_values(self, values: Values) -> Values:
        given: dict[object, str] = {}
        used: set[str] = set()
        for value in values.tolist():
            while value not in given:
                token = secrets.token_hex((self.length + 1) // 2)[: self.length]
                if token not in used:
                    used.add(token)
                    given[value] = token
        return as_objects([given[value] for value in values.tolist()])

    def describe(self) -> str:
        return "random token"
