"""Templates: every text is escaped, an unknown name is an error, nothing is read from disk twice."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from aegis._version import __version__
from aegis.catalog.server.pages import words
from aegis.catalog.server.pages.static_files import asset_path
from aegis.report import figures

_TEMPLATES = Path(__file__).parent / "templates"


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
        when=words.when,
        day=words.day,
        iso=words.iso,
        size=words.size,
        tone=words.tone,
        state_words=words.state_words,
        kind_words=words.kind_words,
        role_words=words.role_words,
        first_words=words.first_words,
        sentence=words.sentence,
        percent=figures.percent,
        figure=figures.figure,
        plural=figures.count,
    )
    environment.globals.update(asset=asset_path, version=__version__)
    return environment
