"""Names that people know from warehouses and other tools, and what they mean here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aegis.errors import MaskError


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another name of a mask, with parameters already set or called differently."""

    mask: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    def translated(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters under our names."""
        taken = sorted(set(given) & set(self.sets))
        if taken:
            raise MaskError(f"mask {name!r} sets {', '.join(taken)} itself; use {self.mask!r} to choose it")
        return {**self.sets, **{self.renames.get(key, key): value for key, value in given.items()}}


ALIASES: dict[str, Alias] = {
    "redact": Alias(mask="suppress"),
    "null": Alias(mask="nullify"),
    "null_out": Alias(mask="nullify"),
    "blur": Alias(mask="round"),
    "bin": Alias(mask="bucketize"),
    "generalize_date": Alias(mask="date_truncate"),
    "date_year": Alias(mask="date_truncate", sets={"unit": "year"}),
    "date_quarter": Alias(mask="date_truncate", sets={"unit": "quarter"}),
    "date_month": Alias(mask="date_truncate", sets={"unit": "month"}),
    "date_week": Alias(mask="date_truncate", sets={"unit": "week"}),
    # A hash without a key is undone by hashing guesses, so the familiar name gets the keyed one.
    "sha256": Alias(mask="pseudonym", sets={"length": 64}),
    "hmac": Alias(mask="pseudonym"),
    "tokenize": Alias(mask="token"),
    "permute": Alias(mask="shuffle"),
    "pram": Alias(mask="randomize"),
    "randomized_response": Alias(mask="randomize"),
    "top_coding": Alias(mask="top_code"),
    "bottom_coding": Alias(mask="bottom_code"),
}
