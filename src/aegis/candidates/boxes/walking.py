"""Down the tree of a local recoding: which box each record falls into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.regions import as_number
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf
from aegis.candidates.boxes.tuples import label_numbers
from aegis.compiled import compiled
from aegis.data.domain import Domain, show
from aegis.errors import DataError

NO_BOX = -1
"""Where a record falls that has a value no cut knows."""

THEN, OTHER, NOWHERE = 1, 0, -1


@compiled
def walked(
    codes: Ints,
    columns: Ints,
    thens: Ints,
    others: Ints,
    boxes: Ints,
    below: Ints,
    missing: Ints,
    missing_sides: Ints,
    first: Ints,
    listed: Ints,
    known: Ints,
    known_starts: Ints,
) -> Ints:
    """The box of each line of codes; `NO_BOX` for none.

    A node whose column is −1 is a box, ``boxes`` says which. In a cut of an ordered column the codes smaller than
    ``below`` go to ``thens``, the code ``missing`` of its column where ``missing_sides`` says. In one of categories
    ``below`` is −1, and the codes that go to ``thens`` are ``listed`` in order from ``first`` of the node up to
    that of the next one; a code that is not ``known`` to its column goes nowhere.
    """
    fallen = np.full(len(codes), NO_BOX, dtype=np.int64)
    for row in range(len(codes)):
        node = 0
        while columns[node] >= 0:
            column = columns[node]
            code = codes[row, column]
            if below[node] >= 0:
                side = missing_sides[node] if code == missing[column] else int(code < below[node])
            elif not known[known_starts[column] + code]:
                side = NOWHERE
            else:
                low, high = first[node], first[node + 1]
                while low < high:
                    middle = (low + high) // 2
                    if listed[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                side = THEN if low < first[node + 1] and listed[low] == code else OTHER
            if side == NOWHERE:
                node = -1
                break
            node = thens[node] if side == THEN else others[node]
        if node >= 0:
            fallen[row] = boxes[node]
    return fallen


def boxes_of(columns: Sequence[BoxColumn], nodes: Sequence[Cut | Leaf], domains: Sequence[Domain], codes: Ints) -> Ints:
    """The box of each tuple, a line of ``codes`` of ``domains`` in the order of the columns; `NO_BOX` for none."""
    for column, domain in zip(columns, domains, strict=True):
        if column.ordered != domain.kind.is_ordered and len(domain.values):
            raise DataError(
                f"column {column.name!r} holds {domain.kind} here and {column.kind} where the boxes were made; "
                "give the same kind of values"
            )
    lines = [_codes_in_line(column, domain) for column, domain in zip(columns, domains, strict=True)]
    arrays = np.full((7, len(nodes) + 1), -1, dtype=np.int64)
    cut_columns, thens, others, boxes, below, missing_sides, first = arrays
    listed: list[int] = []
    numbered = 0
    for place, node in enumerate(nodes):
        first[place] = len(listed)
        if isinstance(node, Leaf):
            boxes[place] = numbered
            numbered += 1
            continue
        cut_columns[place], thens[place], others[place] = node.column, node.then, node.other
        line = lines[node.column]
        if line.numbers is None:
            listed += sorted(code for value in node.values for code in line.places.get(value, ()))
            continue
        missing_sides[place] = NOWHERE if node.missing is None else THEN if node.missing == "then" else OTHER
        if node.below is not None:
            below[place] = np.searchsorted(line.numbers, as_number(node.below))
        else:
            below[place] = len(line.numbers) if node.missing == "else" else 0
    first[-1] = len(listed)
    sizes = [len(line.known) for line in lines]
    return walked(
        np.ascontiguousarray(codes, dtype=np.int64), cut_columns, thens, others, boxes, below,
        np.array([len(domain.values) if domain.missing else -1 for domain in domains], dtype=np.int64),
        missing_sides, first, np.array(listed, dtype=np.int64), np.concatenate([line.known for line in lines]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Line:
    """A domain as cuts meet it: its numbers in order, or the codes of each category; ``known`` marks those."""

    numbers: Floats | None
    places: Mapping[str | None, Sequence[int]]
    known: Ints


def _codes_in_line(column: BoxColumn, domain: Domain) -> _Line:
    if column.ordered:
        return _Line(numbers=label_numbers(domain), places={}, known=np.ones(domain.size, dtype=np.int64))
    declared = set(column.values)
    places: dict[str | None, list[int]] = {}
    shown = shown_values(domain)
    for code, value in enumerate(shown):
        places.setdefault(value, []).append(code)
    known = np.array([value in declared for value in shown], dtype=np.int64)
    return _Line(numbers=None, places=places, known=known)


def shown_values(domain: Domain) -> list[str | None]:
    """The values of a domain as the boxes name them, None for missing."""
    values: list[str | None] = [show(value) for value in domain.values.tolist()]
    return [*values, None] if domain.missing else values
