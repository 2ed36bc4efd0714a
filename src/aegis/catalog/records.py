"""The records of the catalog, each written once: the service makes them, the API sends them, the client reads them.

None of them holds a row of data. A record that a newer catalog sends may have fields that this version does not know;
`read` leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, cast

from pydantic import Field, StringConstraints, TypeAdapter

from aegis.catalog.states import JobState, ProductState, ReleaseState, RequestState

T = TypeVar("T")
LINE = r"^[^\x00-\x1f\x7f]*$"
"""Control characters have no business in names, and a zero byte cannot be stored at all."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]

# Lists, and how the catalog is


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some items; `next` is the cursor of the page after, null at the end."""

    items: tuple[T, ...]
    next: Annotated[str | None, Field(description="Send it as `cursor` to get the next page; null at the end.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Generic[T]):
    """All there are of something."""

    items: tuple[T, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The catalog answers, and so does its database."""

    status: Annotated[str, Field(description="Always `ok`; a catalog that is not well answers with a problem.")] = "ok"


# People


class UserRole(StrEnum):
    """What a person is in the catalog, for one product or for all.

    A registrar may register products, and becomes the provider of those and of no others.
    """

    ADMIN = "admin"
    REGISTRAR = "registrar"
    PROVIDER = "provider"
    EXPERT = "expert"
    CONSUMER = "consumer"


class Scope(StrEnum):
    """What a token may be used for; a token never allows more than its owner's roles do."""

    READ = "read"
    REQUEST = "request"
    PUSH = "push"
    DECIDE = "decide"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role that somebody holds; without a product it holds for all."""

    role: str
    product_id: str | None
    product_name: str | None
    valid_until: Annotated[
        datetime | None, Field(description="Until when a role counts that a group of the identity provider gives.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person."""

    id: str
    name: str
    display_name: str
    active: bool
    invited: Annotated[bool, Field(description="No password was chosen yet.")]
    created_at: datetime
    roles: tuple[Role, ...] = ()
    external: Annotated[bool, Field(description="Signs in with the account of their organisation.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Me(User):
    """The person who sent the request."""

    scopes: Annotated[
        tuple[Scope, ...] | None, Field(description="What the token may be used for; null for a session.")
    ] = None
    token_product: Annotated[str | None, Field(description="The id of the one product that the token is for.")] = None


# How people come in; secrets are in no repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """Whom a link is for, before it is used."""

    purpose: str
    user_name: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link that works once."""

    secret: Annotated[str, Field(description="Shown now and never again; empty when the same request is repeated.")] = (
        field(repr=False)
    )
    purpose: str
    user: User | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which one is signed in."""

    id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    here: Annotated[bool, Field(description="Whether it is the one that asks.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token."""

    id: str
    user_id: str
    user_name: str
    name: str
    prefix: Annotated[str, Field(description="The beginning of the token, to recognise it by.")]
    scopes: tuple[Scope, ...]
    product_id: str | None
    product_name: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made."""

    token: Token
    text: Annotated[str, Field(description="Shown now and never again; empty when the same request is repeated.")] = (
        field(repr=False)
    )


# Notifications


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One message to a person: a sentence, and the page of the console that it is about."""

    id: str
    kind: Annotated[str, Field(description="What it is about: `asked`, `approved`, `to fulfil`, `ready`, …")]
    words: str
    path: str
    product_id: str | None
    product_name: str | None
    created_at: datetime
    seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChoice:
    """How somebody gets messages beside the inbox."""

    channel: Annotated[str, Field(description="`inbox` (nowhere else), `mail` or `webhook`.")]
    mail_address: str | None
    mail_confirmed: Annotated[bool, Field(description="The code that was sent to the address came back.")]
    mail_offered: Annotated[bool, Field(description="Whether this catalog sends mails at all.")]
    webhook_url: str | None
    failed: Annotated[str | None, Field(description="Why the latest message did not get through, if it did not.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotificationChoice:
    """A choice that was just made."""

    choice: NotificationChoice
    secret: Annotated[
        str, Field(description="What a new webhook's signatures are made with; shown now and never again.")
    ] = field(repr=False, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How many notifications were new."""

    notifications: int


# Products


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table behind a product: kind and role are the words of the library."""

    name: str
    kind: str
    role: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A data product. ``policy`` is None until it has one; ``policy_lines`` say it in words."""

    id: str
    name: str
    title: str
    description: str
    columns: tuple[Column, ...]
    label: str | None
    policy: Mapping[str, Any] | None
    policy_id: str | None
    policy_lines: tuple[str, ...]
    owner_id: str
    owner_name: str
    state: ProductState
    created_at: datetime
    changed_at: datetime
    version: int
    configurations: int
    summary_id: str | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductEntry:
    """A product as a list names it: ``columns`` is how many it has."""

    name: str
    title: str
    description: str
    columns: int
    state: ProductState
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A tag or an owner, and how many of the products that were found have it."""

    name: str
    words: str
    products: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """What a search can be narrowed down by."""

    tags: tuple[Facet, ...]
    owners: tuple[Facet, ...]


# Configurations, and what a mask does to published values


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


# Summaries, and the distributions that they publish


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary that was pushed: what it covers, and what it exposes."""

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
    created_at: datetime
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """From `left` to `right` on the axis: a published value, a bin, or values that are not named (`merged`)."""

    left: float
    right: float
    share: float
    records: int
    name: str
    merged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A text under the axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The published distribution of a column, without bars where there is none; `kind` is null if hidden."""

    column: str
    kind: str | None
    values: Annotated[int | None, Field(description="How many different values there are, named or not.")]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    notes: tuple[str, ...] = ()


# The audit log


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


# Requests for access


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


# Releases


class Standing(StrEnum):
    """How a release stands to a policy."""

    SATISFIED = "satisfied"
    NOT_SATISFIED = "not satisfied"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentPolicy:
    """How a release stands to the policy that its product has now, and a sentence that says why."""

    standing: Standing
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalAttack:
    """What a cheap attack found on a release: of so many ``records``, so many are ``exposed`` (in steps of five)."""

    name: str
    knows: str
    records: int
    exposed: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A masked table that was pushed with its certificate; only a verified one can be downloaded."""

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
    created_at: datetime
    version: int
    downloads: int
    present_policy: Annotated[
        PresentPolicy,
        Field(
            description="Verified means: under the policy of the certificate. This is about the product's present one."
        ),
    ]
    signed_by: Annotated[str | None, Field(description="The fingerprint of the key that signed it, if one did.")] = None
    attacks: Annotated[
        tuple[ArrivalAttack, ...],
        Field(description="What the cheap attacks found when it arrived; for those who work on the product."),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Somebody whose request a release fulfilled."""

    request_id: str
    name: str
    display_name: str
    state: RequestState
    downloads: int
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseVersion:
    """A release of the same product with the same configuration."""

    id: str
    file_name: str
    state: ReleaseState
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Where a release comes from and who holds it; ``counts_at`` is when the counts of that time had arrived."""

    source_name: str
    source_rows: int
    counts_at: datetime | None
    configuration_name: str | None
    holders: tuple[Holder, ...]
    versions: tuple[ReleaseVersion, ...]


# The ledger of a product, and the keys that sign certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPart:
    """A masking of some of the columns; ``columns`` None means all that do not identify people."""

    content_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12,64}$")]
    columns: Annotated[tuple[Name, ...], Field(max_length=2_000)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBroken:
    """A model that does not hold, and for how many records."""

    model: Name
    records: Annotated[int, Field(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointVerdict:
    """Whether the policy holds for what somebody sees who has all of these maskings of a table."""

    parts: Annotated[tuple[MaskedPart, ...], Field(min_length=2, max_length=50)]
    satisfied: bool
    broken: Annotated[tuple[ModelBroken, ...], Field(max_length=20)] = ()


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


# Jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work in the background; `progress` runs from 0 to 1."""

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
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether it is over, one way or the other."""
        return self.state not in (JobState.QUEUED, JobState.RUNNING)


# How records are made: from rows of the database, and from the JSON that a catalog sends, and back


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def record_of(kind: type[T], row: Any, **others: Any) -> T:
    """A record of a row whose attributes are called like its fields; ``others`` are those that are not.

    >>> record_of(Tick, Column(name="age", kind="integer", role="label"), at=0.5, text="half")
    Tick(at=0.5, text='half')
    """
    return kind(
        **{name: others[name] if name in others else getattr(row, name) for name in _field_names(cast(Any, kind))}
    )


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def write(kind: type[T], record: T) -> dict[str, Any]:
    """A record as the JSON that a catalog sends."""
    return dict(_adapter(cast(Any, kind)).dump_python(record, mode="json"))


def read(kind: type[T], content: Any) -> T:
    """A record from the JSON that a catalog sent; fields that this version does not know are left out.

    >>> read(Column, {"name": "age", "kind": "integer", "role": "label", "of a newer version": 1}).description
    ''
    """
    return _adapter(cast(Any, kind)).validate_python(content)
