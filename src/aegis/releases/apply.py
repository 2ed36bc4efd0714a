"""Masks on rows, and stars where a class is suppressed: one table expression that the engine runs.

No row comes to the client. Masks that an engine can compute become column expressions; those it cannot (pseudonyms,
tokens, hierarchies) are computed on the distinct values and joined as a small mapping table; a shuffle joins the
column to itself by row numbers in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ARROW_TYPES
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import lookup_table
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind, Values
from aegis.data.schema import Schema
from aegis.errors import HierarchyError, MaskError
from aegis.masking.generator import ColumnCounts
from aegis.masking.mask import ExpressionMask, MappedMask, Mask, PermutingMask, RandomMask, ValueMask, as_objects
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.suppress import STAR
from aegis.masking.transition import transition

_PREFIX = "_aegis"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ValueMapping:
    """What each value of a column became; the way back for whoever may keep it."""

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
                "value": pa.array(self.values.tolist(), type=ARROW_TYPES[self.kind]),
                "masked": pa.array(self.masked.tolist(), type=ARROW_TYPES[self.masked_kind]),
            }
        )

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Column, value and masked value as texts; a value that became missing has an empty one."""
        for value, masked in zip(self.values.tolist(), self.masked.tolist(), strict=True):
            yield self.column, show(value), "" if masked is None else show(masked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskedTable:
    """The table expression, and what became of the values of columns whose domain was given."""

    table: ir.Table
    mappings: tuple[ValueMapping, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """How far the masking of one column has come.

    ``distinct`` are the values it may hold now; ``trail`` what each original value has become, until a mask draws.
    Both are None where the domain was not given.
    """

    name: str
    kind: Kind
    distinct: Domain | None
    trail: Values | None


def masked_table(
    table: ir.Table,
    masks: Mapping[str, Mask],
    *,
    histograms: Mapping[str, ColumnCounts],
    schema: Schema | None = None,
    strict: bool = True,
    join: Collection[str] = (),
) -> MaskedTable:
    """``table`` with every column of ``masks`` masked; other columns stay as they are, and so does their order.

    ``histograms`` holds the domain and the counts of masked columns of this very table: masks that are not fitted read
    edges, ranges or categories there, and masks that are joined read the distinct values. Columns whose masks need
    neither may be left out if ``schema`` tells their kind. A value that is not in its domain becomes ``*`` under a mask
    that is joined; one that its hierarchy does not hold is an error, or ``*`` too if not ``strict``. The rows come in
    any order.

    Columns of ``join`` are replaced through their mapping even if an engine could compute their masks: looking a value
    up costs it less than building a text for every row.
    """
    masked = table
    mappings: list[ValueMapping] = []
    numbers = count()
    for name, mask in masks.items():
        kind = _kind(table, name, histograms, schema)
        mask.check(kind, column=name)
        domain = histograms[name].domain if name in histograms else None
        column = _Column(name=name, kind=kind, distinct=domain, trail=None if domain is None else domain.values)
        steps = fitted({name: mask}, histograms)[name].steps
        if name in join and domain is not None and can_be_joined(mask):
            masked, column = _joined(masked, column, steps, next(numbers), strict)
        else:
            for step in steps:
                masked, column = _apply(masked, column, step, numbers, strict)
        if column.trail is not None and domain is not None and not domain.discretised:
            mappings.append(
                ValueMapping(column=name, values=domain.values, masked=column.trail, kind=kind, masked_kind=column.kind)
            )
    return MaskedTable(table=masked.select(*table.columns), mappings=tuple(mappings))


def fitted(masks: Mapping[str, Mask], histograms: Mapping[str, ColumnCounts]) -> dict[str, Mask]:
    """The masks, those of counted columns with everything they read off the counts written into them.

    A fitted mask does the same to rows that come later. Its edges, limits and categories are those of the table it was
    fitted on; docs/how-to/release.md says what happens to values that table did not hold.
    """
    ready = dict(masks)
    for column, mask in masks.items():
        counted = histograms.get(column)
        if counted is not None and not mask.is_fitted(counted.domain.kind):
            ready[column] = mask.resolve(counted.domain, np.asarray(counted.counts))
    return ready


def _kind(table: ir.Table, name: str, histograms: Mapping[str, ColumnCounts], schema: Schema | None) -> Kind:
    if name not in table.columns:
        raise MaskError(f"a mask names column {name!r}, which the table does not have")
    if name in histograms:
        return histograms[name].domain.kind
    if schema is None:
        raise MaskError(f"column {name!r} is masked, but its values were not counted; count it first")
    return schema.kind(name)


def _apply(
    table: ir.Table, column: _Column, mask: Mask, numbers: Iterator[int], strict: bool
) -> tuple[ir.Table, _Column]:
    """One mask on one column."""
    name = column.name
    if isinstance(mask, MappedMask):
        return _joined(table, column, (mask,), next(numbers), strict)
    after = _after(column, mask)
    if isinstance(mask, ExpressionMask):
        expression = mask.expression(table[name], column.kind)
        if not mask.covers_missing:
            expression = table[name].isnull().ifelse(None, expression)
        return table.mutate(**{name: expression}), after
    if isinstance(mask, RandomMask):
        # Each draw is a column of its own: an expression would be drawn anew wherever it is repeated.
        draws = [f"{_PREFIX}_draw_{next(numbers)}" for _ in range(mask.draws)]
        drawn = table.mutate(**{draw: ibis.random() for draw in draws})
        unused = iter(draws)
        expression = mask.expression(drawn[name], column.kind, lambda: drawn[next(unused)])
        expression = drawn[name].isnull().ifelse(None, expression)
        return drawn.mutate(**{name: expression}).drop(*draws), after
    assert isinstance(mask, PermutingMask)
    return _shuffled(table, name, next(numbers)), after


def _after(column: _Column, mask: Mask) -> _Column:
    """The column past a mask that the engine computes."""
    kind = mask.kind_after(column.kind)
    if column.distinct is None:
        return replace(column, kind=kind)
    if isinstance(mask, ValueMask):
        return _followed(column, kind, _per_value(mask.on_values, column.distinct.values))
    target = transition(mask, column.distinct, np.ones(column.distinct.size)).target
    return replace(column, kind=kind, distinct=target, trail=None)


def _followed(column: _Column, kind: Kind, became: dict[Any, Any]) -> _Column:
    """The column after each of its distinct values became another, or None."""
    assert column.distinct is not None
    present = [value for value in became.values() if value is not None]
    trail = None
    if column.trail is not None:
        trail = as_objects([None if value is None else became[value] for value in column.trail.tolist()])
    distinct = Domain.of(kind, as_objects(present) if kind is Kind.TEXT else present)
    distinct = replace(distinct, discretised=column.distinct.discretised)
    return replace(column, kind=kind, distinct=distinct, trail=trail)


def _per_value(function: Any, values: Values) -> dict[Any, Any]:
    return dict(zip(values.tolist(), function(values).tolist(), strict=True))


def _joined(
    table: ir.Table, column: _Column, masks: Sequence[Mask], number: int, strict: bool
) -> tuple[ir.Table, _Column]:
    """The column replaced through a mapping table that does what several masks do one after the other."""
    name, domain = column.name, column.distinct
    if domain is None or domain.discretised:
        raise MaskError(
            f"mask {masks[0].name!r} needs every distinct value of column {name!r}, which has more than are counted "
            "one by one; use another mask"
        )
    now = replace(column, trail=domain.values)
    for mask in masks:
        assert now.distinct is not None
        try:
            became = _per_value(_on_values(mask, strict), now.distinct.values)
        except HierarchyError as error:
            raise HierarchyError(f"column {name!r}: {error}") from None
        now = _followed(now, mask.kind_after(now.kind), became)
    assert now.trail is not None
    kind = now.kind
    step = ValueMapping(column=name, values=domain.values, masked=now.trail, kind=column.kind, masked_kind=kind)
    value, masked = f"{_PREFIX}_value_{number}", f"{_PREFIX}_masked_{number}"
    pairs = lookup_table(table.get_backend(), step.to_arrow().rename_columns([value, masked]))
    left = table.left_join(pairs, table[name] == pairs[value])
    replaced = left[masked]
    if kind is Kind.TEXT:
        # A value that nobody counted is hidden, never let through.
        replaced = (left[name].notnull() & left[value].isnull()).ifelse(STAR, replaced)
    whole = dict(zip(domain.values.tolist(), now.trail.tolist(), strict=True))
    return left.mutate(**{name: replaced}).drop(value, masked), _followed(column, kind, whole)


def can_be_joined(mask: Mask) -> bool:
    """Whether a mapping of the values can stand for a mask: it draws nothing and leaves missing alone."""
    return all(isinstance(step, ValueMask) and not step.covers_missing for step in mask.steps)


def _on_values(mask: Mask, strict: bool) -> Callable[[Values], Values]:
    """What a mask makes of values: ``*`` of those that a hierarchy does not hold, unless that is an error."""
    assert isinstance(mask, ValueMask)
    if strict or not isinstance(mask, Generalize) or mask.hierarchy is None:
        return mask.on_values
    labels = mask.hierarchy.at(mask.level)
    return lambda values: as_objects([labels.get(show(value), STAR) for value in values.tolist()])


def _shuffled(table: ir.Table, column: str, number: int) -> ir.Table:
    """The column joined back in random order."""
    place, draw, moved = (f"{_PREFIX}_{what}_{number}" for what in ("place", "draw", "moved"))
    rows = table.mutate(**{place: ibis.row_number()})
    cards = table.select(**{moved: table[column], draw: ibis.random()})
    dealt = cards.select(**{moved: cards[moved], f"{place}_right": ibis.row_number().over(order_by=cards[draw])})
    joined = rows.inner_join(dealt, rows[place] == dealt[f"{place}_right"])
    return joined.mutate(**{column: joined[moved]}).drop(place, f"{place}_right", moved)


def with_suppression(
    table: ir.Table, classes: ClassTable, suppressed: NDArray[np.bool_], *, drop: bool, starred: Collection[str]
) -> ir.Table:
    """``table`` with the records of the ``suppressed`` classes starred in the columns ``starred``, or dropped.

    A star is a text, so those columns become texts as soon as one record is starred.
    """
    codes = classes.codes[suppressed]
    if not len(codes):
        return table
    columns = {}
    for position, domain in enumerate(classes.domains):
        values = [*domain.values.tolist(), None]
        kind = table.schema()[classes.columns[position]].to_pyarrow()
        columns[f"_aegis_q{position}"] = pa.array([values[code] for code in codes[:, position].tolist()], kind)
    columns["_aegis_starred"] = pa.array([True] * len(codes))
    failing = lookup_table(table.get_backend(), pa.table(columns))
    matches = [
        table[name].identical_to(failing[f"_aegis_q{position}"]) for position, name in enumerate(classes.columns)
    ]
    joined = table.left_join(failing, matches)
    hidden = joined["_aegis_starred"].notnull()
    if drop:
        return joined.filter(~hidden).select(*table.columns)
    masked = {name: hidden.ifelse(STAR, joined[name].cast("string")) for name in starred}
    return joined.mutate(**masked).select(*table.columns)
