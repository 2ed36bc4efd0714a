"""A hierarchy as a table: values on the left, ever coarser labels to the right, equal neighbours in one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.report.figures import count

_MOST_ROWS = 120


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
    """Rows whose labels are equal from the coarsest level down stand together.

    >>> view = hierarchy_view("n", [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]])
    >>> [[(cell.text, cell.span) for cell in row] for row in view.rows]
    [[('1', 1), ('odd', 2), ('*', 3)], [('3', 1)], [('2', 1), ('even', 1)]]
    """
    texts = [tuple(str(label) for label in row) for row in rows]
    deep = len(texts[0]) if texts else 0
    # Grouped by the coarsest label first; within a group the order of the file stays.
    first_seen: dict[tuple[str, ...], int] = {}
    for i, row in enumerate(texts):
        for level in range(1, deep):
            first_seen.setdefault(row[level:], i)
    ordered = sorted(range(len(texts)), key=lambda i: _place(texts[i], i, first_seen))
    shown = [texts[i] for i in ordered[:_MOST_ROWS]]
    table: list[tuple[Cell, ...]] = []
    for i, row in enumerate(shown):
        cells = []
        for level in range(deep):
            if level and i and shown[i - 1][level:] == row[level:]:
                continue  # the cell above reaches down to here
            span = 1
            while level and i + span < len(shown) and shown[i + span][level:] == row[level:]:
                span += 1
            cells.append(Cell(text=row[level], span=span))
        table.append(tuple(cells))
    said = f"{count(len(texts), 'value')}, levels 0 to {deep - 1}."
    if len(texts) > _MOST_ROWS:
        said += f" The first {_MOST_ROWS} are shown."
    return HierarchyView(
        name=name,
        words=said,
        levels=tuple("value" if level == 0 else f"level {level}" for level in range(deep)),
        rows=tuple(table),
    )


def _place(row: tuple[str, ...], i: int, first_seen: dict[tuple[str, ...], int]) -> tuple[object, ...]:
    coarse_first = (first_seen[row[level:]] for level in range(len(row) - 1, 0, -1))
    return (*coarse_first, i)
