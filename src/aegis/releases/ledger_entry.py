"""What a ledger of releases holds: one entry for everything that happened, in words and counts, never a cell value."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aegis.data.schema import Role
from aegis.errors import LedgerError
from aegis.operation import visible
from aegis.privacy.policy import Recipients
from aegis.releases.budget import Budget
from aegis.releases.hashed_json import link

ANYBODY = "anybody"
"""The recipient of a release that everybody may hold."""


def recipient_named(name: str | None) -> str:
    """Who gets a release, as the record holds it: without surrounding space, and anybody in whatever spelling.

    >>> recipient_named(" Acme  Ltd "), recipient_named("Anybody "), recipient_named(None)
    ('Acme Ltd', 'anybody', 'anybody')
    """
    if name is None or recipient_key(name) == ANYBODY:
        return ANYBODY
    return " ".join(name.split())


def recipient_key(name: str) -> str:
    """What two spellings of the same recipient have in common.

    >>> recipient_key("ACME ltd") == recipient_key(" Acme  Ltd") == recipient_key("Ac\u200bme Ltd")
    True
    """
    return " ".join(visible(unicodedata.normalize("NFKC", name)).split()).casefold()


class EntryKind(StrEnum):
    """What an entry says: that the ledger began, noise is about to be drawn for a release, something left, a release no
    longer counts, or a limit was set.
    """

    OPENED = "opened"
    BEGUN = "begun"
    RELEASED = "released"
    FORGOTTEN = "forgotten"
    LIMITED = "limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger; ``content`` depends on the act."""

    sequence: int
    at: datetime.datetime
    act: EntryKind
    content: Mapping[str, Any]
    previous: str

    @property
    def hash(self) -> str:
        """What the next entry names as the one before it."""
        return link(self.previous, self._said())

    def _said(self) -> dict[str, Any]:
        return {
            "sequence": self.sequence,
            "at": self.at.astimezone(datetime.UTC).isoformat(timespec="microseconds"),
            "act": self.act.value,
            "content": dict(self.content),
        }

    def to_mapping(self) -> dict[str, Any]:
        """The entry as its line holds it."""
        return {**self._said(), "previous": self.previous, "hash": self.hash}

    @classmethod
    def from_mapping(cls, line: Mapping[str, Any]) -> Entry:
        """Read what `to_mapping` writes; raises KeyError, TypeError or ValueError where it is something else."""
        return cls(
            sequence=int(line["sequence"]),
            at=datetime.datetime.fromisoformat(line["at"]),
            act=EntryKind(line["act"]),
            content=dict(line["content"]),
            previous=str(line["previous"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRelease:
    """A release as the ledger remembers it.

    ``kind`` says how it was made (masks, boxes, clusters, sanitized, synthetic). ``configuration`` are the masks as a
    file writes them, without keys. ``version`` is the keyed digest of the source as it was. ``linkable`` says that its
    rows are rows of the source, so that whoever holds several such releases may link them; a synthetic table's are not,
    and what it gives away is its ``budget``. ``rows_as`` names the release whose classes it repeats row by row, itself
    unless it adds nothing. ``despite`` is the reason given where it left although the ledger did not allow it.
    ``promise`` says of a sanitized table what is proved, under what assumption, and what was only audited, and
    ``sanitized`` of which columns of the source it shows draws. ``roles`` are those of all columns of the source, from
    wherever they came, also of columns that were left out.
    ``listed`` are the values that its certificate names, by column: each of k people or more. ``begun`` names the entry
    that spent its ``budget`` before the noise was drawn.
    """

    name: str
    kind: str
    recipient: str = ANYBODY
    configuration: Mapping[str, Any] | None = None
    columns: tuple[str, ...] = ()
    quasi_identifying: tuple[str, ...] = ()
    rows: int = 0
    suppressed: int = 0
    held: int = 0
    version: str | None = None
    policy: Mapping[str, Any] | None = None
    policy_id: str | None = None
    recipients: Recipients = Recipients.TOGETHER
    file_sha256: str | None = None
    certificate_sha256: str | None = None
    linkable: bool = True
    rows_as: int | None = None
    budget: Budget | None = None
    despite: str | None = None
    promise: Mapping[str, Any] | None = None
    listed: Mapping[str, Mapping[str, Any]] | None = None
    sanitized: tuple[str, ...] = ()
    roles: Mapping[str, Any] | None = None
    begun: int | None = None

    def __post_init__(self) -> None:
        if not self.recipient or not visible(self.recipient).strip():
            raise LedgerError(f"a recipient needs a name; leave it out for {ANYBODY}")

    def to_mapping(self) -> dict[str, Any]:
        """The content of its entry."""
        return {
            "name": self.name,
            "kind": self.kind,
            "recipient": self.recipient,
            "configuration": None if self.configuration is None else dict(self.configuration),
            "columns": list(self.columns),
            "quasi_identifying": list(self.quasi_identifying),
            "rows": self.rows,
            "suppressed": self.suppressed,
            "held": self.held,
            "version": self.version,
            "policy": None if self.policy is None else dict(self.policy),
            "policy_id": self.policy_id,
            "recipients": self.recipients.value,
            "file_sha256": self.file_sha256,
            "certificate_sha256": self.certificate_sha256,
            "linkable": self.linkable,
            "rows_as": self.rows_as,
            "budget": None if self.budget is None else self.budget.to_mapping(),
            "despite": self.despite,
            **({} if self.promise is None else {"promise": dict(self.promise)}),
            **({} if not self.listed else {"listed": {name: dict(values) for name, values in self.listed.items()}}),
            **({"sanitized": list(self.sanitized)} if self.sanitized else {}),
            **({} if self.roles is None else {"roles": dict(self.roles)}),
            **({} if self.begun is None else {"begun": self.begun}),
        }

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> RecordedRelease:
        """Read what `to_mapping` writes."""
        budget = content.get("budget")
        return cls(
            **{
                **content,
                "columns": tuple(content["columns"]),
                "quasi_identifying": tuple(content["quasi_identifying"]),
                "sanitized": tuple(content.get("sanitized", ())),
                "recipients": Recipients(content["recipients"]),
                "budget": None if budget is None else Budget.from_mapping(budget),
            }
        )

    def had_role(self, role: Role) -> frozenset[str]:
        """The columns that had a role when it left, also those that it did not show."""
        listed = self.roles if self.roles is not None else self.policy or {}
        shown = self.quasi_identifying if role is Role.QUASI_IDENTIFYING else ()
        return frozenset((*listed.get(role.value, ()), *shown))

    def held_by(self, recipient: str | None, recipients: Recipients) -> bool:
        """Whether somebody who gets a release for ``recipient``, anybody where it is None, may hold this one too.

        What left under a policy by which anybody may hold everything keeps that promise, whatever a later policy says.
        """
        key = recipient_key(recipient_named(recipient))
        return recipients is Recipients.TOGETHER or key == ANYBODY or self.is_held_as(key)

    def is_held_as(self, key: str) -> bool:
        """Whether whoever has this key as a recipient may hold it: it is theirs, or may be anybody's."""
        return self.recipients is Recipients.TOGETHER or recipient_key(self.recipient) in (ANYBODY, key)
