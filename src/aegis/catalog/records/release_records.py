"""Releases: how they stand to a policy, what attacks found, where they come from and who holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from aegis.catalog.states import ReleaseState, RequestState


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
        tuple[ArrivalAttack, ...], Field(description="What the cheap attacks found when it arrived.")
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
