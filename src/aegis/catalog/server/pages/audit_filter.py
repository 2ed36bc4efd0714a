"""Which part of the record a page shows: read from its address, so that it can be kept, sent and paged through."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from aegis.catalog.service.acts import ACTS_OF
from aegis.catalog.service.audit_trail import Wanted
from aegis.errors import InputError

FIELDS = ("product", "actor", "action", "since", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """The fields as they were filled in; days count from midnight to midnight, UTC, the last one too."""

    product: str = ""
    actor: str = ""
    action: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> AuditFilter:
        return cls(**{name: query.get(name, "").strip()[:200] for name in FIELDS})

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in FIELDS)

    def wanted(self) -> Wanted:
        """What the service is asked for; `InputError` where a field makes no sense."""
        until = _day(self.until)
        return Wanted(
            actor=self.actor or None,
            action=self.action or None,
            since=_day(self.since),
            until=None if until is None else until + datetime.timedelta(days=1),
        )


def action_groups() -> list[tuple[str, tuple[str, ...]]]:
    """The acts to choose from, by what they are about."""
    return list(ACTS_OF.items())


def _day(text: str) -> datetime.datetime | None:
    if not text:
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError("a day is written like 2026-03-01") from None
    if not 1970 <= day.year < 3000:
        raise InputError("the record knows no such day; a day is written like 2026-03-01")
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC)
