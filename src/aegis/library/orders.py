"""The order of values that somebody declares: ``size=small<medium<large``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import OptionError


def with_orders(table: ClassTable, declared: Sequence[str]) -> ClassTable:
    """The table with the declared order in its domains; every value of a column has its place in it."""
    domains = dict(zip(table.columns, table.domains, strict=True))
    seen: set[str] = set()
    for text in declared:
        column, sign, listed = text.partition("=")
        column, values = column.strip(), [value.strip() for value in listed.split("<")]
        if not sign or len(values) < 2 or not all(values):
            raise OptionError("an order is written COLUMN=first<second<third; write --order in that form")
        if column not in domains:
            raise OptionError(
                f"--order names {column!r}, which is not quasi-identifying; those are {', '.join(table.columns)}"
            )
        if column in seen:
            raise OptionError(f"--order names {column!r} twice; give it one order")
        seen.add(column)
        domains[column] = _ordered(column, domains[column], values)
    return replace(table, domains=tuple(domains[column] for column in table.columns)) if declared else table


def _ordered(column: str, domain: Domain, values: Sequence[str]) -> Domain:
    if domain.kind is not Kind.TEXT:
        raise OptionError(f"{column!r} holds {domain.kind.value} values, which have their own order; leave --order out")
    places = {value: place for place, value in enumerate(values)}
    if len(places) < len(values):
        raise OptionError(f"--order names a value of {column!r} twice; name each once")
    texts: list[str] = domain.values.tolist()
    absent = sum(text not in places for text in texts)
    if absent:
        raise OptionError(f"--order leaves out {absent} of the {len(texts)} values of {column!r}; name all of them")
    order = sorted(range(len(texts)), key=lambda code: places[texts[code]])
    ranks = [0] * len(order)
    for rank, code in enumerate(order):
        ranks[code] = rank
    return replace(domain, order=tuple(ranks))
