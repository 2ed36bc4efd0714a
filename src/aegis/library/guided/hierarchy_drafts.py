"""Hierarchies that somebody may look at and change before candidates are made: names of groups, and levels.

They lie in the folder ``hierarchies`` beside the data, as ARX writes them, where every search looks for them. Groups
are shown with the rows they hold; one that may not be shown, because too few people are in it, keeps its name and is
counted only, since it could tell of somebody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aegis.counts.disclosure_rule import may_name
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import TOP, Hierarchy, file_name, hierarchy_files
from aegis.data.output import draft_of
from aegis.errors import HierarchyError
from aegis.library.hierarchies import LevelPreview, column_chain, level_preview

_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of a level: its place among the groups, its name, and the rows in it."""

    place: int
    label: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDraft:
    """A level with its groups; ``unshown`` are those that are too small, or too many."""

    preview: LevelPreview
    position: int
    groups: tuple[Group, ...]
    unshown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyDraft:
    """The hierarchy of a column as it stands, and where it comes from."""

    column: str
    source: str
    hierarchy: Hierarchy
    levels: tuple[LevelDraft, ...]


def folder_of(source: str) -> Path | None:
    """Where the hierarchies of a table lie; None where it is no file."""
    return None if "://" in source else Path(source).parent / "hierarchies"


def drafts(
    dataset: Dataset, columns: Sequence[str], *, folder: Path, k: int, unit: str | None
) -> tuple[HierarchyDraft, ...]:
    """The hierarchy of each column: that of its file, or one made from what the column holds."""
    files = {column: Hierarchy.read(path) for column, path in hierarchy_files(folder).items()}
    return tuple(_draft(dataset, column, files, k=k, unit=unit) for column in columns)


def _draft(
    dataset: Dataset, column: str, files: Mapping[str, Hierarchy], *, k: int, unit: str | None
) -> HierarchyDraft:
    chain, table = column_chain(dataset, column, files, orders=dataset.orders, unit=unit)
    hierarchy = chain.hierarchy()
    rows_of_values = table.by_records().holders(column).tolist()
    levels = []
    for position, level in enumerate(chain.levels):
        labels = [row[position] for row in hierarchy.rows]
        if position == 0 or len(set(labels)) == 1:
            continue  # the values themselves, and the one group of all
        merged = table.merged({column: level.partition})
        people_of_groups = merged.holders(column)[level.partition.codes].tolist()
        rows: dict[str, int] = {}
        people: dict[str, int] = {}
        for label, number, holders in zip(labels, rows_of_values, people_of_groups, strict=False):
            rows[label] = rows.get(label, 0) + number
            people[label] = holders
        shown = [
            Group(place=place, label=label, rows=number)
            for place, (label, number) in enumerate(rows.items())
            if may_name(people[label])
        ][:_MOST_SHOWN]
        preview = level_preview(level, merged, k=k)
        levels.append(
            LevelDraft(preview=preview, position=position, groups=tuple(shown), unshown=len(rows) - len(shown))
        )
    source = "from its file" if column in files else f"made from {table.domains[0].kind.value} values"
    return HierarchyDraft(column=column, source=source, hierarchy=hierarchy, levels=tuple(levels))


def edited(draft: HierarchyDraft, *, kept: Collection[int], names: Mapping[tuple[int, int], str]) -> Hierarchy:
    """The hierarchy with the levels that are kept, by position, and groups named anew, by position and place.

    Groups of a level that get the same name are one from there on.
    """
    columns: list[list[str]] = [[row[0] for row in draft.hierarchy.rows]]
    for level in draft.levels:
        if level.position not in kept:
            continue
        renamed = {}
        for group in level.groups:
            name = names.get((level.position, group.place), group.label).strip()
            if not name:
                raise HierarchyError(f"a group of level {level.preview.number} of {draft.column} has no name; give one")
            renamed[group.label] = name
        labels = [row[level.position] for row in draft.hierarchy.rows]
        columns.append([renamed.get(label, label) for label in labels])
    columns.append([TOP] * len(columns[0]))
    return Hierarchy.of(zip(*columns, strict=True))


def keep(hierarchy: Hierarchy, column: str, *, folder: Path, dataset: str) -> Path:
    """Write a hierarchy where a search finds it, in place of the one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = hierarchy_files(folder).get(column, folder / file_name(dataset, column))
    with draft_of(path, overwrite=True) as draft:
        hierarchy.write(draft)
    return path


def forget(column: str, *, folder: Path) -> None:
    """Take the file of a column away: its hierarchy is made from what it holds again."""
    path = hierarchy_files(folder).get(column)
    if path is not None:
        path.unlink()
