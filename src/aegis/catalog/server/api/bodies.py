"""What a client sends: every text has a longest length and no control characters, every document a depth and a size."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
)

from aegis.catalog.records import LINE, JointVerdict, Name, Scope, UserRole
from aegis.catalog.service.checks import checked_document
from aegis.catalog.service.notifications import Channel
from aegis.commands.advise import Advise
from aegis.commands.configurations import Generate
from aegis.data.kind import Kind
from aegis.data.schema import Role as ColumnRole
from aegis.operation import Field as OptionField
from aegis.operation import fields_of

_TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
_LARGEST = 50_000

Line = Annotated[str, StringConstraints(max_length=300, pattern=LINE)]
Text = Annotated[str, StringConstraints(max_length=20_000, pattern=_TEXT)]
Slug = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
ProductRef = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]

ProductPath = Annotated[ProductRef, Path(description="The name of a product, or its id.")]
IdPath = Annotated[Id, Path(description="An id: 32 hexadecimal digits.")]


def _written_out(text: Any) -> Any:
    """Not seconds since 1970, which the library would take as well."""
    if isinstance(text, str) and not re.match(r"\d{4}-\d{2}-\d{2}[Tt ]", text):
        raise ValueError("a moment is written like 2026-03-01T12:00:00Z")
    return text


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]

PageSize = Annotated[int, Query(ge=1, le=200, description="The most items of a page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=1000, pattern=r"^[A-Za-z0-9_-]*$", description="`next` of the page before; nothing for the first."
    ),
]


def _checked(content: Any) -> Any:
    return checked_document(content, what="the document", most=_LARGEST)


Document = Annotated[dict[str, JsonValue], AfterValidator(_checked)]
Anything = Annotated[JsonValue, AfterValidator(_checked)]


Version = Annotated[int, Field(ge=1, le=2**31 - 1, description="The version that was read; another one is a conflict.")]
Days = Annotated[int, Field(ge=1, le=730)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=5_000, pattern=_TEXT)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[^\x00-\x1f\x7f,]+$")]
ShortName = Annotated[Name, Field(max_length=120)]


def declared(options: type, name: str, *, most: int = 2**31 - 1) -> Any:
    """An option of an operation as the field of a body: what it means, its choices and its limits, as declared there.

    ``most`` is the largest number that a client may send.
    """
    option = _option(options, name).option
    limits: dict[str, Any] = {}
    if _option(options, name).kind is int:
        limits = {"ge": int(option.minimum or 0), "le": most}
    if option.choices:
        limits = {"pattern": f"^({'|'.join(map(re.escape, option.choices))})$"}
    return Field(description=option.help, **limits)


def default_of(options: type, name: str) -> Any:
    """What an option of an operation is where nobody says."""
    return _option(options, name).default


def _option(options: type, name: str) -> OptionField:
    return next(field for field in fields_of(options) if field.name == name)


class Body(BaseModel):
    """The body of a request: unknown fields are refused, for they are usually typing errors."""

    model_config = ConfigDict(extra="forbid")

    def keywords(self) -> dict[str, Any]:
        """The fields as plain values: they are called like the parameters of the service."""
        return self.model_dump(mode="json")


class NewColumn(Body):
    """A column: its kind and role are the words of the library."""

    name: Name
    kind: Kind
    role: ColumnRole
    description: Text = ""


class NewProduct(Body):
    """A product to register, as a draft."""

    name: Slug
    title: Name
    description: Text = ""
    columns: Annotated[list[NewColumn], Field(min_length=1, max_length=2000)]
    label: Name | None = None
    policy: Document | None = None
    tags: Annotated[list[Tag], Field(max_length=20, default_factory=list)]


class ProductChange(Body):
    """What shall be different; what is not given stays."""

    version: Version
    title: Name | None = None
    description: Text | None = None
    columns: Annotated[list[NewColumn], Field(min_length=1, max_length=2000)] | None = None
    label: Name | None = None
    policy: Document | None = None
    tags: Annotated[list[Tag], Field(max_length=20)] | None = None


class AtVersion(Body):
    """Something that is done to what was read."""

    version: Version | None = None


class Proposal(Body):
    """One configuration or many, as the mapping that a configuration file holds, or as the text of one."""

    content: Document | Annotated[str, Field(min_length=1, max_length=1_000_000)]
    name: ShortName = "configuration"


class Generation(Body):
    """Configurations to make from the published domains of the current summary."""

    count: Annotated[int, declared(Generate, "count", most=200)] = 20
    strength: Annotated[str, declared(Generate, "strength")] = default_of(Generate, "strength")
    seed: Annotated[int, declared(Generate, "seed")] = default_of(Generate, "seed")


class PreviewRequest(Body):
    """A mask on a column: a name, `{name: {parameter: value}}`, or a list of them."""

    column: Name
    mask: Anything


class NewAccessRequest(Body):
    """A request for access; no column named means all that are not identifying."""

    purpose: Annotated[str, StringConstraints(min_length=3, max_length=5_000, pattern=_TEXT)]
    columns: Annotated[list[Name], Field(max_length=2000, default_factory=list)]
    days: Days = 90
    measure: Line | None = None


class Decision(Body):
    """Approve with a configuration, or reject with a reason."""

    approve: bool
    configuration_id: Id | None = None
    reason: Reason | None = None
    despite_ledger: Annotated[
        Reason | None, Field(description="Why it shall leave although the ledger does not allow it; on the record.")
    ] = None
    version: Version | None = None


class JointVerdicts(Body):
    """What a provider judged under a policy."""

    policy_id: Name
    verdicts: Annotated[list[JointVerdict], Field(min_length=1, max_length=5_000)]


class CatalogRequestMessage(BaseModel):
    """A catalog request of the Dataspace Protocol; what it does not know it leaves alone, but a filter is refused."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    kind: Annotated[Literal["CatalogRequestMessage"], Field(alias="@type")]
    filter: Annotated[list[JsonValue], Field(max_length=0)] | None = None


class NewSigningKey(Body):
    """The public part of a key, and what one calls it."""

    name: Name
    public: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]


class Revocation(Body):
    """Why access ends."""

    reason: Reason
    version: Version | None = None


class NewComment(Body):
    """Something to say about a request."""

    words: Reason


class Reinstatement(Body):
    """For how many days more an expired request counts."""

    days: Days = 30


class Fulfilment(Body):
    """The release that a request gets."""

    release_id: Id


class Withdrawal(Body):
    """Why a release is taken back."""

    reason: Reason


class AdviceRequest(Body):
    """What the ranking is for."""

    measure: Annotated[Line | None, declared(Advise, "measure")] = default_of(Advise, "measure")
    request_id: Id | None = None


class NewUser(Body):
    """A person to invite."""

    name: Slug
    display_name: Name


class UserChange(Body):
    """Whether somebody can sign in."""

    active: bool


class NewRole(Body):
    """A role to give or take; without a product it holds for all."""

    role: UserRole
    product: ProductRef | None = None


class NewToken(Body):
    """A token to make for oneself."""

    name: ShortName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    days: Annotated[int, Field(ge=1, le=365)] = 90
    product: ProductRef | None = None


class NotificationChoice(Body):
    """How to be notified: `inbox` (there only), `mail` or `webhook`, with the address of that one."""

    channel: Channel
    mail_address: Annotated[str, StringConstraints(max_length=254, pattern=LINE)] | None = None
    webhook_url: Annotated[str, StringConstraints(max_length=2_000, pattern=LINE)] | None = None


class MailCode(Body):
    """The code that came by mail."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=20, pattern=LINE)]
