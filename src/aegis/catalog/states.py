"""The states of things, and which may follow which.

>>> follows(RequestState.PENDING, RequestState.APPROVED)
True
>>> follows(RequestState.REJECTED, RequestState.APPROVED)
False
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from aegis.errors import ConflictError


class RequestState(StrEnum):
    """A request for access. A consumer who takes a request back revokes it."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    PROVISIONED = "PROVISIONED"
    REVOKED = "REVOKED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"


class ProductState(StrEnum):
    """A data product: drafts are seen by those who work on them only."""

    DRAFT = "draft"
    PUBLISHED = "published"
    RETIRED = "retired"


class ReleaseState(StrEnum):
    """A release: received ones are measured again before anybody can download them."""

    RECEIVED = "received"
    VERIFIED = "verified"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class JobState(StrEnum):
    """A background job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeliveryState(StrEnum):
    """A notification on its way out: claimed by one worker while it is sent."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


ON_ITS_WAY = (DeliveryState.WAITING, DeliveryState.SENDING)
State = RequestState | ProductState | ReleaseState | JobState

_R, _P, _L, _J = RequestState, ProductState, ReleaseState, JobState
TRANSITIONS: Mapping[State, frozenset[State]] = {
    _R.PENDING: frozenset({_R.APPROVED, _R.REJECTED, _R.REVOKED, _R.EXPIRED}),
    _R.APPROVED: frozenset({_R.PROVISIONED, _R.REVOKED, _R.EXPIRED}),
    _R.PROVISIONED: frozenset({_R.REVOKED, _R.EXPIRED}),
    _R.REVOKED: frozenset(),
    _R.REJECTED: frozenset(),
    _R.EXPIRED: frozenset(),
    _P.DRAFT: frozenset({_P.PUBLISHED, _P.RETIRED}),
    _P.PUBLISHED: frozenset({_P.RETIRED}),
    _P.RETIRED: frozenset({_P.PUBLISHED}),
    _L.RECEIVED: frozenset({_L.VERIFIED, _L.REFUSED, _L.WITHDRAWN}),
    _L.VERIFIED: frozenset({_L.WITHDRAWN}),
    _L.REFUSED: frozenset(),
    _L.WITHDRAWN: frozenset(),
    _J.QUEUED: frozenset({_J.RUNNING, _J.CANCELLED, _J.FAILED}),
    _J.RUNNING: frozenset({_J.RUNNING, _J.DONE, _J.FAILED, _J.CANCELLED}),
    _J.DONE: frozenset(),
    _J.FAILED: frozenset(),
    _J.CANCELLED: frozenset(),
}
"""Every legal step. A running job may be taken over by another worker."""

KEPT_RELEASES = (ReleaseState.RECEIVED, ReleaseState.VERIFIED)
"""The states in which the file of a release is kept, as they are stored."""
OPEN_REQUESTS = frozenset(state for state in RequestState if TRANSITIONS[state])
"""The states in which a request can still change."""


def follows(before: State, after: State) -> bool:
    """Whether ``after`` may come right after ``before``."""
    return after in TRANSITIONS[before]


def check_step(before: State, after: State, *, what: str) -> None:
    """Raise unless ``what`` may go from one state to the other."""
    if not follows(before, after):
        raise ConflictError(f"{what} is {before.value} and cannot become {after.value}; look at it again")
