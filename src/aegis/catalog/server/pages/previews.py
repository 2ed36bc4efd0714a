"""What a mask does to the published values of a column, group by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.catalog.server.pages.routing import sentence
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.previews import preview as preview_of
from aegis.catalog.service.views import Preview, PreviewRow
from aegis.errors import ConflictError, InputError
from aegis.report.figures import count

_MOST_GROUPS = 14
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What values become."""

    becomes: str
    origin: str
    records: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPreview:
    """One column under its mask, ready for the template."""

    column: str
    words: str
    said: str
    groups: tuple[Group, ...]


def previews(work: Work, *, product: str, content: Mapping[str, Any]) -> list[ShownPreview]:
    """Each column under the mask that a configuration puts on it; a mask that cannot be shown says why."""
    shown = []
    for column, spec in content.get("masks", {}).items():
        mask = with_hierarchy(spec, column, content.get("hierarchies") or {})
        try:
            shown.append(_shown(preview_of(work, product=product, column=column, mask=mask)))
        except (InputError, ConflictError) as error:
            shown.append(ShownPreview(column=column, words="", said=sentence(error), groups=()))
    return shown


def with_hierarchy(spec: Any, column: str, hierarchies: Mapping[str, Any]) -> Any:
    """A mask that stands alone: its hierarchy, which the file lists once, written into it.

    >>> with_hierarchy({"generalize": {"level": 1}}, "n", {"n": [["1", "*"]]})
    {'generalize': {'level': 1, 'hierarchy': [['1', '*']]}}
    """
    if isinstance(spec, list):
        return [with_hierarchy(link, column, hierarchies) for link in spec]
    if isinstance(spec, Mapping) and isinstance(given := spec.get("generalize"), Mapping):
        name = given.get("hierarchy", column)
        if isinstance(name, str) and name in hierarchies:
            return {"generalize": {**given, "hierarchy": hierarchies[name]}}
    return spec


def _shown(preview: Preview) -> ShownPreview:
    found: dict[str, list[PreviewRow]] = {}
    for row in preview.rows:
        found.setdefault("drawn at random" if row.masked is None else row.masked, []).append(row)
    groups = [
        Group(
            becomes=becomes,
            origin=_origin([row.value for row in rows]),
            records=f"{sum(row.records for row in rows):,}",
        )
        for becomes, rows in list(found.items())[:_MOST_GROUPS]
    ]
    said = _said(preview)
    if len(found) > _MOST_GROUPS:
        said += f" The first {_MOST_GROUPS} are shown."
    return ShownPreview(
        column=preview.column,
        words=preview.described,
        said=said if groups else preview.note or said,
        groups=tuple(groups),
    )


def _said(preview: Preview) -> str:
    before = count(preview.values_before, "value")
    if preview.values_after is None or preview.random:
        said = f"{before}."
    else:
        said = f"{before} become{'s' if preview.values_before == 1 else ''} {preview.values_after:,}."
    note = preview.note or ""
    return f"{said} {note[:1].upper()}{note[1:]}." if note else said


def _origin(values: list[str]) -> str:
    """Few values are listed; of many, those at both ends."""
    named = list(dict.fromkeys(values))
    if len(named) <= _MOST_NAMES:
        return ", ".join(named)
    return f"{', '.join(named[: _MOST_NAMES - 2])}, …, {named[-1]} ({len(named):,} values)"
