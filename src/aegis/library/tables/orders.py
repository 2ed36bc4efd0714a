"""The order of values that somebody declares: ``size=small<medium<large``, or ``order:`` in the roles file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import OptionError


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
