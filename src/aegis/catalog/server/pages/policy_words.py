"""A policy in sentences that a person without the field's words understands; each keeps the field's name beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aegis.errors import PolicyError
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import percent
from aegis.report.figures import listed


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
