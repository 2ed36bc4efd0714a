"""Requests for access, what is said about them, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from aegis.catalog.records.audit_records import Act
from aegis.catalog.states import RequestState


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """A request for access. ``state`` counts a request past its end as expired at once."""

    id: str
    product_id: str
    product_name: str
    product_title: str
    consumer_id: str
    consumer_name: str
    consumer_display_name: str
    purpose: str
    columns: tuple[str, ...]
    days: int
    measure: str | None
    state: RequestState
    configuration_id: str | None
    configuration_name: str | None
    reason: str | None
    decided_by: str | None
    decided_at: datetime | None
    job_id: str | None
    release_id: str | None
    expires_at: datetime | None
    created_at: datetime
    changed_at: datetime
    version: int
    despite: Annotated[str | None, Field(description="Why it was approved although the ledger did not allow it.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestWithHistory(AccessRequest):
    """A request with everything that happened to it."""

    history: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """What somebody said about a request."""

    id: str
    by_name: str
    by_display_name: str
    words: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How much there is, and what waits for this person."""

    products: int
    requests_of_mine: int
    requests_to_decide: int
    requests_to_fulfil: int
    downloads_ready: int
    jobs_running: int
    recent: tuple[AccessRequest, ...]
