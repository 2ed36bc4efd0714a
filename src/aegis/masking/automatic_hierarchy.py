"""Hierarchies made from the values of a column, where nobody has written one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import numpy as np

from aegis.data.domain import Domain, show
from aegis.data.hierarchy import TOP, Hierarchy
from aegis.data.kind import Kind
from aegis.errors import HierarchyError
from aegis.masking.bucketize import Bucketize
from aegis.masking.nice_number import nice_numbers
from aegis.masking.partition import Partition
from aegis.masking.star_trailing import StarTrailing


def automatic_hierarchy(domain: Domain) -> Hierarchy:
    """The hierarchy that fits the values: buckets, trailing stars or calendar periods; else the value and ``*``.

    >>> automatic_hierarchy(Domain.of(Kind.TEXT, ["21162", "21163", "21201"])).rows[0]
    ('21162', '2116*', '211**', '21***', '2****', '*')
    """
    if not len(domain.values):
        raise HierarchyError("a column without values has no hierarchy; leave it as it is")
    if domain.kind.is_number:
        return number_hierarchy(domain)
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        return date_hierarchy(domain)
    if domain.kind is Kind.TEXT and code_length(domain) is not None:
        return code_hierarchy(domain)
    return Hierarchy.of([[show(value), TOP] for value in domain.values.tolist()])


def number_hierarchy(domain: Domain) -> Hierarchy:
    """Buckets whose width doubles from level to level, so that each lies within one of the next."""
    values = domain.values
    spread = float(values[-1]) - float(values[0])
    columns = [[show(value) for value in values.tolist()]]
    # The first width is a round number that puts about two values together.
    widths = nice_numbers(least=2 * spread / len(values), most=20 * spread / len(values)) if spread else []
    width = widths[0] if widths else 0.0
    while 0 < width < 2 * spread:
        labels = Bucketize(width=width).on_values(values).tolist()
        if len(set(labels)) == 1:
            break
        if len(set(labels)) < len(set(columns[-1])):
            columns.append(labels)
        width *= 2
    columns.append([TOP] * len(values))
    return Hierarchy.of(zip(*columns, strict=True))


def code_length(domain: Domain) -> int | None:
    """The length that all values share, where they look like codes: equally long, without spaces, with a digit."""
    texts = domain.values.tolist()
    lengths = {len(text) for text in texts}
    if len(lengths) != 1 or not 2 <= (length := lengths.pop()) <= 20:
        return None
    return length if all(not any(c.isspace() for c in t) and any(c.isdigit() for c in t) for t in texts) else None


def code_hierarchy(domain: Domain) -> Hierarchy:
    """One more trailing star at each level."""
    length = code_length(domain)
    if length is None:
        raise HierarchyError("only codes of equal length get trailing stars; give another hierarchy")
    columns = [domain.values.tolist()]
    columns += [StarTrailing(characters=n).on_values(domain.values).tolist() for n in range(1, length)]
    columns.append([TOP] * len(domain.values))
    return Hierarchy.of(zip(*columns, strict=True))


def date_hierarchy(domain: Domain) -> Hierarchy:
    """The day, the month, the quarter, the year."""
    rows = []
    for value in domain.values.tolist():
        assert isinstance(value, date | datetime)
        month, quarter = f"{value.year:04d}-{value.month:02d}", f"{value.year:04d}-Q{(value.month + 2) // 3}"
        rows.append([show(value), month, quarter, f"{value.year:04d}", TOP])
    return Hierarchy.of(rows)


def from_partition_levels(domain: Domain, levels: Sequence[Partition]) -> Hierarchy:
    """From partitions of the domain, each coarser than the one before; ``*`` is added on top.

    >>> domain = Domain.of(Kind.TEXT, ["a", "b", "c"])
    >>> ends = Partition(codes=np.array([0, 1, 0]), target=Domain.of(Kind.TEXT, ["ends", "middle"]))
    >>> from_partition_levels(domain, [ends]).rows
    (('a', 'ends', '*'), ('b', 'middle', '*'), ('c', 'ends', '*'))
    """
    count = len(domain.values)
    columns = [[show(value) for value in domain.values.tolist()]]
    for level in levels:
        if len(level.codes) != domain.size:
            raise HierarchyError("a level of a hierarchy must say where every value goes")
        columns.append(np.array(level.target.labels(), dtype=object)[level.codes[:count]].tolist())
    if len(set(columns[-1])) > 1 or not levels:
        columns.append([TOP] * count)
    return Hierarchy.of(zip(*columns, strict=True))
