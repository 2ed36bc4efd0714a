"""Templates and the files that pages load.

In templates every text is escaped and an unknown name is an error; nothing is read from disk twice. Style sheets, the
script and the icon have names made from their content: a browser may keep them for good.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from aegis._version import __version__
from aegis.catalog.server.errors import sentence
from aegis.catalog.server.pages import words
from aegis.operation import word
from aegis.report import figures
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
        when=words.when,
        day=words.day,
        iso=words.iso,
        size=words.size,
        tone=words.tone,
        state_words=words.state_words,
        kind_words=words.kind_words,
        role_words=words.role_words,
        first_words=words.first_words,
        sentence=sentence,
        percent=figures.percent,
        figure=figures.figure,
        plural=figures.count,
    )
    environment.globals.update(asset=asset_path, version=__version__)
    return environment
