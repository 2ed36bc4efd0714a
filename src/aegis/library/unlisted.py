"""Columns nobody gave a role that look as if they named people: published as they are, but never silently."""

from __future__ import annotations

from collections.abc import Collection

from aegis.counts.answer import count_rows, distinct_in_first
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles

_LOOKED_AT = 50_000
_NEARLY_ALL = 0.98
_FEW = 20


def looks_identifying(
    dataset: Dataset, roles: Roles, *, masked: Collection[str] = (), rows: int | None = None
) -> tuple[str, ...]:
    """Columns without role and mask that have a value of their own in nearly every row.

    ``rows`` is how many there are, where they were counted before.
    """
    names = [
        column.name
        for column in dataset.schema
        if roles.get(column.name) is None and column.name not in masked and column.kind is not Kind.REAL
    ]
    if not names:
        return ()
    rows = min(count_rows(dataset.table) if rows is None else rows, _LOOKED_AT)
    if rows <= _FEW:
        return ()
    distinct = distinct_in_first(dataset.table, names, rows=_LOOKED_AT)
    return tuple(name for name in names if distinct[name] >= _NEARLY_ALL * rows)


def warning(columns: tuple[str, ...]) -> str:
    """What to tell whoever is about to publish them."""
    several = len(columns) > 1
    return (
        f"{', '.join(columns)} {'have' if several else 'has'} a value of {'their' if several else 'its'} own in nearly "
        f"every row and no role: published as {'they are' if several else 'it is'}; name "
        f"{'them' if several else 'it'} identifying if that names people"
    )
