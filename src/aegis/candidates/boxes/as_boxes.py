"""A grown tree as a recoding: cuts in the words of the columns, leaves with their records."""

from __future__ import annotations

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.boxes.cutting import ends_of_cuts
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf, Side
from aegis.candidates.boxes.tuples import BoxTuples, rare_values
from aegis.candidates.boxes.walking import shown_values
from aegis.data.domain import Domain
from aegis.masking.grid import edge_between, moment_between
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy


def reached(nodes: Ints) -> list[int]:
    """The nodes that can be reached from the root, parents first."""
    places = [0]
    for place in places:
        if nodes[place, 0] >= 0:
            places += [int(nodes[place, 4]), int(nodes[place, 5])]
    return sorted(places)


def leaves_of(nodes: Ints, order: Ints) -> tuple[list[int], Ints]:
    """The leaves of a tree, and for each tuple the place of its own among them."""
    leaves = [place for place in reached(nodes) if nodes[place, 0] < 0]
    leaf_of_tuple = np.empty(len(order), dtype=np.int64)
    for at, place in enumerate(leaves):
        leaf_of_tuple[order[nodes[place, 1] : nodes[place, 3]]] = at
    return leaves, leaf_of_tuple


def as_boxes(
    ready: BoxTuples,
    nodes: Ints,
    order: Ints,
    policy: Policy,
    labels: tuple[str, ...],
    *,
    suppressed: set[int],
    joined: Ints | None = None,
) -> Boxes:
    """The recoding of a tree that `grown` made, some of whose leaves, by their place among them, are suppressed.

    ``joined`` is the box of each leaf.
    """
    table = ready.table
    k = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)
    shown = [shown_values(domain) for domain in table.domains]
    places = reached(nodes)
    number = {place: at for at, place in enumerate(places)}
    made: list[Cut | Leaf] = []
    running = np.concatenate([[0], np.cumsum(ready.sizes[order])]).tolist()
    ends = ends_of_cuts(ready.columns, order, nodes, ready.missing).tolist()
    leaves = [place for place in places if nodes[place, 0] < 0]
    records = np.array([running[nodes[place, 3]] - running[nodes[place, 1]] for place in leaves], dtype=np.int64)
    alone = np.ones(len(leaves), dtype=bool)
    if joined is not None:
        records = _evenly(records, joined)
        alone = np.bincount(joined)[joined] == 1
    leaf = 0
    for place in places:
        column, start, middle, end, left, right = nodes[place].tolist()
        if column < 0:
            box = None if joined is None or alone[leaf] else int(joined[leaf])
            made.append(Leaf(records=int(records[leaf]), suppressed=leaf in suppressed, joined=box))
            leaf += 1
            continue
        children = [number[left], number[right]]
        if ready.ordered[column]:
            made.append(_ordered_cut(column, table.domains[column], ends[place], children))
            continue
        # the smaller part is named value by value, the other is the rest
        light = int(running[end] - running[middle] < running[middle] - running[start])
        codes = np.unique(ready.columns[column][order[middle:end] if light else order[start:middle]])
        made.append(
            Cut(
                column=column,
                then=children[light],
                other=children[1 - light],
                values=tuple(shown[column][code] for code in codes.tolist()),
            )
        )
    return Boxes(
        columns=tuple(
            BoxColumn(name=name, kind=domain.kind)
            if domain.kind.is_ordered
            else BoxColumn(name=name, kind=domain.kind, values=tuple(values), rare=rare_values(table, name, k))
            for name, domain, values in zip(table.columns, table.domains, shown, strict=True)
        ),
        nodes=tuple(made),
        labels=labels,
        policy=policy.to_mapping(),
        records=table.records,
    )


def _evenly(records: Ints, joined: Ints) -> Ints:
    """The records of each box in equal shares for its leaves: what each has, fewer than k, is written nowhere.

    >>> _evenly(np.array([3, 8, 5]), np.array([0, 1, 0])).tolist()
    [4, 8, 4]
    """
    whole = np.bincount(joined, weights=records).astype(np.int64)
    leaves = np.bincount(joined)
    order = np.argsort(joined, kind="stable")
    before = np.empty(len(joined), dtype=np.int64)  # how many leaves of the same box come first
    before[order] = np.arange(len(joined)) - (np.cumsum(leaves) - leaves)[joined[order]]
    return np.asarray(whole[joined] // leaves[joined] + (before < whole[joined] % leaves[joined]))


def _ordered_cut(column: int, domain: Domain, ends: list[int], children: list[int]) -> Cut:
    """A cut along the order of a column; ``ends`` is what `ends_of_cuts` says of it."""
    lowest, highest, holds_missing = ends[::3], ends[1::3], ends[2::3]
    if lowest[0] < 0 or lowest[1] < 0:
        apart = int(lowest[1] < 0)
        return Cut(column=column, then=children[apart], other=children[1 - apart], missing="then")
    low = int(highest[0] > highest[1])  # the part with the smaller values
    below: float | str
    first, second = domain.values[highest[low]], domain.values[lowest[1 - low]]
    if domain.kind.is_number:
        below = edge_between(float(first), float(second), domain.kind)
    else:
        below = str(np.datetime64(moment_between(first, second, domain.kind)))
    side: Side | None = "then" if holds_missing[low] else "else" if holds_missing[1 - low] else None
    return Cut(column=column, then=children[low], other=children[1 - low], below=below, missing=side)
