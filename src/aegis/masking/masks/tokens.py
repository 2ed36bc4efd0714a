"""Replace each value by a name that means nothing: a keyed hash, or a random token."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from aegis.data.domain import show
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, MappedMask, as_objects
from aegis.masking.parameter import Rule, Text, Whole

_LEAST_KEY_BYTES = 16


@MASKS.register("pseudonym")
@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonym(MappedMask):
    """Replace a value by the first ``length`` hexadecimal digits of its HMAC-SHA256.

    The key is read from ``key_file``, or from the environment variable ``key_variable``; it never stands in a
    configuration, and the mask does not hold it.

    >>> Pseudonym().describe()
    'keyed pseudonym'
    """

    name: ClassVar[str] = "pseudonym"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    needs_secret: ClassVar[bool] = True
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # A hash without a key is undone by hashing guesses, so the familiar name gets the keyed one.
        "sha256": {"length": 64},
        "hmac": {},
    }
    injective: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("Ana Lima", "9f2c61d04be7a853")
    rules: ClassVar[Mapping[str, Rule]] = {
        "key_file": Text("the name of a file"),
        "key_variable": Text("the name of an environment variable"),
        "length": Whole(at_least=12, at_most=64),
    }

    key_file: str | None = None
    key_variable: str = "AEGIS_PSEUDONYM_KEY"
    length: int = 16

    def on_values(self, values: Values) -> Values:
        key = self._key()
        digests = (hmac.new(key, show(v).encode(), hashlib.sha256).hexdigest() for v in values.tolist())
        return as_objects([digest[: self.length] for digest in digests])

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return _hexadecimal(texts, self.length)

    def describe(self) -> str:
        return "keyed pseudonym"

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        if "key" in parameters:
            raise MaskError(f"mask {cls.name!r}: a key never stands in a configuration; name a key_file instead")
        return cls._build(parameters)

    def _key(self) -> bytes:
        make = "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
        if self.key_file is not None:
            try:
                key = Path(self.key_file).read_bytes().strip()
            except OSError:
                raise MaskError(f"the key file {self.key_file} of mask {self.name!r} cannot be read; {make}") from None
        else:
            key = os.environ.get(self.key_variable, "").strip().encode()
            if not key:
                raise MaskError(
                    f"mask {self.name!r} needs a secret key: set the environment variable {self.key_variable} "
                    f"or name a key_file; {make}"
                )
        if len(key) < _LEAST_KEY_BYTES:
            raise MaskError(f"the key of mask {self.name!r} is shorter than {_LEAST_KEY_BYTES} bytes; {make}")
        return key


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
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tokenize": {}}
    injective: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("Ana Lima", "c41f7ab2900d6e35")
    rules: ClassVar[Mapping[str, Rule]] = {"length": Whole(at_least=8, at_most=64)}

    length: int = 16

    def on_values(self, values: Values) -> Values:
        tokens: dict[object, str] = {}
        used: set[str] = set()
        for value in values.tolist():
            while value not in tokens:
                token = secrets.token_hex((self.length + 1) // 2)[: self.length]
                if token not in used:
                    used.add(token)
                    tokens[value] = token
        return as_objects([tokens[value] for value in values.tolist()])

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return _hexadecimal(texts, self.length)

    def describe(self) -> str:
        return "random token"


def _hexadecimal(texts: Sequence[str], length: int) -> list[bool]:
    digits = set("0123456789abcdef")
    return [len(text) == length and digits.issuperset(text) for text in texts]
