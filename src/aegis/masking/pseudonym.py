"""Replace a value by a keyed hash: always the same, and nobody without the key can check a guess."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from aegis.data.domain import show
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, MappedMask, as_objects
from aegis.masking.parameter import Rule, Text, Whole, check_parameters

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

    def __post_init__(self) -> None:
        check_parameters(self)

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def on_values(self, values: Values) -> Values:
        key = self._key()
        digests = (hmac.new(key, show(v).encode(), hashlib.sha256).hexdigest() for v in values.tolist())
        return as_objects([digest[: self.length] for digest in digests])

    def describe(self) -> str:
        return "keyed pseudonym"

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        if "key" in given:
            raise MaskError(f"mask {cls.name!r}: a key never stands in a configuration; name a key_file instead")
        return cls._build(given)

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
