"""What an operation answers: a value that shows itself, turns into a table, and is written and read as JSON."""

from __future__ import annotations

import dataclasses
import html
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from aegis.errors import InputError, MissingExtraError

_NAME = "name in JSON"

UNWRITTEN: Mapping[str, str | None] = types.MappingProxyType({_NAME: None})
"""The metadata of a dataclass's field that JSON does not hold: what is read from there has its default."""
AMONG_OTHERS: Mapping[str, str | None] = types.MappingProxyType({_NAME: ""})
"""The metadata of a field whose own JSON stands among the other fields, without a name for the whole."""


def called(name: str) -> dict[str, str]:
    """The metadata of a dataclass's field that has another ``name`` in JSON."""
    return {_NAME: name}


class Tabular:
    """What a notebook shows as a table below a sentence, and turns into a data frame."""

    __slots__ = ()

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return type(self).__name__

    def table_rows(self) -> list[dict[str, Any]]:
        """The answer as a table: one dictionary per row, all with the same keys."""
        return []

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(feature="a pandas data frame", extra="pandas") from None
        return pd.DataFrame(self.table_rows())

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        try:
            import polars as pl
        except ImportError:
            raise MissingExtraError(feature="a Polars data frame", extra="polars") from None
        return pl.DataFrame(self.table_rows(), infer_schema_length=None)

    def __repr__(self) -> str:
        # For results whose fields are too many to read; others have the one of their dataclass.
        return f"{type(self).__name__}({self.headline})"

    def _repr_html_(self) -> str:
        return as_html(self.headline, self.table_rows())


class Result(Tabular):
    """The base of what an operation gives back; a subclass is a frozen dataclass.

    `to_json` and `from_json` are a pair: what one writes the other reads. A subclass says in `table_rows` which of its
    parts make up a table, and in `headline` what it answers in one sentence. Properties that are ``also_shown`` stand
    in the JSON beside its fields.
    """

    __slots__ = ()
    also_shown: ClassVar[tuple[str, ...]] = ()

    @property
    def exit_status(self) -> int:
        """What the command ends with: 1 where a guarantee does not hold, 130 where it was interrupted."""
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must not be overlooked: the command says it on stderr, beside ``--json`` too."""
        return ()

    def table_rows(self) -> list[dict[str, Any]]:
        """One row, of everything in the JSON, unless a subclass has better ones."""
        return [self.to_json()]

    def to_json(self) -> dict[str, Any]:
        """The object that the command prints with ``--json``."""
        return plain(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The result that `to_json` wrote; raises InputError, which shows none of it, if it is not one."""
        try:
            return rebuilt(cls, cls.fields_in(content))
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            raise InputError(f"this is no JSON of a {cls.__name__} ({type(error).__name__})") from None

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields by name, where the JSON has them under other keys; values may be as JSON has them."""
        return content


def as_html(headline: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a notebook shows them, below a sentence."""
    if not rows:
        return f"<p>{html.escape(headline)}</p>"
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    caption = f"<caption style='text-align:left'>{html.escape(headline)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plain(value: Any) -> Any:
    """Dataclasses, tuples, paths and enumerations as JSON has them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = {name: name for name in getattr(value, "also_shown", ())} | _names_in_json(type(value))
        content: dict[str, Any] = {}
        for name, shown in names.items():
            part = getattr(value, name)
            content |= {shown: plain(part)} if shown else part.to_json()
        return content
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return value.tolist()
    return value


def rebuilt(kind: Any, content: Any) -> Any:
    """A value of the type ``kind`` from what `plain` made of it."""
    if kind is Any or (isinstance(kind, type) and isinstance(content, kind)):
        return content
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if content is None:
            return None
        parts = [part for part in get_args(kind) if part is not type(None)]
        return rebuilt(parts[0], content)
    if origin in (tuple, list, Sequence):
        inner = get_args(kind)
        if origin is tuple and inner and inner[-1] is not Ellipsis:
            return tuple(rebuilt(part, value) for part, value in zip(inner, content, strict=True))
        many = (rebuilt(inner[0], value) for value in content)
        return list(many) if origin is list else tuple(many)
    if origin in (dict, Mapping):
        key_kind, value_kind = get_args(kind)
        return {_key(key_kind, key): rebuilt(value_kind, value) for key, value in content.items()}
    if isinstance(kind, type):
        if dataclasses.is_dataclass(kind):
            hints, names = _hints(kind), _names_in_json(kind)
            fields: dict[str, Any] = {
                name: rebuilt(hints[name], content[shown]) for name, shown in names.items() if shown in content
            }
            for name in (name for name, shown in names.items() if not shown and name not in fields):
                read = getattr(hints[name], "from_json", None)
                fields[name] = rebuilt(hints[name], content) if read is None else read(content)
            return kind(**fields)
        if issubclass(kind, Enum | Path):
            return kind(content)
        if kind is float and content is not None:
            return float(content)
    return content


def _key(kind: Any, key: str) -> Any:
    """A key of a mapping: JSON has texts only."""
    return kind(key) if kind in (int, float) else key


@cache
def _names_in_json(kind: type[Any]) -> dict[str, str]:
    names = {field.name: field.metadata.get(_NAME, field.name) for field in dataclasses.fields(kind) if field.init}
    return {name: shown for name, shown in names.items() if shown is not None}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(part) for part in value)
    return str(value)
