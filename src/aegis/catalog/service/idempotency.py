"""Writes that a client may send twice: the first answer is remembered and given again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete

from aegis.catalog.database.tables import Idempotency
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_text
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The answer that was given."""

    status: int
    body: Mapping[str, Any]


def recall(work: Work, *, key: str, fingerprint: str) -> Remembered | None:
    """The answer to the same key; `InputError` if the key came with another content (fingerprint)."""
    require(work.actor, Permission.SEE_CATALOG)
    key = checked_text(key, what="the idempotency key", least=1, most=128)
    row = work.session.get(Idempotency, (work.actor.user_id, key))
    if row is None or row.created_at < work.now - _kept(work):
        return None
    if row.fingerprint != fingerprint:
        raise InputError("this idempotency key was used for something else; take a fresh one")
    return Remembered(status=row.status, body=row.body or {})


def remember(work: Work, *, key: str, fingerprint: str, status: int, body: Mapping[str, Any]) -> None:
    """Remember the answer, in the same transaction as the write itself."""
    require(work.actor, Permission.SEE_CATALOG)
    key = checked_text(key, what="the idempotency key", least=1, most=128)
    work.session.execute(delete(Idempotency).where(Idempotency.created_at < work.now - _kept(work)))
    work.session.add(
        Idempotency(
            user_id=work.user_id,
            key=key,
            fingerprint=fingerprint,
            status=status,
            body=dict(body),
            created_at=work.now,
        )
    )
    work.session.flush()


def _kept(work: Work) -> datetime.timedelta:
    return datetime.timedelta(hours=work.settings.idempotency_hours)
