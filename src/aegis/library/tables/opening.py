"""The table that an operation was given, opened as its options say, and the order of values that somebody declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import READING, Reading, TableLike, WithIdentifying, WithRoles
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles, read_roles
from aegis.errors import OptionError
from aegis.library.tables.unlisted import REST
from aegis.operation import names

_DELIMITERS = {"tab": "\t", "\\t": "\t"}


def open_table(data: TableLike, options: Reading) -> Dataset:
    """``data`` as a dataset; one that is open already takes no options of reading."""
    if isinstance(options, WithRoles) and REST in options.insensitive:
        return _with_the_rest(data, options)
    roles = roles_given(options) if isinstance(options, WithIdentifying) else None
    if isinstance(data, Dataset):
        options.refuse(*READING, because="the table is open already, so nothing is read by these options")
        if roles is None or roles == Roles():
            return data
        return replace(data, roles=data.roles.overridden_by(roles).checked_against(data.schema))
    return open_dataset(data, roles=roles, **reading(options))


def _with_the_rest(data: TableLike, options: WithRoles) -> Dataset:
    """The table where somebody said ``--insensitive rest``: every column without another role is insensitive."""
    named = tuple(name for name in options.insensitive if name != REST)
    dataset = open_table(data, replace(options, insensitive=named))
    if REST in dataset.schema:
        return dataset.with_roles(dataset.roles.overridden_by(Roles(insensitive=(REST,))))
    label = getattr(options, "label", None)
    labels = names(label) if isinstance(label, str) else tuple(label or ())
    rest = tuple(name for name in dataset.schema.names if dataset.roles.get(name) is None and name not in labels)
    return dataset.with_roles(dataset.roles.overridden_by(Roles(insensitive=rest)))


def reading(options: Reading) -> dict[str, Any]:
    """The options of `open_dataset` as keywords."""
    return {
        "delimiter": _DELIMITERS.get(options.delimiter or "", options.delimiter),
        "encoding": options.encoding,
        "missing": tuple(options.missing),
        "decimal_comma": tuple(options.decimal_comma),
        "day_first": tuple(options.day_first),
        "month_first": tuple(options.month_first),
        "table": options.table,
        "engine": options.engine,
    }


def roles_given(options: WithIdentifying) -> Roles:
    """The roles of the file or object that is given, overridden by those of single columns."""
    listed = Roles(identifying=tuple(options.identifying))
    if isinstance(options, WithRoles):
        listed = replace(
            listed,
            quasi_identifying=tuple(options.quasi),
            sensitive=tuple(options.sensitive),
            insensitive=tuple(options.insensitive),
        )
    if options.roles is None:
        return listed
    base = options.roles if isinstance(options.roles, Roles) else read_roles(Path(options.roles)).roles
    return base.overridden_by(listed)


def declared_orders(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The orders of ``--order``, by column.

    >>> declared_orders(["size=small<medium<large"])
    {'size': ('small', 'medium', 'large')}
    """
    orders: dict[str, tuple[str, ...]] = {}
    for text in texts:
        column, sign, listed = text.partition("=")
        column, values = column.strip(), tuple(value.strip() for value in listed.split("<"))
        if not sign or len(values) < 2 or not all(values):
            raise OptionError("an order is written COLUMN=first<second<third; write --order in that form")
        if column in orders:
            raise OptionError(f"--order names {column!r} twice; give it one order")
        if len(set(values)) < len(values):
            raise OptionError(f"--order names a value of {column!r} twice; name each once")
        orders[column] = values
    return orders


def with_orders(table: ClassTable, orders: Mapping[str, tuple[str, ...]]) -> ClassTable:
    """The table with the declared orders in the domains of its columns; every value has its place in one."""
    mine = {column: values for column, values in orders.items() if column in table.columns}
    if not mine:
        return table
    domains = [
        _ordered(column, domain, mine[column]) if column in mine else domain
        for column, domain in zip(table.columns, table.domains, strict=True)
    ]
    return replace(table, domains=tuple(domains))


def check_quasi_identifying(orders: Mapping[str, tuple[str, ...]], table: ClassTable) -> None:
    """Raise for an order of a column that forms no classes: it would change nothing."""
    for column in orders:
        if column not in table.columns:
            raise OptionError(
                f"--order names {column!r}, which is not quasi-identifying; those are {', '.join(table.columns)}"
            )


def _ordered(column: str, domain: Domain, values: Sequence[str]) -> Domain:
    if domain.kind is not Kind.TEXT:
        raise OptionError(f"{column!r} holds {domain.kind.value} values, which have their own order; leave it out")
    places = {value: place for place, value in enumerate(values)}
    texts: list[str] = domain.values.tolist()
    absent = sum(text not in places for text in texts)
    if absent:
        raise OptionError(f"the order of {column!r} leaves out {absent} of its {len(texts)} values; name all of them")
    order = sorted(range(len(texts)), key=lambda code: places[texts[code]])
    ranks = [0] * len(order)
    for rank, code in enumerate(order):
        ranks[code] = rank
    return replace(domain, order=tuple(ranks))
