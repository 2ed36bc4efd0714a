"""What the service answers with: plain values that a page or the API renders. None of them holds a row of data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.catalog.database.states import JobState, ProductState, ReleaseState, RequestState
from aegis.catalog.service.present_policy import PresentPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """A column of a product: kind and role are the words of the library."""

    name: str
    kind: str
    role: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductView:
    """A data product. ``policy`` is None until it has one; ``policy_lines`` say it in words."""

    id: str
    name: str
    title: str
    description: str
    columns: tuple[ColumnView, ...]
    label: str | None
    policy: Mapping[str, Any] | None
    policy_id: str | None
    policy_lines: tuple[str, ...]
    owner_id: str
    owner_name: str
    state: ProductState
    created_at: datetime.datetime
    changed_at: datetime.datetime
    version: int
    configurations: int
    summary_id: str | None

    def role_of(self, column: str) -> str | None:
        return next((each.role for each in self.columns if each.name == column), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationView:
    """A configuration; ``content_id`` names what it does, ``described`` says it column by column."""

    id: str
    product_id: str
    name: str
    content: Mapping[str, Any]
    content_id: str
    described: Mapping[str, str]
    proposed_by: str
    created_at: datetime.datetime
    withdrawn_at: datetime.datetime | None
    in_summary: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRow:
    """One published value and what the mask makes of it; None where that is drawn at random."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A pushed summary: what it covers, and what it exposes."""

    id: str
    product_id: str
    digest: str
    bytes: int
    level: str
    rows: int
    label: str
    configurations: tuple[Mapping[str, Any], ...]
    exposure: Mapping[str, Any] | None
    pushed_by: str
    created_at: datetime.datetime
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BarView:
    """From ``left`` to ``right`` on the axis: a published value, a bin, or values that are not named (``merged``)."""

    left: float
    right: float
    share: float
    records: int
    name: str
    merged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TickView:
    """A text under the axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramView:
    """The published distribution of a column, empty where the summary tells none; ``kind`` is None where it is hidden.

    ``values`` is how many different ones there are, named or not.
    """

    column: str
    kind: str | None
    values: int | None
    bars: tuple[BarView, ...]
    ticks: tuple[TickView, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    """One act on the record."""

    sequence: int
    at: datetime.datetime
    actor: str
    action: str
    subject: str
    subject_id: str
    product_id: str | None
    details: Mapping[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
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
    decided_at: datetime.datetime | None
    job_id: str | None
    release_id: str | None
    expires_at: datetime.datetime | None
    created_at: datetime.datetime
    changed_at: datetime.datetime
    version: int
    history: tuple[AuditView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseView:
    """A release with its certificate; only a verified one can be downloaded.

    It was verified under the policy of its certificate; ``present_policy`` says how it stands to the product's own.
    """

    id: str
    product_id: str
    product_name: str
    configuration_id: str | None
    request_id: str | None
    digest: str
    bytes: int
    file_name: str
    certificate: Mapping[str, Any]
    certificate_digest: str
    state: ReleaseState
    reason: str | None
    job_id: str | None
    pushed_by: str
    created_at: datetime.datetime
    version: int
    downloads: int
    present_policy: PresentPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A background job; ``progress`` runs from 0 to 1."""

    id: str
    kind: str
    product_id: str
    product_name: str
    subject_id: str | None
    state: JobState
    parameters: Mapping[str, Any]
    progress: float
    stage: str
    result: Mapping[str, Any] | None
    error: str | None
    attempts: int
    created_by: str
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    ended_at: datetime.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """The start page: how much there is, and what waits for this person."""

    products: int
    requests_of_mine: int
    requests_to_decide: int
    requests_to_fulfil: int
    downloads_ready: int
    jobs_running: int
    recent: tuple[RequestView, ...]
