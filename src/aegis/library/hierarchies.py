"""Hierarchies of a table's columns: made from what they hold, or read, with the groups that each level leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.candidates.search.masks import Chain, Level, automatic_chain
from aegis.commands.hierarchies import MakeHierarchies
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy, file_name, read_hierarchies, write_hierarchies
from aegis.data.output import check_free
from aegis.data.schema import Role
from aegis.errors import OptionError, OutputError, RoleError
from aegis.library.tables.opening import declared_orders, open_table, with_orders
from aegis.operation import operation
from aegis.result import Result, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPreview:
    """One level: what it does, how many groups it leaves, the smallest, and what stands in groups below k."""

    number: int
    what: str
    groups: int
    smallest: int
    small_groups: int
    records_in_small_groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHierarchy:
    """The levels of a column, the raw values first, and where they come from."""

    name: str
    source: str
    levels: tuple[LevelPreview, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyPreview(Result):
    """Hierarchies with the sizes of their groups; ``unit`` is the column that people were counted by."""

    columns: tuple[ColumnHierarchy, ...]
    k: int
    unit: str | None
    out: Path | None

    @property
    def headline(self) -> str:
        return f"hierarchies of {', '.join(column.name for column in self.columns)}"

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"column": column.name, **plain(level)} for column in self.columns for level in column.levels]


@operation(MakeHierarchies)
def hierarchies(options: MakeHierarchies) -> HierarchyPreview:
    """Make a hierarchy for each column from the kind of its values, or take the given one, and count its groups.

    Numbers go to buckets whose widths double, dates to months, quarters and years, texts with an order to stretches of
    it, codes of equal length lose their last characters, other texts keep their commonest values. Each column is
    counted alone: what several of them single out together, `search` finds.

    Example::

        aegis.hierarchies("clinic.csv", columns=["age"])
    """
    dataset = open_table(options.data, options)
    paths = options.hierarchies
    files = {} if paths is None else read_hierarchies(Path(paths)) if isinstance(paths, str | Path) else dict(paths)
    names = _columns(dataset, options.columns, tuple(files))
    if options.out is not None:
        if Path(options.out).is_file():
            raise OutputError(f"{options.out} is a file; hierarchies are written into a folder, so name one")
        for name in names:
            check_free(Path(options.out) / file_name(dataset.name, name), overwrite=options.overwrite)
    declared = declared_orders(options.order)
    for column in declared:
        if column not in names:
            raise OptionError(f"--order names {column!r}, which gets no hierarchy here; those are {', '.join(names)}")
    previews, chains = [], {}
    for name in names:
        chain, table = column_chain(dataset, name, files, orders={**dataset.orders, **declared}, unit=options.person)
        chains[name] = chain
        source = "from its file" if name in files else f"made from {table.domains[0].kind.value} values"
        levels = tuple(
            level_preview(level, table.merged({name: level.partition}), k=options.k) for level in chain.levels
        )
        previews.append(ColumnHierarchy(name=name, source=source, levels=levels))
    if options.out is not None:
        write_hierarchies(
            {name: chain.hierarchy() for name, chain in chains.items()}, options.out, dataset=dataset.name
        )
    return HierarchyPreview(
        columns=tuple(previews),
        k=options.k,
        unit=options.person,
        out=None if options.out is None else Path(options.out),
    )


def column_chain(
    dataset: Dataset,
    name: str,
    files: Mapping[str, Hierarchy],
    *,
    orders: Mapping[str, tuple[str, ...]],
    unit: str | None,
) -> tuple[Chain, ClassTable]:
    """The levels of a column, from its file or from the kind of its values, and the column as it was counted."""
    table = with_orders(count_classes(dataset, (name,), unit=unit), orders)
    domain = table.domains[0]
    if name in files:
        return Chain.of_hierarchy(name, domain, files[name]), table
    return automatic_chain(name, domain, table.holders(name)), table


def _columns(dataset: Dataset, named: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """The columns that get a hierarchy: those named, those of the files, the quasi-identifying ones, or all."""
    dataset.schema.check(*named)
    chosen = tuple(dict.fromkeys(named)) or tuple(name for name in files if name in dataset.schema)
    chosen = chosen or dataset.roles.quasi_identifying
    if not chosen:
        hidden = (Role.IDENTIFYING, Role.LABEL)
        chosen = tuple(name for name in dataset.schema.names if dataset.roles.get(name) not in hidden)
    if not chosen:
        raise RoleError("no column is left that could have a hierarchy; name some with --columns")
    return chosen


def level_preview(level: Level, merged: ClassTable, *, k: int) -> LevelPreview:
    """What a level leaves of the column that it ``merged``."""
    small = merged.persons < k
    return LevelPreview(
        number=level.number,
        what=level.mask.describe(),
        groups=merged.classes,
        smallest=int(merged.persons.min()),
        small_groups=int(small.sum()),
        records_in_small_groups=int(merged.sizes[small].sum()),
    )
