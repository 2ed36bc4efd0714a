"""The fifth step: what each column becomes, with made-up examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.counts.answer import ask
from aegis.counts.collect import count_histograms
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Role, Roles
from aegis.errors import InputError
from aegis.library.guided.comparison import Comparison
from aegis.library.tables.masked_data import masked_data
from aegis.masking.configuration import Configuration
from aegis.masking.mask import MappedMask, Mask
from aegis.masking.masks.suppress import STAR
from aegis.masking.transition import Partition, transition
from aegis.releases.apply import fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A column, its role, and what a release makes of it; ``example`` is a made-up value and what becomes of that."""

    column: str
    role: str
    becomes: str
    example: tuple[str, str] | None = None


def changes(dataset: Dataset, roles: Roles, configuration: Configuration) -> tuple[ColumnChange, ...]:
    """What a release by ``configuration`` makes of every column of a table."""
    masked = [column for column in dataset.schema if column.name in configuration.masks]
    made_up = _made_up(dataset, {column.name: column.kind for column in masked})
    masks = configuration.masks
    open_ones = [column.name for column in masked if column.name in made_up and _reads(masks[column.name], column.kind)]
    ready = fitted(masks, count_histograms(dataset, open_ones))  # as the release reads them off the table
    constant = _constant(dataset, masks)
    answer = []
    for column in dataset.schema:
        role = roles.get(column.name)
        mask = configuration.masks.get(column.name)
        becomes = _unmasked(role) if mask is None else mask.describe()
        if column.name in constant:
            becomes += ": the same in every row, so it shows nothing any more"
        example = None
        if mask is not None and column.name in made_up:
            example = _example(ready[column.name], column.kind, made_up[column.name])
        answer.append(
            ColumnChange(column=column.name, role="" if role is None else role.value, becomes=becomes, example=example)
        )
    return tuple(answer)


def _constant(dataset: Dataset, masks: Mapping[str, Mask]) -> frozenset[str]:
    """The columns that show one value in every row once they are masked, though their mask does not say so."""
    kept = {
        name: mask
        for name, mask in masks.items()
        if name in dataset.schema and not _draws(mask) and not mask.steps[-1].shows_nothing
    }
    if not kept:
        return frozenset()
    table = masked_data(dataset, kept).dataset.table
    measures = {f"d{place}": table[name].nunique() for place, name in enumerate(kept)}
    measures |= {f"n{place}": table[name].isnull().any() for place, name in enumerate(kept)}
    answer = ask(table.aggregate(**measures))
    return frozenset(
        name
        for place, name in enumerate(kept)
        if answer[f"d{place}"][0].as_py() == 1 and not answer[f"n{place}"][0].as_py()
    )


def becomes(dataset: Dataset, roles: Roles, comparison: Comparison, name: str) -> tuple[ColumnChange, ...]:
    """What a candidate makes of each column, masks or not."""
    if name in comparison.finished:
        return finished_changes(dataset, roles, comparison.named(name).kind)
    return changes(dataset, roles, comparison.configuration(name))


def _unmasked(role: Role | None) -> str:
    if role is Role.IDENTIFYING:
        return "hidden: * in every row"
    return "as it is, in groups that are large enough" if role is Role.QUASI_IDENTIFYING else "as it is"


_BECOMES = {
    ("boxes", True): "an interval, as narrow as its group allows; * where that says nothing",
    ("boxes", False): "a set of values, as small as its group allows; * where that says nothing",
    ("clusters", True): "the mean of its group",
    ("clusters", False): "the commonest value of its group",
}
"""What a quasi-identifier becomes, by the kind of a finished table and whether it holds numbers or dates."""


def finished_changes(dataset: Dataset, roles: Roles, kind: str) -> tuple[ColumnChange, ...]:
    """What a release as boxes or clusters makes of every column of a table."""
    replaced = {column.name: column.kind for column in dataset.schema if column.name in roles.quasi_identifying}
    made_up = _made_up(dataset, {name: value_kind for name, value_kind in replaced.items() if value_kind.is_number})
    answer = []
    for column in dataset.schema:
        role = roles.get(column.name)
        becomes, example = _unmasked(role), None
        if column.name in replaced:
            becomes = _BECOMES[kind, column.kind.is_ordered]
            if column.name in made_up:
                example = _finished_example(kind, made_up[column.name])
        answer.append(
            ColumnChange(column=column.name, role="" if role is None else role.value, becomes=becomes, example=example)
        )
    return tuple(answer)


def _finished_example(kind: str, value: float) -> tuple[str, str]:
    """A made-up number and what could stand for it: the group is made up too.

    >>> _finished_example("boxes", 40), _finished_example("clusters", 40)
    (('40', '[36, 44)'), ('40', '42'))
    """
    step = abs(value) / 10 or 1.0
    near = f"[{value - step:.10g}, {value + step:.10g})" if kind == "boxes" else f"{value + step / 2:.10g}"
    return f"{value:.10g}", near


def _made_up(dataset: Dataset, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """A value for each column that is like its own and nobody's: a round number in the middle, a made-up code."""
    table, measures = dataset.table, {}
    for number, (name, kind) in enumerate(kinds.items()):
        column = table[name]
        if kind.is_number:
            measures[f"c{number}"] = column.quantile(0.5)
        elif kind in (Kind.DATE, Kind.TIMESTAMP):
            measures[f"c{number}"] = column.max().year()
        elif kind is Kind.TEXT:
            measures[f"c{number}"] = column.length().max()
            measures[f"d{number}"] = column.re_search("^[0-9]+$").mean()
    if not measures:
        return {}
    answer = ask(table.aggregate(**measures))
    values: dict[str, Any] = {}
    for number, (name, kind) in enumerate(kinds.items()):
        if f"c{number}" not in answer.column_names:
            continue
        middle = answer[f"c{number}"][0].as_py()
        if middle is None:
            continue
        if kind.is_number:
            values[name] = _round(float(middle), whole=kind is Kind.INTEGER)
        elif kind in (Kind.DATE, Kind.TIMESTAMP):
            values[name] = np.datetime64(f"{int(middle)}-05-17")
        elif (answer[f"d{number}"][0].as_py() or 0.0) > 0.9:
            values[name] = ("1234567890" * 3)[: int(middle)]
    return values


def _round(value: float, *, whole: bool) -> float | int:
    """A round number near ``value``.

    >>> _round(4137.2, whole=True), _round(0.0371, whole=False), _round(37.0, whole=True)
    (4100, 0.037, 37)
    """
    if value == 0:
        return 0
    digits = 1 - math.floor(math.log10(abs(value)))
    return round(round(value, digits)) if whole else round(value, digits)


def _draws(mask: Mask) -> bool:
    return mask.is_random or any(isinstance(step, MappedMask) for step in mask.steps)


def _reads(mask: Mask, kind: Kind) -> bool:
    """Whether a mask reads off the table what it does to each value, as buckets of equal width do."""
    return not _draws(mask) and not mask.is_fitted(kind)


def _example(mask: Mask, kind: Kind, value: Any) -> tuple[str, str] | None:
    """What a fitted mask makes of a value; None where it draws."""
    if _draws(mask) or not mask.is_fitted(kind):
        return None
    domain = Domain.of(kind, np.array([value], dtype=kind.dtype))
    try:
        change = transition(mask, domain, np.ones(1))
    except InputError:
        return None  # a list of categories, or a hierarchy, that knows no made-up value
    if not isinstance(change, Partition):
        return None
    after = change.target.labels()[int(change.codes[0])]
    return None if after == STAR else (domain.labels()[0], after)
