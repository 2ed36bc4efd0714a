"""One self-contained HTML page: template, style sheet and pictures in a single file that needs no network."""

from __future__ import annotations

import os
import secrets
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.errors import MissingExtraError, OutputError
from aegis.report import figures

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def render_page(template: str, **context: Any) -> str:
    """Fill a template. Every text is escaped; only what went through `picture` is taken as markup."""
    environment = _environment()
    return environment.get_template(template).render(style=_style(), **context)


def picture(svg: str) -> Any:
    """An SVG of our own making, as markup that a template does not escape again."""
    try:
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError(feature="the report", extra="report") from None
    return Markup(svg)  # noqa: S704  made by report.svg, which escapes every text


def write_page(path: str | Path, html: str, *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all; an existing file is replaced only if ``overwrite`` says so."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file for the report")
    if target.exists() and not overwrite:
        raise OutputError(f"{target} exists already; choose another name or pass --overwrite")
    if not target.parent.is_dir():
        raise OutputError(f"there is no folder {target.parent}; make it or choose another place for the report")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(html)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return target


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError(feature="the report", extra="report") from None
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=figures.percent, figure=figures.figure, seconds=figures.seconds, plural=figures.count
    )
    return environment


@cache
def _style() -> Any:
    return picture((_TEMPLATES / "style.css").read_text(encoding="utf-8"))
