"""What the catalog answers with."""

from __future__ import annotations

import datetime
from typing import Any

from pydantic import Field

from aegis.catalog.database.states import JobState, ProductState, ReleaseState, RequestState
from aegis.catalog.server.api.models.fields import Given
from aegis.catalog.service.present_policy import Standing


class Health(Given):
    """The catalog answers, and so does its database."""

    status: str = Field(description="Always `ok`; a catalog that is not well answers with a problem.")


class Column(Given):
    """A column of the table behind a product."""

    name: str
    kind: str
    role: str
    description: str


class Product(Given):
    """A data product."""

    id: str
    name: str
    title: str
    description: str
    columns: list[Column]
    label: str | None
    policy: dict[str, Any] | None
    policy_id: str | None
    policy_lines: list[str]
    owner_id: str
    owner_name: str
    state: ProductState
    created_at: datetime.datetime
    changed_at: datetime.datetime
    version: int
    configurations: int
    summary_id: str | None


class Configuration(Given):
    """A masking configuration."""

    id: str
    product_id: str
    name: str
    content: dict[str, Any]
    content_id: str
    described: dict[str, str]
    proposed_by: str
    created_at: datetime.datetime
    withdrawn_at: datetime.datetime | None
    in_summary: bool


class Configurations(Given):
    """Configurations of a product."""

    items: list[Configuration]


class PreviewRow(Given):
    """One published value and what becomes of it; `masked` is null where that is drawn at random."""

    value: str
    masked: str | None
    records: int


class Preview(Given):
    """What a mask does to the published values of a column."""

    column: str
    described: str
    values_before: int
    values_after: int | None
    rows: list[PreviewRow]
    random: bool
    note: str | None


class Summary(Given):
    """A summary that was pushed."""

    id: str
    product_id: str
    digest: str
    bytes: int
    level: str
    rows: int
    label: str
    configurations: list[dict[str, Any]]
    exposure: dict[str, Any] | None
    pushed_by: str
    created_at: datetime.datetime
    current: bool


class Bar(Given):
    """From `left` to `right` on the axis: a published value, a bin, or values that are not named (`merged`)."""

    left: float
    right: float
    share: float
    records: int
    name: str
    merged: bool


class Tick(Given):
    """A text under the axis."""

    at: float
    text: str


class Histogram(Given):
    """The published distribution of a column; it has no bars where the summary tells none."""

    column: str
    kind: str | None
    values: int | None = Field(description="How many different values there are, named or not.")
    bars: list[Bar]
    ticks: list[Tick]
    notes: list[str]


class Histograms(Given):
    """The distributions that the current summary publishes."""

    items: list[Histogram]


class Act(Given):
    """One act on the record."""

    sequence: int
    at: datetime.datetime
    actor: str
    action: str
    subject: str
    subject_id: str
    product_id: str | None
    details: dict[str, Any]
    previous: str
    hash: str


class ChainStanding(Given):
    """Whether the record is as it was written, as far as it was looked at."""

    rows: int = Field(description="How many acts are on the record.")
    intact: bool = Field(description="Nothing was found that does not fit.")
    first_broken: int | None = Field(description="The sequence number where the chain first fails.")
    head: str = Field(description="The last hash; note it elsewhere to find a chain that was rewritten whole.")
    reason: str | None
    checked_now: int = Field(description="How many rows were walked for this answer: those after the last walk.")
    unchecked: int = Field(description="How many rows nobody has walked yet.")
    walked_at: datetime.datetime | None = Field(description="When the whole chain was last walked.")
    walked_rows: int = Field(description="How many rows it had then.")
    wanted_at: datetime.datetime | None = Field(description="Since when another whole walk is waited for.")


class Request(Given):
    """A request for access."""

    id: str
    product_id: str
    product_name: str
    product_title: str
    consumer_id: str
    consumer_name: str
    consumer_display_name: str
    purpose: str
    columns: list[str]
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


class RequestWithHistory(Request):
    """A request with everything that happened to it."""

    history: list[Act]


class PresentPolicy(Given):
    """How a release stands to the policy that its product has now, and why."""

    standing: Standing
    said: str


class Release(Given):
    """A masked table that was pushed with its certificate; only a verified one can be downloaded."""

    id: str
    product_id: str
    product_name: str
    configuration_id: str | None
    request_id: str | None
    digest: str
    bytes: int
    file_name: str
    certificate: dict[str, Any]
    certificate_digest: str
    state: ReleaseState
    reason: str | None
    job_id: str | None
    pushed_by: str
    created_at: datetime.datetime
    version: int
    downloads: int
    present_policy: PresentPolicy = Field(
        description="Verified means: under the policy of the certificate. This is about the product's present one."
    )


class Job(Given):
    """Work in the background; `progress` runs from 0 to 1."""

    id: str
    kind: str
    product_id: str
    product_name: str
    subject_id: str | None
    state: JobState
    parameters: dict[str, Any]
    progress: float
    stage: str
    result: dict[str, Any] | None
    error: str | None
    attempts: int
    created_by: str
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    ended_at: datetime.datetime | None


class Overview(Given):
    """How much there is, and what waits for this person."""

    products: int
    requests_of_mine: int
    requests_to_decide: int
    requests_to_fulfil: int
    downloads_ready: int
    jobs_running: int
    recent: list[Request]
