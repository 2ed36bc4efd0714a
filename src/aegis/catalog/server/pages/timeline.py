"""What happened to a request, in order, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from aegis.catalog.database.states import RequestState
from aegis.catalog.service.views import RequestView

_NEXT = {
    RequestState.PENDING: "An expert of the product decides.",
    RequestState.APPROVED: "The provider makes the release and pushes it.",
}
_GOOD = ("approved", "provisioned", "verified")
_BAD = ("rejected", "revoked", "refused", "failed", "withdrawn", "expired", "not made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened, or the one that is awaited."""

    words: str
    actor: str
    at: datetime | None
    tone: str
    note: str = ""


def timeline(request: RequestView) -> list[Step]:
    """The history from the first step on; what is awaited stands last."""
    steps = [
        Step(
            words=entry.action[:1].upper() + entry.action[1:],
            actor=entry.actor,
            at=entry.at,
            tone=_tone(entry.action),
            note=_note(entry.details),
        )
        for entry in sorted(request.history, key=lambda entry: entry.sequence)
    ]
    if request.state is RequestState.EXPIRED and not any("expired" in entry.action for entry in request.history):
        steps.append(Step(words="Expired", actor="", at=request.expires_at, tone="bad"))
    if request.state in _NEXT:
        steps.append(Step(words=_NEXT[request.state], actor="", at=None, tone="next"))
    if request.state is RequestState.PROVISIONED:
        steps.append(Step(words="The access ends.", actor="", at=request.expires_at, tone="next"))
    return steps


def _tone(action: str) -> str:
    if any(word in action for word in _BAD):
        return "bad"
    return "good" if any(word in action for word in _GOOD) else ""


def _note(details: object) -> str:
    """The part of the record that people want to read: a reason, a configuration."""
    if not hasattr(details, "get"):
        return ""
    said = [str(details.get(key)) for key in ("configuration", "reason") if details.get(key)]
    return "; ".join(said)
