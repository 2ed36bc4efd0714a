"""What the catalog answers, as plain values. Fields that a newer catalog adds are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A data product."""

    id: str
    name: str
    title: str
    description: str
    columns: list[dict[str, Any]]
    label: str | None
    policy: dict[str, Any] | None
    state: str
    version: int
    summary_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A masking configuration."""

    id: str
    product_id: str
    name: str
    content: dict[str, Any]
    content_id: str
    described: dict[str, str]
    in_summary: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary that was pushed."""

    id: str
    product_id: str
    digest: str
    bytes: int
    level: str
    rows: int
    label: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """A request for access."""

    id: str
    product_id: str
    product_name: str
    consumer_name: str
    purpose: str
    columns: list[str]
    days: int
    measure: str | None
    state: str
    configuration_id: str | None
    reason: str | None
    release_id: str | None
    expires_at: str | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A masked table that was pushed with its certificate.

    ``present_policy`` says how it stands to the product's policy of today: ``standing`` and, in words, ``said``.
    """

    id: str
    product_id: str
    product_name: str
    request_id: str | None
    digest: str
    bytes: int
    file_name: str
    certificate: dict[str, Any]
    state: str
    reason: str | None
    job_id: str | None
    present_policy: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work in the background; ``progress`` runs from 0 to 1."""

    id: str
    kind: str
    product_name: str
    state: str
    progress: float
    stage: str
    result: dict[str, Any] | None
    error: str | None

    @property
    def ended(self) -> bool:
        return self.state not in ("queued", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A release on this machine: the file and the certificate beside it."""

    file: str
    certificate: str
    bytes: int
    sha256: str


def record(kind: type[T], told: Mapping[str, Any]) -> T:
    """A record from what the catalog told.

    >>> record(Downloaded, {"file": "a", "certificate": "b", "bytes": 1, "sha256": "c", "new": True}).bytes
    1
    """
    return kind(**{field.name: told[field.name] for field in fields(kind)})  # type: ignore[arg-type]
