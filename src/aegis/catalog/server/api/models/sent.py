"""What a client sends."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from aegis.catalog.server.api.models.fields import (
    TEXT,
    Anything,
    Document,
    Id,
    Line,
    Name,
    ProductRef,
    Sent,
    Slug,
    Text,
)
from aegis.catalog.service.actor import Scope, UserRole
from aegis.data.kind import Kind
from aegis.data.schema import Role as ColumnRole

Version = Annotated[int, Field(ge=1, le=2**31 - 1, description="The version that was read; another one is a conflict.")]
Days = Annotated[int, Field(ge=1, le=730)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=5_000, pattern=TEXT)]
ShortName = Annotated[Name, Field(max_length=120)]


class NewColumn(Sent):
    """A column: its kind and role are the words of the library."""

    name: Name
    kind: Kind
    role: ColumnRole
    description: Text = ""


class NewProduct(Sent):
    """A product to register, as a draft."""

    name: Slug
    title: Name
    description: Text = ""
    columns: Annotated[list[NewColumn], Field(min_length=1, max_length=2000)]
    label: Name | None = None
    policy: Document | None = None


class ProductChange(Sent):
    """What shall be different; what is not given stays."""

    version: Version
    title: Name | None = None
    description: Text | None = None
    columns: Annotated[list[NewColumn], Field(min_length=1, max_length=2000)] | None = None
    label: Name | None = None
    policy: Document | None = None


class AtVersion(Sent):
    """Something that is done to what was read."""

    version: Version | None = None


class Proposal(Sent):
    """One configuration or many, as the mapping that a configuration file holds, or as the text of one."""

    content: Document | Annotated[str, Field(min_length=1, max_length=1_000_000)]
    name: ShortName = "configuration"


class Generation(Sent):
    """Configurations to make from the published domains of the current summary."""

    count: Annotated[int, Field(ge=1, le=200)] = 20
    strength: Annotated[str, Field(pattern="^(light|medium|heavy|mixed|any)$")] = "mixed"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class PreviewOf(Sent):
    """A mask on a column: a name, `{name: {parameter: value}}`, or a list of them."""

    column: Name
    mask: Anything


class Question(Sent):
    """A request for access; no column named means all that are not identifying."""

    purpose: Annotated[str, StringConstraints(min_length=3, max_length=5_000, pattern=TEXT)]
    columns: Annotated[list[Name], Field(max_length=2000, default_factory=list)]
    days: Days = 90
    measure: Line | None = None


class Decision(Sent):
    """Approve with a configuration, or reject with a reason."""

    approve: bool
    configuration_id: Id | None = None
    reason: Reason | None = None
    version: Version | None = None


class Revocation(Sent):
    """Why access ends."""

    reason: Reason
    version: Version | None = None


class Fulfilment(Sent):
    """The release that a request gets."""

    release_id: Id


class Withdrawal(Sent):
    """Why a release is taken back."""

    reason: Reason


class AdviceOf(Sent):
    """What the ranking is for."""

    measure: Line | None = None
    request_id: Id | None = None


class NewUser(Sent):
    """A person to invite."""

    name: Slug
    display_name: Name


class UserChange(Sent):
    """Whether somebody can sign in."""

    active: bool


class NewRole(Sent):
    """A role to give or take; without a product it holds for all."""

    role: UserRole
    product: ProductRef | None = None


class TokenOf(Sent):
    """A token to make for oneself."""

    name: ShortName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    days: Annotated[int, Field(ge=1, le=365)] = 90
    product: ProductRef | None = None
