"""How records are made: from rows of the database, and from the JSON that a catalog sends, and back."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def record_of(kind: type[T], row: Any, **others: Any) -> T:
    """A record of a row whose attributes are called like its fields; ``others`` are those that are not.

    >>> from aegis.catalog.records import Column, Tick
    >>> record_of(Tick, Column(name="age", kind="integer", role="label"), at=0.5, text="half")
    Tick(at=0.5, text='half')
    """
    return kind(
        **{name: others[name] if name in others else getattr(row, name) for name in _field_names(cast(Any, kind))}
    )


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def write(kind: type[T], record: T) -> dict[str, Any]:
    """A record as the JSON that a catalog sends."""
    return dict(_adapter(cast(Any, kind)).dump_python(record, mode="json"))


def read(kind: type[T], content: Any) -> T:
    """A record from the JSON that a catalog sent; fields that this version does not know are left out.

    >>> from aegis.catalog.records import Column
    >>> read(Column, {"name": "age", "kind": "integer", "role": "label", "of a newer version": 1}).description
    ''
    """
    return _adapter(cast(Any, kind)).validate_python(content)
