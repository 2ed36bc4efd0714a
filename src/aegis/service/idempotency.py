"""Writes that a client may send twice: the first answer is remembered and given again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.service.catalog import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The answer that was given."""

    status: int
    body: Mapping[str, Any] | None


def recall(work: Work, *, key: str, fingerprint: str) -> Remembered | None:
    """The answer to the same key; `InputError` if the key came with another content (fingerprint)."""
    raise NotImplementedError


def remember(work: Work, *, key: str, fingerprint: str, status: int, body: Mapping[str, Any] | None) -> None:
    """Remember the answer, in the same transaction as the write itself."""
    raise NotImplementedError
