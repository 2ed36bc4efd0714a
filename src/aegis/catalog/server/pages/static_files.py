"""Style sheets, the script and the icon, under names made from their content: a browser may keep them for good."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from aegis.report.page import STYLE_SHEET

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
    found = {}
    for name, source in _SOURCES.items():
        content = source.read_bytes()
        stem, _, suffix = name.rpartition(".")
        found[name] = Asset(
            path=f"/static/{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{suffix}",
            media_type=_TYPES[f".{suffix}"],
            content=content,
            compressed=gzip.compress(content, mtime=0),
        )
    return found


def asset_path(name: str) -> str:
    """Where a page finds a file.

    >>> asset_path("icon.svg").startswith("/static/icon.")
    True
    """
    return assets()[name].path


async def send_asset(request: Request) -> Response:
    """One file; another version of it, or none of ours, is not found."""
    wanted = request.url.path.removeprefix(request.scope.get("root_path", ""))
    asset = next((one for one in assets().values() if one.path == wanted), None)
    if asset is None:
        return PlainTextResponse("there is no such file", status_code=404)
    headers = {"Cache-Control": _FOR_GOOD, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.compressed, media_type=asset.media_type, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
