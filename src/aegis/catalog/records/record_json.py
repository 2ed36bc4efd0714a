"""A record as the JSON that a catalog sends, and back."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")

_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def write(kind: type[T], record: T) -> dict[str, Any]:
    """A record as the JSON that a catalog sends."""
    return dict(_adapter(kind).dump_python(record, mode="json"))


def read(kind: type[T], content: Any) -> T:
    """A record from the JSON that a catalog sent; fields that this version does not know are left out.

    >>> from aegis.catalog.records import Column
    >>> read(Column, {"name": "age", "kind": "integer", "role": "label", "of a newer version": 1}).description
    ''
    """
    return _adapter(kind).validate_python(content)
