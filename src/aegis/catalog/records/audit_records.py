"""The audit log: acts, and whether their chain is as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act on the record."""

    sequence: int
    at: datetime
    actor: str
    action: str
    subject: str
    subject_id: str
    product_id: str | None
    details: Mapping[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStatus:
    """Whether the record is as it was written, as far as it was looked at."""

    rows: Annotated[int, Field(description="How many acts are on the record.")]
    intact: Annotated[bool, Field(description="Nothing was found that does not fit.")]
    first_broken: Annotated[int | None, Field(description="The sequence number where the chain first fails.")]
    reason: str | None
    head: Annotated[
        str, Field(description="The last hash; note it elsewhere to find a chain that was rewritten whole.")
    ]
    checked_now: Annotated[
        int, Field(description="How many rows were walked for this answer: those after the last walk.")
    ]
    unchecked: Annotated[int, Field(description="How many rows nobody has walked yet.")]
    walked_at: Annotated[datetime | None, Field(description="When the whole chain was last walked.")]
    walked_rows: Annotated[int, Field(description="How many rows it had then.")]
    wanted_at: Annotated[datetime | None, Field(description="Since when another whole walk is waited for.")]
