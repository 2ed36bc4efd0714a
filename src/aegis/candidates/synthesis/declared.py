"""What is public about a table: the values and ranges of its columns, and combinations that cannot occur.

A domain file is YAML::

    columns:
      age: {min: 17, max: 90}
      weight: {min: 30, max: 200, decimals: 1, missing: true}
      sex: [female, male]
      ward: {values: [A, B, C], missing: false}
    impossible:
      - {sex: male, pregnant: "yes"}
      - {age: {below: 14}, married: "yes"}

Numbers outside a declared range count as its nearest end. A list is complete unless it holds ``(other)``.

Combinations that are declared impossible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aegis.arrays import Flags
from aegis.counts.answer import to_numpy
from aegis.counts.cells import MOST_DECIMALS, number_from, numbers_of
from aegis.counts.protect import OTHER
from aegis.data.domain import show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Column, Schema
from aegis.data.yaml_text import read_mapping
from aegis.errors import InputError, OptionError

DECLARED = "declared"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredValues:
    """A list of values; with ``others`` there may be more, which share a code. ``missing`` None: to be measured."""

    values: tuple[Any, ...]
    missing: bool | None = None
    others: bool = False
    origin: str = DECLARED


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRange:
    """Numbers from ``low`` up to below ``high``, dates and times as numbers."""

    low: float
    high: float
    decimals: int | None = None
    missing: bool | None = None
    origin: str = DECLARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A value of a column: one of ``values``, or a number from ``low`` up to below ``high``."""

    column: str
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDomain:
    """What is declared of a table."""

    columns: Mapping[str, DeclaredValues | DeclaredRange] = field(default_factory=dict)
    impossible: tuple[tuple[Condition, ...], ...] = ()


def read_domain(path: Path) -> dict[str, Any]:
    """What a domain file holds."""
    content = read_mapping(path, error=InputError)
    unknown = sorted(set(content) - {"columns", "impossible"})
    if unknown:
        raise InputError(f"{path.name} has the unknown key {unknown[0]!r}; it holds columns and impossible")
    return content


def stated_kinds(content: Mapping[str, Any], *, where: str) -> dict[str, Kind]:
    """The types that a domain file states, which no row of a text file is asked for then.

    >>> stated_kinds({"columns": {"age": {"type": "integer"}, "sex": ["f", "m"]}}, where="the domain")
    {'age': <Kind.INTEGER: 'integer'>}
    """
    listed = content.get("columns") or {}
    entries = listed.items() if isinstance(listed, Mapping) else ()
    stated = {name: entry["type"] for name, entry in entries if isinstance(entry, Mapping) and "type" in entry}
    unknown = next((name for name, kind in stated.items() if kind not in list(Kind)), None)
    if unknown is not None:
        raise InputError(f"{where}: type of column {unknown!r} is one of {', '.join(Kind)}")
    return {name: Kind(kind) for name, kind in stated.items()}


def parse_domain(content: Mapping[str, Any], schema: Schema, *, where: str) -> PublicDomain:
    """What a domain file holds, checked against the columns of the table."""
    listed = content.get("columns") or {}
    if not isinstance(listed, Mapping):
        raise InputError(f"{where}: columns is a mapping from a column to its values")
    columns = {
        name: _declared(_column(name, schema, where), entry, where)
        for name, entry in listed.items()
        if not _only_type(_column(name, schema, where), entry)
    }
    rules = content.get("impossible") or []
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise InputError(f"{where}: impossible is a list of combinations")
    return PublicDomain(columns=columns, impossible=tuple(_rule(rule, schema, where) for rule in rules))


def of_hierarchies(hierarchies: Mapping[str, Hierarchy], schema: Schema) -> dict[str, DeclaredValues | DeclaredRange]:
    """The values that hierarchies list, which are public as far as the hierarchies are."""
    declared: dict[str, DeclaredValues | DeclaredRange] = {}
    for name, hierarchy in hierarchies.items():
        if name not in schema:
            continue
        kind = schema.kind(name)
        values = [row[0] for row in hierarchy.rows]
        if kind is Kind.TEXT:
            declared[name] = DeclaredValues(values=tuple(sorted(values)), origin="a hierarchy", others=True)
        elif kind.is_number:
            try:
                numbers = [float(value) for value in values]
            except ValueError:
                continue  # a hierarchy of ranges says nothing of single numbers
            step = 1.0 if kind is Kind.INTEGER else 0.0
            if max(numbers) + step > min(numbers):
                declared[name] = DeclaredRange(low=min(numbers), high=max(numbers) + step, origin="a hierarchy")
    return declared


def _column(name: Any, schema: Schema, where: str) -> Column:
    if name not in schema:
        raise InputError(
            f"{where} declares the column {name!r}, which the table does not have; its columns are "
            f"{', '.join(schema.names)}"
        )
    return Column(name=name, kind=schema.kind(name))


def _only_type(column: Column, entry: Any) -> bool:
    """Whether nothing but the type is stated of a column: its values are to be found."""
    return isinstance(entry, Mapping) and set(entry) == {"type"} and entry["type"] == column.kind


def _declared(column: Column, entry: Any, where: str) -> DeclaredValues | DeclaredRange:
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        entry = {"values": entry}
    keys = {"type", "values", "min", "max", "decimals", "missing"}
    if not isinstance(entry, Mapping) or set(entry) - keys:
        raise InputError(
            f"{where}: column {column.name!r} is declared by a list, or by type, values, min, max, decimals, missing"
        )
    missing = entry.get("missing")
    if missing is not None and not isinstance(missing, bool):
        raise InputError(f"{where}: missing of column {column.name!r} is true or false")
    if "values" in entry:
        return _values(column, entry, missing, where)
    return _range(column, entry, missing, where)


def _values(column: Column, entry: Mapping[str, Any], missing: bool | None, where: str) -> DeclaredValues:
    values = entry["values"]
    if (
        set(entry) - {"type", "values", "missing"}
        or not isinstance(values, Sequence)
        or isinstance(values, str)
        or not values
    ):
        raise InputError(f"{where}: values of column {column.name!r} is a list, without min and max beside it")
    if column.kind.is_ordered and column.kind is not Kind.INTEGER:
        raise InputError(f"{where}: column {column.name!r} holds {column.kind}; declare it by min and max")
    others = OTHER in values
    if others and column.kind is not Kind.TEXT:
        raise InputError(
            f"{where}: {OTHER} is no value of column {column.name!r}, which holds {column.kind}; list all values, or "
            "declare numbers by min and max"
        )
    if column.kind is Kind.TEXT:
        kept = [show(value) for value in values if value != OTHER]
    else:
        wanted: type = bool if column.kind is Kind.BOOLEAN else int
        kept = list(values)
        if any(type(value) is not wanted for value in kept):
            raise InputError(f"{where}: values of column {column.name!r} are to be {column.kind} as the column is")
    if len(set(kept)) < len(kept):
        raise InputError(f"{where}: values of column {column.name!r} are listed more than once; keep one of each")
    return DeclaredValues(values=tuple(sorted(kept)), missing=missing, others=others)


def _range(column: Column, entry: Mapping[str, Any], missing: bool | None, where: str) -> DeclaredRange:
    if not column.kind.is_ordered:
        raise InputError(f"{where}: column {column.name!r} holds {column.kind}; declare it by its values")
    try:
        low, high = number_from(entry["min"], column.kind), number_from(entry["max"], column.kind)
    except (KeyError, ValueError):
        raise InputError(f"{where}: column {column.name!r} needs min and max of the kind {column.kind}") from None
    if low > high:
        raise InputError(f"{where}: min of column {column.name!r} is above its max")
    decimals = entry.get("decimals")
    if decimals is not None and not (isinstance(decimals, int) and 0 <= decimals <= MOST_DECIMALS):
        raise InputError(f"{where}: decimals of column {column.name!r} is a whole number from 0 to {MOST_DECIMALS}")
    if decimals is not None and column.kind is not Kind.REAL:
        raise InputError(f"{where}: column {column.name!r} holds {column.kind}, which has no decimals")
    if column.kind is not Kind.REAL:
        step = 1.0
    elif decimals is not None:
        step = 10.0**-decimals
    else:
        step = max(abs(high), 1.0) * 1e-12
    return DeclaredRange(low=low, high=high + step, decimals=decimals, missing=missing)


def _rule(rule: Any, schema: Schema, where: str) -> tuple[Condition, ...]:
    if not isinstance(rule, Mapping) or len(rule) < 2:
        raise InputError(f"{where}: an impossible combination names two columns or more, each with its value")
    return tuple(_condition(_column(name, schema, where), entry, where) for name, entry in rule.items())


def _condition(column: Column, entry: Any, where: str) -> Condition:
    if isinstance(entry, Mapping):
        if not column.kind.is_ordered or not entry or set(entry) - {"from", "below"}:
            raise InputError(
                f"{where}: a condition on {column.name!r} is a value, a list, or from and below of numbers"
            )
        try:
            bounds = {key: number_from(value, column.kind) for key, value in entry.items()}
        except ValueError:
            raise InputError(
                f"{where}: from and below of {column.name!r} are to be of the kind {column.kind}"
            ) from None
        return Condition(column=column.name, low=bounds.get("from"), high=bounds.get("below"))
    values = entry if isinstance(entry, list) else [entry]
    if column.kind is Kind.TEXT:
        values = [show(value) for value in values]
    elif column.kind.is_ordered:
        try:
            values = [number_from(value, column.kind) for value in values]
        except ValueError:
            raise InputError(f"{where}: a condition on {column.name!r} is to be of the kind {column.kind}") from None
    return Condition(column=column.name, values=tuple(values))


def check_purpose(purpose: str, label: str | None) -> None:
    """Raise if the purpose needs a label and there is none."""
    if purpose == "label" and label is None:
        raise OptionError("a table for predicting needs a label; name one with --label, or use --purpose general")


def possible(table: pa.Table, impossible: Sequence[Sequence[Condition]]) -> Flags:
    """Which rows match none of the combinations; one that names a column that is not there matches nothing."""
    allowed = np.ones(len(table), dtype=bool)
    for rule in impossible:
        if any(condition.column not in table.column_names for condition in rule):
            continue
        matched = np.ones(len(table), dtype=bool)
        for condition in rule:
            matched &= _matches(table[condition.column], condition)
        allowed &= ~matched
    return allowed


def _matches(column: pa.ChunkedArray, condition: Condition) -> Flags:
    kind = _kind(column.type)
    present, values = to_numpy(column, kind)
    if kind.is_ordered:
        numbers = numbers_of(values, kind)
        met = (
            np.isin(numbers, np.array(condition.values, dtype=np.float64))
            if condition.values
            else np.ones(len(numbers), dtype=bool)
        )
        if condition.low is not None:
            met &= numbers >= condition.low
        if condition.high is not None:
            met &= numbers < condition.high
    else:
        listed = set(condition.values)
        met = np.array([value in listed for value in values.tolist()], dtype=bool)
    matched = np.zeros(len(column), dtype=bool)
    matched[present] = met
    return matched


def _kind(declared: pa.DataType) -> Kind:
    if pa.types.is_boolean(declared):
        return Kind.BOOLEAN
    if pa.types.is_integer(declared):
        return Kind.INTEGER
    if pa.types.is_floating(declared):
        return Kind.REAL
    if pa.types.is_date(declared):
        return Kind.DATE
    if pa.types.is_timestamp(declared):
        return Kind.TIMESTAMP
    return Kind.TEXT
