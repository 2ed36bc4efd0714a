"""Templates, the files that pages load, and how both write times, sizes, states and policies for people.

In templates every text is escaped and an unknown name is an error; nothing is read from disk twice. Style sheets, the
script and the icon have names made from their content: a browser may keep them for good.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from aegis._version import __version__
from aegis.catalog.server.errors import sentence
from aegis.errors import PolicyError
from aegis.operation import word
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.verdict import percent
from aegis.report import figures
from aegis.report.figures import listed
from aegis.report.page import STYLE_SHEET

_TEMPLATES = Path(__file__).parent / "templates"
_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_SOURCES = {
    "house.css": STYLE_SHEET,  # reports and console share one look
    "console.css": _FOLDER / "console.css",
    "progress.js": _FOLDER / "progress.js",
    "icon.svg": _FOLDER / "icon.svg",
}
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file, ready to be sent."""

    path: str
    media_type: str
    content: bytes
    compressed: bytes


@cache
def assets() -> dict[str, Asset]:
    """Every file by its plain name."""
    loaded = {}
    for name, source in _SOURCES.items():
        content = source.read_bytes()
        stem, _, suffix = name.rpartition(".")
        loaded[name] = Asset(
            path=f"/static/{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{suffix}",
            media_type=_TYPES[f".{suffix}"],
            content=content,
            compressed=gzip.compress(content, mtime=0),
        )
    return loaded


def asset_path(name: str) -> str:
    """Where a page finds a file.

    >>> asset_path("icon.svg").startswith("/static/icon.")
    True
    """
    return assets()[name].path


async def send_asset(request: Request) -> Response:
    """One file; another version of it, or none of ours, is not found."""
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    asset = next((asset for asset in assets().values() if asset.path == path), None)
    if asset is None:
        return PlainTextResponse("there is no such file", status_code=404)
    headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.compressed, media_type=asset.media_type, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def render(template: str, context: dict[str, Any]) -> str:
    """Fill a template."""
    return _environment().get_template(template).render(context)


def load_templates() -> None:
    """Compile every template now, so that no visitor waits for it."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        word=word,
        when=when,
        day=day,
        iso=iso,
        size=byte_size,
        tone=tone,
        state_words=state_words,
        kind_words=kind_words,
        role_words=role_words,
        first_words=first_words,
        sentence=sentence,
        percent=figures.percent,
        figure=figures.figure,
        plural=figures.count,
    )
    environment.globals.update(asset=asset_path, version=__version__)
    return environment


# How the console writes times, sizes and states, and a policy for people without the field's words

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


def byte_size(number: int) -> str:
    """A size in bytes.

    >>> byte_size(1), byte_size(900), byte_size(1_500_000)
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


_LEVELS = {"2d": "each column with the label", "1d": "each column by itself", "none": "masked columns only"}


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
