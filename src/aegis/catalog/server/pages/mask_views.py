"""What a mask does to the published values of a column, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.catalog import records
from aegis.catalog.server.errors import sentence
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.configurations import preview_on, published
from aegis.errors import ConflictError, InputError
from aegis.report.figures import count

_MOST_GROUPS, _MOST_NAMES = 14, 6
_MOST_ROWS, _MOST_VALUES = 60, 8


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
    shown, on = [], published(work, product=product)
    for column, spec in content.get("masks", {}).items():
        mask = with_hierarchy(spec, column, content.get("hierarchies") or {})
        try:
            shown.append(_shown(preview_on(on, column=column, mask=mask)))
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
    if isinstance(spec, Mapping) and isinstance(parameters := spec.get("generalize"), Mapping):
        name = parameters.get("hierarchy", column)
        if isinstance(name, str) and name in hierarchies:
            return {"generalize": {**parameters, "hierarchy": hierarchies[name]}}
    return spec


def _shown(preview: records.Preview) -> ShownPreview:
    by_masked: dict[str, list[records.PreviewRow]] = {}
    for row in preview.rows:
        by_masked.setdefault("drawn at random" if row.masked is None else row.masked, []).append(row)
    groups = [
        Group(
            becomes=becomes,
            origin=_listed(list(dict.fromkeys(row.value for row in rows)), most=_MOST_NAMES),
            records=f"{sum(row.records for row in rows):,}",
        )
        for becomes, rows in list(by_masked.items())[:_MOST_GROUPS]
    ]
    sentence = _said(preview)
    if len(by_masked) > _MOST_GROUPS:
        sentence += f" The first {_MOST_GROUPS} are shown."
    return ShownPreview(
        column=preview.column,
        words=preview.described,
        said=sentence if groups else preview.note or sentence,
        groups=tuple(groups),
    )


def _said(preview: records.Preview) -> str:
    before = count(preview.values_before, "value")
    if preview.values_after is None or preview.random:
        sentence = f"{before}."
    else:
        sentence = f"{before} become{'s' if preview.values_before == 1 else ''} {preview.values_after:,}."
    note = preview.note or ""
    return f"{sentence} {note[:1].upper()}{note[1:]}." if note else sentence


def _listed(values: list[str], *, most: int) -> str:
    """Few values are listed; of many, those at both ends."""
    if len(values) <= most:
        return ", ".join(values)
    return f"{', '.join(values[: most - 2])}, …, {values[-1]} ({len(values):,} values)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A label that stands beside ``span`` rows."""

    text: str
    span: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyView:
    """A hierarchy, ready for the template."""

    name: str
    words: str
    levels: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def hierarchies_of(content: Mapping[str, Any]) -> list[HierarchyView]:
    """The hierarchies that a configuration brings along."""
    listed = content.get("hierarchies")
    if not isinstance(listed, Mapping):
        return []
    return [hierarchy_view(str(name), rows) for name, rows in listed.items()]


def hierarchy_view(name: str, rows: Sequence[Sequence[object]]) -> HierarchyView:
    """A row for the values that share all their labels; labels that are equal from there on up share a cell.

    >>> view = hierarchy_view("n", [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]])
    >>> [[(cell.text, cell.span) for cell in row] for row in view.rows]
    [[('1, 3', 1), ('odd', 1), ('*', 2)], [('2', 1), ('even', 1)]]
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        texts = tuple(map(str, row))
        groups.setdefault(texts[1:], []).append(texts[0])
    first_seen: dict[tuple[str, ...], int] = {}
    for i, labels in enumerate(groups):
        for level in range(len(labels)):
            first_seen.setdefault(labels[level:], i)
    # Branches stand together, each where its first value stands in the file.
    ordered = sorted(groups, key=lambda labels: [first_seen[labels[i:]] for i in range(len(labels) - 1, -1, -1)])
    shown = ordered[:_MOST_ROWS]
    table = []
    for i, labels in enumerate(shown):
        cells = [Cell(text=_listed(groups[labels], most=_MOST_VALUES), span=1)]
        for level in range(len(labels)):
            if i and shown[i - 1][level:] == labels[level:]:
                continue  # the cell above reaches down to here
            above = labels[level:]
            span = next((k for k, other in enumerate(shown[i:]) if other[level:] != above), len(shown) - i)
            cells.append(Cell(text=labels[level], span=span))
        table.append(tuple(cells))
    deep = len(next(iter(groups), ()))
    words = f"{count(len(rows), 'value')}, levels 0 to {deep}."
    if len(ordered) > _MOST_ROWS:
        words += f" The first {_MOST_ROWS} groups are shown."
    return HierarchyView(
        name=name,
        words=words,
        levels=("values", *(f"level {level}" for level in range(1, deep + 1))),
        rows=tuple(table),
    )
