"""A hierarchy as a table: values on the left, ever coarser labels to the right, equal ones in one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.report.figures import count

_MOST_ROWS = 60
_MOST_VALUES = 8


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
        cells = [Cell(text=_values(groups[labels]), span=1)]
        for level in range(len(labels)):
            if i and shown[i - 1][level:] == labels[level:]:
                continue  # the cell above reaches down to here
            above = labels[level:]
            span = next((k for k, other in enumerate(shown[i:]) if other[level:] != above), len(shown) - i)
            cells.append(Cell(text=labels[level], span=span))
        table.append(tuple(cells))
    deep = len(next(iter(groups), ()))
    said = f"{count(len(rows), 'value')}, levels 0 to {deep}."
    if len(ordered) > _MOST_ROWS:
        said += f" The first {_MOST_ROWS} groups are shown."
    return HierarchyView(
        name=name,
        words=said,
        levels=("values", *(f"level {level}" for level in range(1, deep + 1))),
        rows=tuple(table),
    )


def _values(values: list[str]) -> str:
    if len(values) <= _MOST_VALUES:
        return ", ".join(values)
    return f"{', '.join(values[: _MOST_VALUES - 2])}, …, {values[-1]} ({len(values):,} values)"
