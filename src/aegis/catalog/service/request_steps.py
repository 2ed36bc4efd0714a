"""The states of a request as they count, and the steps between them."""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_

from aegis.catalog.database.tables import Request
from aegis.catalog.service.catalog import Work
from aegis.catalog.states import OPEN_REQUESTS, RequestState, check_step
from aegis.errors import ConflictError


def effective_state(row: Any, now: datetime.datetime) -> RequestState:
    """The state as it counts: past its end a request is expired, whether or not that was written down yet."""
    state: RequestState = row.state
    if state in OPEN_REQUESTS and row.expires_at is not None and row.expires_at <= now:
        return RequestState.EXPIRED
    return state


def in_state(state: RequestState, now: datetime.datetime | ColumnElement[datetime.datetime]) -> ColumnElement[bool]:
    """The same as a condition."""
    if state is RequestState.EXPIRED:
        overdue = and_(Request.state.in_(OPEN_REQUESTS), Request.expires_at <= now)
        return or_(Request.state == state, overdue)
    if state not in OPEN_REQUESTS:
        return Request.state == state
    return and_(Request.state == state, or_(Request.expires_at.is_(None), Request.expires_at > now))


def move(work: Work, row: Request, state: RequestState, *, version: int | None = None) -> None:
    """One step of a request that is locked; `ConflictError` if it is not allowed or somebody was faster."""
    if version is not None and version != row.version:
        raise ConflictError("somebody changed the request in the meantime; look at it again")
    check_step(effective_state(row, work.now), state, what="the request")
    row.state, row.changed_at = state, work.now
