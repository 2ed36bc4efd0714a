"""Every act that can be on the record, by what it is about; the page of the audit offers them to choose from."""

from __future__ import annotations

from collections.abc import Mapping

ACTS_OF: Mapping[str, tuple[str, ...]] = {
    "products": ("product registered", "product changed", "product published", "product retired"),
    "configurations": (
        "configuration proposed",
        "configuration generated",
        "configuration pushed with a summary",
        "configuration withdrawn",
        "configuration brought back",
    ),
    "counts": ("summary pushed", "summary set aside", "summary not made"),
    "requests": (
        "access requested",
        "request approved",
        "request rejected",
        "request provisioned",
        "request revoked",
        "request withdrawn",
        "request expired",
    ),
    "releases": (
        "release pushed",
        "release not made",
        "release verified",
        "release refused",
        "release downloaded",
        "release withdrawn",
    ),
    "jobs": ("advice started", "job done", "job failed", "job cancelled"),
    "people": (
        "user created",
        "link made",
        "password chosen",
        "password changed",
        "role given",
        "role taken",
        "switched on",
        "switched off",
        "signed in",
        "signed out",
        "sign-in failed",
    ),
    "tokens": ("token made", "token revoked"),
}
ACTS = frozenset(act for listed in ACTS_OF.values() for act in listed)
