"""Failed sign-ins are counted, by name and by address; beyond a limit the next is not even tried."""

from __future__ import annotations

import datetime
import hashlib

from sqlalchemy import delete, func, select, text

from aegis.catalog.database.columns import new_id
from aegis.catalog.database.tables import Attempt
from aegis.catalog.service.catalog import Work
from aegis.errors import TooManyAttemptsError

_PENDING = ""
"""The address of an attempt whose outcome is not known yet: it counts for its name, so that nobody tries many at once,
but not for the address, from which many people may sign in together."""


def begin_attempt(work: Work, *, name: str, address: str) -> str:
    """Count an attempt as failed before it is made, and give its id; `TooManyAttemptsError` when there were enough."""
    if work.session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
        work.session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
    window = datetime.timedelta(minutes=work.settings.sign_in_window_minutes)
    work.session.execute(delete(Attempt).where(Attempt.at < work.now - 4 * window))
    limits = (
        (Attempt.name == name, work.settings.sign_in_failures),
        (Attempt.address == address, work.settings.sign_in_failures_per_address),
    )
    for condition, limit in limits:
        failures, first = work.session.execute(
            select(func.count(), func.min(Attempt.at)).where(condition, Attempt.at > work.now - window)
        ).one()
        if failures >= limit:
            wait = max(1, int((first + window - work.now).total_seconds()) + 1)
            raise TooManyAttemptsError(
                f"too many sign-ins failed; try again in {-(-wait // 60)} minutes", retry_after_seconds=wait
            )
    attempt = Attempt(id=new_id(), name=name, address=_PENDING, at=work.now)
    work.session.add(attempt)
    return attempt.id


def attempt_failed(work: Work, attempt_id: str, *, address: str) -> None:
    """It was the wrong password."""
    attempt = work.session.get(Attempt, attempt_id)
    if attempt is not None:
        attempt.address = address


def attempt_succeeded(work: Work, *, name: str) -> None:
    """The failures of this name are forgotten."""
    work.session.execute(delete(Attempt).where(Attempt.name == name))
