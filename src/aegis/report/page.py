"""One self-contained HTML page: template, style sheet and pictures in a single file that needs no network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis._version import __version__
from aegis.data.output import write_text
from aegis.errors import MissingExtraError
from aegis.report import figures

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
STYLE_SHEET = _TEMPLATES / "style.css"
"""The look that reports and the console share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure with its name."""

    term: str
    value: str
    unit: str = ""
    is_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What stands under a term in the list at the end of a page."""

    term: str
    lines: tuple[str, ...]


def entry(term: str, *lines: str) -> Entry:
    """A term with what stands under it, line by line."""
    return Entry(term=term, lines=lines)


def render_page(template: str, *, folder: Path | None = None, **context: Any) -> str:
    """Fill a template of ours, or one in ``folder`` that extends ours.

    Every text is escaped; only what went through `picture` is taken as markup. ``version`` is ours unless it is given.
    """
    return _environment(folder).get_template(template).render({"style": _style(), "version": __version__, **context})


def picture(svg: str) -> Any:
    """An SVG of our own making, as markup that a template does not escape again."""
    try:
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError(feature="the report", extra="report") from None
    return Markup(svg)  # noqa: S704  made by report.svg, which escapes every text


def write_page(path: str | Path, html: str, *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all; an existing file is replaced only if ``overwrite`` says so."""
    write_text(Path(path), html, overwrite=overwrite)
    return Path(path)


@cache
def _environment(folder: Path | None) -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError(feature="the report", extra="report") from None
    environment = Environment(
        loader=FileSystemLoader([folder, _TEMPLATES] if folder else [_TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=figures.percent,
        figure=figures.figure,
        seconds=figures.seconds,
        plural=figures.count,
        number=figures.number,
    )
    return environment


@cache
def _style() -> Any:
    return picture(STYLE_SHEET.read_text(encoding="utf-8"))
