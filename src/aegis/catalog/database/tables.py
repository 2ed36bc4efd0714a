"""Everything the catalog remembers, as tables.

Ids are random hexadecimal texts, times are UTC to the microsecond, documents are JSON. No table holds a row of a data
product: summaries and releases lie in the store under the hash of their bytes.
"""

from __future__ import annotations

import datetime
import re
import uuid
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from aegis.catalog.records import UserRole
from aegis.catalog.states import DeliveryState, JobState, ProductState, ReleaseState, RequestState

ID_LENGTH = 32
_ID = re.compile(f"[0-9a-f]{{{ID_LENGTH}}}")


def new_id() -> str:
    """A fresh id: 32 hexadecimal digits, drawn at random."""
    return uuid.uuid4().hex


def is_id(value: Any) -> bool:
    """Whether it has the form of an id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


class UtcTime(TypeDecorator[datetime.datetime]):
    """A moment: stored in UTC, aware of it when it is read back, also where the database knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone cannot be stored")
        value = value.astimezone(datetime.UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)


class EnumText(TypeDecorator[StrEnum]):
    """A state or a role: stored as its text, read back as what it is."""

    impl = String(16)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: StrEnum | str | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.kind(value)


_ENUMS = (RequestState, ProductState, ReleaseState, JobState, DeliveryState, UserRole)


class Table(DeclarativeBase):
    """The root of the mapped classes."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime.datetime: UtcTime(),
        dict[str, Any]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
        str: Text(),
        **{kind: EnumText(kind) for kind in _ENUMS},
    }


def id_column() -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), primary_key=True, default=new_id)


def of_table(target: str, *, nullable: bool = False, index: bool = False) -> Mapped[Any]:
    return mapped_column(String(ID_LENGTH), ForeignKey(target), nullable=nullable, index=index)


# People


class User(Table):
    """A person. Without a password nobody can sign in as them yet."""

    __tablename__ = "users"
    id: Mapped[str] = id_column()
    name: Mapped[str] = mapped_column(String(64), unique=True)
    display_name: Mapped[str]
    password_hash: Mapped[str | None]
    active: Mapped[bool]
    created_at: Mapped[datetime.datetime]


class Assignment(Table):
    """A role of a person, for one product or, without one, for all."""

    __tablename__ = "assignments"
    __table_args__ = (Index("one_role_per_product", "user_id", "role", text("coalesce(product_id, '')"), unique=True),)
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id")
    role: Mapped[UserRole]
    product_id: Mapped[str | None] = of_table("products.id", nullable=True, index=True)
    valid_until: Mapped[datetime.datetime | None]
    """When a role that an identity provider's group gives stops counting; None for one that was given here."""


class SignIn(Table):
    """A browser's session, known by the hash of its secret."""

    __tablename__ = "sign_ins"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    csrf: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime.datetime]
    expires_at: Mapped[datetime.datetime] = mapped_column(index=True)
    last_seen_at: Mapped[datetime.datetime]


class Token(Table):
    """An API token, known by its hash; ``prefix`` is what its owner recognises it by."""

    __tablename__ = "tokens"
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id", index=True)
    name: Mapped[str]
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    prefix: Mapped[str] = mapped_column(String(16))
    scopes: Mapped[list[Any]]
    product_id: Mapped[str | None] = of_table("products.id", nullable=True)
    created_at: Mapped[datetime.datetime]
    expires_at: Mapped[datetime.datetime]
    revoked_at: Mapped[datetime.datetime | None]
    last_used_at: Mapped[datetime.datetime | None]


class Link(Table):
    """A link that works once: the first administrator, an invitation, a new password."""

    __tablename__ = "links"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    purpose: Mapped[str] = mapped_column(String(16))
    user_id: Mapped[str | None] = of_table("users.id", nullable=True)
    expires_at: Mapped[datetime.datetime]
    used_at: Mapped[datetime.datetime | None]


class Attempt(Table):
    """A sign-in that failed; enough of them and the next is not even tried."""

    __tablename__ = "attempts"
    __table_args__ = (Index("attempts_by_name", "name", "at"), Index("attempts_by_address", "address", "at"))
    id: Mapped[str] = id_column()
    name: Mapped[str]
    address: Mapped[str]
    at: Mapped[datetime.datetime]


# Ways to sign in beside a password: people known to an identity provider, and second factors of local accounts


class ExternalIdentity(Table):
    """Somebody as an identity provider knows them: its address, and what it calls the person for good."""

    __tablename__ = "external_identities"
    issuer: Mapped[str] = mapped_column(String(255), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    created_at: Mapped[datetime.datetime]
    last_seen_at: Mapped[datetime.datetime]


class SecondFactor(Table):
    """The secret that a person's authenticator shares with the catalog; it counts once a first code was right."""

    __tablename__ = "second_factors"
    user_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("users.id"), primary_key=True)
    secret: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime.datetime]
    confirmed_at: Mapped[datetime.datetime | None]
    last_step: Mapped[int] = mapped_column(BigInteger)
    """The latest thirty seconds of which a code was used: none of them, nor any before, works again."""


class RecoveryCode(Table):
    """A code for somebody whose authenticator is lost, known by its hash; it works once."""

    __tablename__ = "recovery_codes"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    used_at: Mapped[datetime.datetime | None]


class HalfSignIn(Table):
    """A browser whose password was right and whose second factor is still to come."""

    __tablename__ = "half_sign_ins"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    expires_at: Mapped[datetime.datetime] = mapped_column(index=True)


# Products, and what is asked and released of them


class Product(Table):
    """A data product: what the table behind it looks like and what a release of it must keep."""

    __tablename__ = "products"
    id: Mapped[str] = id_column()
    name: Mapped[str] = mapped_column(String(64), unique=True)
    title: Mapped[str]
    description: Mapped[str]
    columns: Mapped[list[Any]]
    label: Mapped[str | None]
    policy: Mapped[dict[str, Any] | None]
    owner_id: Mapped[str] = of_table("users.id")
    state: Mapped[ProductState] = mapped_column(index=True)
    search_text: Mapped[str]
    created_at: Mapped[datetime.datetime]
    changed_at: Mapped[datetime.datetime]
    version: Mapped[int] = mapped_column(Integer)
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy declares it so


class ProductTag(Table):
    """A word that a product is filed under."""

    __tablename__ = "product_tags"
    __table_args__ = (Index("products_of_tag", "tag"),)
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(40), primary_key=True)


class Configuration(Table):
    """A masking configuration that was proposed for a product; the id of its content names what it does."""

    __tablename__ = "configurations"
    __table_args__ = (UniqueConstraint("product_id", "content_id"),)
    id: Mapped[str] = id_column()
    product_id: Mapped[str] = of_table("products.id")
    name: Mapped[str]
    content: Mapped[dict[str, Any]]
    content_id: Mapped[str] = mapped_column(String(12))
    proposed_by: Mapped[str] = of_table("users.id")
    created_at: Mapped[datetime.datetime]
    withdrawn_at: Mapped[datetime.datetime | None]


class Summary(Table):
    """A summary that was pushed; one of a product's is the current one. ``histograms`` is what may be shown of it."""

    __tablename__ = "summaries"
    __table_args__ = (
        Index(
            "one_current_summary",
            "product_id",
            unique=True,
            sqlite_where=text("current"),
            postgresql_where=text("current"),
        ),
        Index("summaries_of_product", "product_id", "created_at"),
    )
    id: Mapped[str] = id_column()
    product_id: Mapped[str] = of_table("products.id")
    digest: Mapped[str] = mapped_column(String(64), index=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    level: Mapped[str] = mapped_column(String(8))
    rows: Mapped[int] = mapped_column(BigInteger)
    label: Mapped[str]
    configurations: Mapped[list[Any]]
    exposure: Mapped[dict[str, Any] | None]
    histograms: Mapped[list[Any]]
    pushed_by: Mapped[str] = of_table("users.id")
    created_at: Mapped[datetime.datetime]
    current: Mapped[bool]


class Request(Table):
    """A consumer's request for access, and what became of it."""

    __tablename__ = "requests"
    __table_args__ = (
        Index("requests_of_product", "product_id", "created_at"),
        Index("requests_of_consumer", "consumer_id", "created_at"),
        Index("requests_by_time", "created_at"),
        Index("requests_to_expire", "state", "expires_at"),
    )
    id: Mapped[str] = id_column()
    product_id: Mapped[str] = of_table("products.id")
    consumer_id: Mapped[str] = of_table("users.id")
    purpose: Mapped[str]
    columns: Mapped[list[Any]]
    days: Mapped[int] = mapped_column(Integer)
    measure: Mapped[str | None]
    state: Mapped[RequestState]
    configuration_id: Mapped[str | None] = of_table("configurations.id", nullable=True)
    reason: Mapped[str | None]
    decided_by: Mapped[str | None] = of_table("users.id", nullable=True)
    decided_at: Mapped[datetime.datetime | None]
    job_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    release_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    expires_at: Mapped[datetime.datetime | None]
    despite: Mapped[str | None]
    """Why it was approved although the ledger did not allow it."""
    approved_under: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)
    """The policy and the roles when it was approved; missing where an earlier version approved it."""
    created_at: Mapped[datetime.datetime]
    changed_at: Mapped[datetime.datetime]
    version: Mapped[int] = mapped_column(Integer)
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy declares it so


class Comment(Table):
    """What somebody said about a request, to those who see it."""

    __tablename__ = "comments"
    __table_args__ = (Index("comments_of_request", "request_id", "created_at"),)
    id: Mapped[str] = id_column()
    request_id: Mapped[str] = of_table("requests.id")
    user_id: Mapped[str] = of_table("users.id")
    words: Mapped[str]
    created_at: Mapped[datetime.datetime]


class Release(Table):
    """A masked table that a provider pushed with its certificate."""

    __tablename__ = "releases"
    __table_args__ = (Index("releases_of_product", "product_id", "created_at"),)
    id: Mapped[str] = id_column()
    product_id: Mapped[str] = of_table("products.id")
    configuration_id: Mapped[str | None] = of_table("configurations.id", nullable=True)
    request_id: Mapped[str | None] = of_table("requests.id", nullable=True, index=True)
    digest: Mapped[str] = mapped_column(String(64), index=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    file_name: Mapped[str]
    certificate: Mapped[dict[str, Any]]
    certificate_digest: Mapped[str] = mapped_column(String(64))
    signature: Mapped[dict[str, Any] | None]
    attacks: Mapped[list[Any] | None]
    """What the cheap attacks found when it arrived."""
    state: Mapped[ReleaseState]
    reason: Mapped[str | None]
    job_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    pushed_by: Mapped[str] = of_table("users.id")
    created_at: Mapped[datetime.datetime]
    version: Mapped[int] = mapped_column(Integer)
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy declares it so


class Download(Table):
    """Somebody took a release home."""

    __tablename__ = "downloads"
    id: Mapped[str] = id_column()
    release_id: Mapped[str] = of_table("releases.id", index=True)
    request_id: Mapped[str | None] = of_table("requests.id", nullable=True)
    user_id: Mapped[str] = of_table("users.id")
    at: Mapped[datetime.datetime]


# What was released from each product, what providers judged together, and the keys they sign with


class LedgerEntry(Table):
    """Something left, or no longer counts. Rows are only ever added; each holds the hash of the one before."""

    __tablename__ = "ledger_entries"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime.datetime]
    act: Mapped[str] = mapped_column(String(16))
    content: Mapped[dict[str, Any]]
    previous: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))


class LedgerHead(Table):
    """Where the ledger of a product ends, so that a cut end is noticed as well."""

    __tablename__ = "ledger_heads"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str] = mapped_column(String(64))


class JointVerdict(Table):
    """What a provider found of several maskings together, on rows that the catalog never sees."""

    __tablename__ = "joint_verdicts"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    satisfied: Mapped[bool]
    broken: Mapped[list[Any]]
    judged_by: Mapped[str] = of_table("users.id")
    judged_at: Mapped[datetime.datetime]


class ProviderKey(Table):
    """The public part of a key that somebody signs certificates with."""

    __tablename__ = "provider_keys"
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id", index=True)
    name: Mapped[str]
    public: Mapped[str]
    fingerprint: Mapped[str] = mapped_column(String(16), unique=True)
    created_at: Mapped[datetime.datetime]
    revoked_at: Mapped[datetime.datetime | None]


# Notifications, written in the transaction of the act that they are about, and the deliveries that take them elsewhere


class Notification(Table):
    """A sentence for one person, and the page that it is about. ``key`` keeps it from being written twice."""

    __tablename__ = "notifications"
    __table_args__ = (
        UniqueConstraint("user_id", "key"),
        Index("notifications_of_user", "user_id", "created_at"),
        Index(
            "notifications_unseen",
            "user_id",
            sqlite_where=text("seen_at IS NULL"),
            postgresql_where=text("seen_at IS NULL"),
        ),
    )
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id")
    kind: Mapped[str] = mapped_column(String(32))
    words: Mapped[str]
    path: Mapped[str]
    product_id: Mapped[str | None] = of_table("products.id", nullable=True)
    key: Mapped[str | None] = mapped_column(String(128))
    created_at: Mapped[datetime.datetime]
    seen_at: Mapped[datetime.datetime | None]


class NotificationChoice(Table):
    """How somebody wants to be notified; a mail address counts once its code came back."""

    __tablename__ = "notification_choices"
    user_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("users.id"), primary_key=True)
    channel: Mapped[str] = mapped_column(String(16))
    mail_address: Mapped[str | None] = mapped_column(String(254))
    mail_confirmed_at: Mapped[datetime.datetime | None]
    code_hash: Mapped[str | None] = mapped_column(String(64))
    code_expires_at: Mapped[datetime.datetime | None]
    webhook_url: Mapped[str | None]
    webhook_secret: Mapped[str | None] = mapped_column(String(64))
    changed_at: Mapped[datetime.datetime]


class Delivery(Table):
    """A notification on its way out: claimed by one worker at a time, together with what goes in the same message.

    ``batch`` is drawn when it is first claimed and names the message from then on, however often it is tried.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_due", "state", "due_at"),
        Index("deliveries_of_batch", "batch"),
        Index("deliveries_of_user", "user_id", "state"),
    )
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id")
    notification_id: Mapped[str | None] = of_table("notifications.id", nullable=True, index=True)
    channel: Mapped[str] = mapped_column(String(16))
    state: Mapped[DeliveryState]
    batch: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    attempts: Mapped[int] = mapped_column(Integer)
    due_at: Mapped[datetime.datetime]
    worker: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str | None]
    created_at: Mapped[datetime.datetime]
    ended_at: Mapped[datetime.datetime | None]


# Work in the background, and the record


class Job(Table):
    """Work that takes longer than an answer may: done by a worker, and again by another if that one dies."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_to_claim", "state", "created_at"),
        Index("jobs_of_product", "product_id", "created_at"),
    )
    id: Mapped[str] = id_column()
    kind: Mapped[str] = mapped_column(String(32))
    product_id: Mapped[str] = of_table("products.id")
    subject_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    state: Mapped[JobState]
    parameters: Mapped[dict[str, Any]]
    progress: Mapped[float] = mapped_column(Float)
    stage: Mapped[str]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[str | None]
    attempts: Mapped[int]
    worker: Mapped[str | None] = mapped_column(String(64))
    heartbeat_at: Mapped[datetime.datetime | None]
    created_by: Mapped[str] = of_table("users.id")
    created_at: Mapped[datetime.datetime]
    started_at: Mapped[datetime.datetime | None]
    ended_at: Mapped[datetime.datetime | None]


class Idempotency(Table):
    """The answer to a write that a client may send twice."""

    __tablename__ = "idempotency"
    user_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("users.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(128), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    body: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime.datetime] = mapped_column(index=True)


class Audit(Table):
    """One act. Rows are only ever added; each holds the hash of the one before."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("audit_of_product", "product_id", "sequence"),
        Index("audit_of_subject", "subject_id"),
        Index("audit_of_actor", "actor", "sequence"),
        Index("audit_of_action", "action", "sequence"),
        Index("audit_by_time", "at"),
        Index("audit_by_hash", "hash"),
    )
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime.datetime]
    actor: Mapped[str]
    actor_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(32))
    subject_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    product_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    details: Mapped[dict[str, Any]]
    previous: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))


class ChainHead(Table):
    """Where the audit ends: one row, locked by whoever appends, so that a cut end is noticed as well."""

    __tablename__ = "chain_head"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sequence: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str] = mapped_column(String(64))


class Setting(Table):
    """A fact about this catalog."""

    __tablename__ = "settings"
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[dict[str, Any]]
