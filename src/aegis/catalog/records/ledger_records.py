"""The ledger of a product: what left, what was judged together, and the keys that sign certificates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPart:
    """A masking of some of the columns; ``columns`` None means all that do not identify people."""

    content_id: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBroken:
    """A model that does not hold, and for how many records."""

    model: str
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JointVerdict:
    """Whether the policy holds for what somebody sees who has all of these maskings of a table."""

    parts: tuple[MaskedPart, ...]
    satisfied: bool
    broken: tuple[ModelBroken, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """Something that left, or no longer counts."""

    sequence: int
    at: datetime
    act: str
    release_id: str
    name: str
    recipient: Annotated[str, Field(description="The id of the consumer, or anybody.")]
    part: MaskedPart | None
    rows: int
    despite: str | None
    reason: str | None
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLedger:
    """What was released from a product, and that nobody changed the record."""

    entries: tuple[LedgerEntry, ...]
    intact: bool
    head: str
    wanted: Annotated[
        tuple[MaskedPart, ...],
        Field(
            description="The maskings that somebody may approve next, of all columns and of those that are asked for."
        ),
    ]


class Together(StrEnum):
    """How a masking stands to earlier releases."""

    ALLOWED = "allowed"
    BROKEN = "broken"
    UNKNOWN = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherStanding:
    """Whether a masking may be released beside earlier releases, in a word and in a sentence."""

    standing: Together
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTogether:
    """How many verdicts the catalog took."""

    verdicts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """The public part of a key that somebody signs certificates with."""

    id: str
    name: str
    public: str
    fingerprint: str
    created_at: datetime
    valid: bool
