"""How the console writes times, sizes and states, and a policy for people without the field's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from aegis.errors import PolicyError
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import percent
from aegis.report.figures import listed

_TONES = {
    "draft": "wait", "published": "good", "retired": "calm",
    "pending": "wait", "approved": "go", "provisioned": "good", "rejected": "bad", "revoked": "bad", "expired": "calm",
    "received": "wait", "verified": "good", "refused": "bad", "withdrawn": "calm",
    "queued": "wait", "running": "go", "done": "good", "failed": "bad", "cancelled": "calm",
    "active": "good", "inactive": "calm", "invited": "wait", "current": "good",
}  # fmt: skip
_WORDS = {
    "pending": "waits for a decision",
    "approved": "approved, waits for the release",
    "provisioned": "ready to download",
    "received": "being checked",
    "refused": "refused by the check",
}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def when(moment: datetime) -> str:
    """A moment, to the minute.

    >>> when(datetime(2026, 3, 4, 5, 6, tzinfo=UTC))
    '4 Mar 2026, 05:06 UTC'
    """
    there = moment.astimezone(UTC)
    return f"{there.day} {there:%b %Y, %H:%M} UTC"


def day(moment: datetime) -> str:
    """The day of a moment.

    >>> day(datetime(2026, 3, 4, 5, 6, tzinfo=UTC))
    '4 Mar 2026'
    """
    there = moment.astimezone(UTC)
    return f"{there.day} {there:%b %Y}"


def iso(moment: datetime) -> str:
    """A moment for machines."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def size(number: int) -> str:
    """A size in bytes.

    >>> size(1), size(900), size(1_500_000)
    ('1 byte', '900 bytes', '1.5 MB')
    """
    if number == 1:
        return "1 byte"
    value, unit = float(number), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {_UNITS[unit]}"


def tone(state: str) -> str:
    """The class of a state's colour."""
    return _TONES.get(state.lower(), "calm")


def state_words(state: str) -> str:
    """A state as people say it.

    >>> state_words("PROVISIONED"), state_words("draft")
    ('ready to download', 'draft')
    """
    return _WORDS.get(state.lower(), state.lower().replace("_", " "))


KINDS = (
    ("text", "text"),
    ("integer", "whole numbers"),
    ("real", "numbers"),
    ("boolean", "yes or no"),
    ("date", "dates"),
    ("timestamp", "dates with times"),
)
ROLES = (
    ("insensitive", "insensitive"),
    ("quasi_identifying", "quasi-identifying"),
    ("identifying", "identifying"),
    ("sensitive", "sensitive"),
    ("label", "label"),
)
ROLE_MEANINGS = (
    ("identifying", "Names a person by itself, like a patient number. Always hidden."),
    ("quasi-identifying", "Identifies together with others, like age and place. Masked until groups are large enough."),
    ("sensitive", "What must not be learned about a person, like a diagnosis."),
    ("label", "What a model is to predict; the ranking asks how much is kept of what the table says about it."),
    ("insensitive", "Everything else."),
)


_LEVELS = {
    "2d": "each column with the label",
    "1d": "each column by itself",
    "none": "masked columns only",
}


def level_words(level: str) -> str:
    """How much of the unmasked table a summary tells, as people say it.

    >>> level_words("1d")
    'each column by itself'
    """
    return _LEVELS.get(level, level)


def kind_words(kind: str) -> str:
    """A kind of column as people say it."""
    return dict(KINDS).get(kind, kind)


def role_words(role: str) -> str:
    """A role as people say it."""
    return dict(ROLES).get(role, role.replace("_", "-"))


def first_words(text: str, most: int) -> str:
    """The beginning of a text, cut between words.

    >>> first_words("one two three", 9)
    'one two …'
    """
    plain = " ".join(text.split())
    if len(plain) <= most:
        return plain
    return plain[: most - 1].rsplit(" ", 1)[0] + " …"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One thing that a release must keep: in plain words, and by its name."""

    words: str
    model: str


def promises(policy: Mapping[str, Any] | None) -> list[Promise]:
    """What the policy asks for, sentence by sentence; empty where there is none."""
    return list(_promises(json.dumps(policy))) if policy else []


@lru_cache(maxsize=4_096)
def _promises(text: str) -> tuple[Promise, ...]:
    """The same policy is read once."""
    try:
        rules = Policy.from_mapping(json.loads(text))
    except PolicyError:
        return (Promise(words="The policy cannot be read.", model=""),)
    on = listed(list(rules.roles.quasi_identifying), 8) or "the quasi-identifying columns"
    promises = [_promise(model, on) for model in rules.models]
    return (*promises, Promise(words=_suppressed(rules), model="suppression"))


def _promise(model: Model, on: str) -> Promise:
    of = listed(list(model.needs), 8) or "the sensitive column"
    name = f"{model.name}{f' of {of}' if model.needs else ''}"
    return Promise(words=model.promise(on=on, of=of), model=name)


def _suppressed(rules: Policy) -> str:
    if rules.max_suppression == 0:
        return "No record may be suppressed to reach this."
    then = {
        Suppressed.JUDGED: "they are published with * instead of what identifies, and must keep the same promises",
        Suppressed.EXEMPT: "they are published with * instead of what identifies, and are judged by no promise",
        Suppressed.DROPPED: "they are left out",
    }[rules.suppressed]
    return f"Up to {percent(rules.max_suppression)} of the records may be suppressed to reach this; {then}."
