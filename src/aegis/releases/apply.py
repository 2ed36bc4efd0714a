"""Masks on rows: one table expression that the engine runs.

No row comes to the client. Masks that an engine can compute become column expressions; those it cannot (pseudonyms,
tokens, hierarchies) are computed on the distinct values and joined as a small mapping table; a shuffle joins the
column to itself by row numbers in random order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.chain import Chain
from aegis.masking.mask import ExpressionMask, MappedMask, Mask, PermutingMask, RandomMask
from aegis.masking.suppress import STAR
from aegis.masking.transition import transition

_PREFIX = "_aegis"
_ARROW = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


class Counted(Protocol):
    """A column's domain and how often each of its values occurs: a Histogram."""

    @property
    def domain(self) -> Domain: ...
    @property
    def counts(self) -> NDArray[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ValueMapping:
    """What each value of a column became under a mask that is joined; the way back for whoever may keep it."""

    column: str
    values: Values
    masked: Values
    kind: Kind
    masked_kind: Kind

    def __repr__(self) -> str:
        return f"ValueMapping({self.column}, {len(self.values)} values)"

    def to_arrow(self) -> pa.Table:
        """As a table with the columns ``value`` and ``masked``."""
        return pa.table(
            {
                "value": pa.array(self.values.tolist(), type=_ARROW[self.kind]),
                "masked": pa.array(self.masked.tolist(), type=_ARROW[self.masked_kind]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedTable:
    """The table expression, and the mappings it joins."""

    table: ir.Table
    mappings: tuple[ValueMapping, ...]


def masked_table(table: ir.Table, masks: Mapping[str, Mask], *, histograms: Mapping[str, Counted]) -> MaskedTable:
    """``table`` with every column of ``masks`` masked; other columns stay as they are, and so does their order.

    ``histograms`` holds the domain and the counts of each masked column of this very table: masks that read edges,
    ranges or categories off the data read them there. A value that is not in its domain becomes ``*`` under a mask
    that is joined. The rows come in any order.
    """
    columns = table.columns
    masked = table
    mappings: list[ValueMapping] = []
    numbers = iter(range(1_000_000))
    for column, mask in masks.items():
        if column not in columns:
            raise MaskError(f"a mask names column {column!r}, which the table does not have")
        if column not in histograms:
            raise MaskError(f"column {column!r} is masked, but its values were not counted; count it first")
        domain, counts = histograms[column].domain, np.asarray(histograms[column].counts)
        mask.check(domain.kind, column=column)
        for link in mask.links if isinstance(mask, Chain) else (mask,):
            resolved = link.resolve(domain, counts)
            masked, mapping = _apply(masked, column, resolved, domain, numbers)
            mappings += [mapping] if mapping else []
            step = transition(resolved, domain, counts)
            domain, counts = _target(step.target, mapping), step.push(counts)
    return MaskedTable(table=masked.select(*columns), mappings=tuple(mappings))


def _apply(
    table: ir.Table, column: str, mask: Mask, domain: Domain, numbers: Iterator[int]
) -> tuple[ir.Table, ValueMapping | None]:
    """One mask on one column."""
    if isinstance(mask, ExpressionMask):
        expression = mask.expression(table[column], domain.kind)
        if not mask.covers_missing:
            expression = table[column].isnull().ifelse(None, expression)
        return table.mutate(**{column: expression}), None
    if isinstance(mask, RandomMask):
        # Each draw is a column of its own: an expression would be drawn anew wherever it is repeated.
        draws = [f"{_PREFIX}_draw_{next(numbers)}" for _ in range(mask.draws)]
        drawn = table.mutate(**{name: ibis.random() for name in draws})
        unused = iter(draws)
        expression = mask.expression(drawn[column], domain.kind, lambda: drawn[next(unused)])
        expression = drawn[column].isnull().ifelse(None, expression)
        return drawn.mutate(**{column: expression}).drop(*draws), None
    if isinstance(mask, PermutingMask):
        return _shuffled(table, column, next(numbers)), None
    assert isinstance(mask, MappedMask)
    return _joined(table, column, mask, domain, next(numbers))


def _joined(
    table: ir.Table, column: str, mask: MappedMask, domain: Domain, number: int
) -> tuple[ir.Table, ValueMapping]:
    """The column replaced through a mapping table."""
    if domain.discretised:
        raise MaskError(
            f"mask {mask.name!r} needs every distinct value of column {column!r}, which has more than are counted one "
            "by one; raise the limit on distinct values, or use another mask"
        )
    kind = mask.kind_after(domain.kind)
    mapping = ValueMapping(
        column=column, values=domain.values, masked=mask.on_values(domain.values), kind=domain.kind, masked_kind=kind
    )
    value, became = f"{_PREFIX}_value_{number}", f"{_PREFIX}_masked_{number}"
    pairs = ibis.memtable(mapping.to_arrow().rename_columns([value, became]))
    left = table.left_join(pairs, table[column] == pairs[value])
    replaced = left[became]
    if kind is Kind.TEXT:
        # A value that nobody counted is hidden, never let through.
        replaced = (left[column].notnull() & left[value].isnull()).ifelse(STAR, replaced)
    return left.mutate(**{column: replaced}).drop(value, became), mapping


def _shuffled(table: ir.Table, column: str, number: int) -> ir.Table:
    """The column joined back in random order."""
    place, draw, moved = (f"{_PREFIX}_{what}_{number}" for what in ("place", "draw", "moved"))
    rows = table.mutate(**{place: ibis.row_number()})
    cards = table.select(**{moved: table[column], draw: ibis.random()})
    dealt = cards.select(**{moved: cards[moved], f"{place}_right": ibis.row_number().over(order_by=cards[draw])})
    joined = rows.inner_join(dealt, rows[place] == dealt[f"{place}_right"])
    return joined.mutate(**{column: joined[moved]}).drop(place, f"{place}_right", moved)


def _target(target: Domain, mapping: ValueMapping | None) -> Domain:
    """The domain that a later link sees: with the real pseudonyms where the transition has nameless ones."""
    if mapping is None:
        return target
    present = [value for value in mapping.masked.tolist() if value is not None]
    return Domain.of(mapping.masked_kind, np.array(present, dtype=object), missing=target.missing)
