"""Masking configurations of a product, and what a mask does to published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A masking configuration; ``content_id`` names what it does, ``described`` says it column by column."""

    id: str
    product_id: str
    name: str
    content: Mapping[str, Any]
    content_id: str
    described: Mapping[str, str]
    proposed_by: str
    created_at: datetime
    withdrawn_at: datetime | None
    in_summary: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRow:
    """One published value and what the mask makes of it; `masked` is null where that is drawn at random."""

    value: str
    masked: str | None
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a mask does to the published values of a column: never rows, never rare values."""

    column: str
    described: str
    values_before: int
    values_after: int | None
    rows: tuple[PreviewRow, ...]
    random: bool
    note: str | None = None
