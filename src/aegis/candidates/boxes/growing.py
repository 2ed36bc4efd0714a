"""Grow boxes: cut the records where the label gains most, as long as the policy lets both parts stand.

How many records a box needs is tested in the compiled loop. Whatever else a policy asks for is judged by its models on
small class tables: all parts that the cuts of a column would make, beside the distribution of the whole table. At the
end the whole partition is held against the whole policy; where it fails (a model about all classes together, a limit on
suppression) the boxes that fail are joined with their neighbours again until it holds. The tree becomes a recoding:
cuts in the words of the columns, leaves with their records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.boxes.cutting import ends_of_cuts, grown
from aegis.candidates.boxes.expected_labels import LEAST_RECORDS, labelled_records, with_expected_labels
from aegis.candidates.boxes.gains import BY_LABEL, chance_gain, uncertainty
from aegis.candidates.boxes.growing_by_models import grown_by_models
from aegis.candidates.boxes.parts import (
    A_BOX,
    COARSE,
    RECORDS_OF_A_PART,
    WORTH,
    WORTH_NATS,
    Parts,
    branches,
    cost_of_parts,
    joined_parts,
    mean_width,
    most_in_branch,
    parts_of,
    published_parts,
)
from aegis.candidates.boxes.recoding import Boxes, shown_values
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tree import BoxColumn, Cut, Leaf, Side
from aegis.candidates.boxes.tuples import BoxTuples, box_tuples, rare_values
from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import Tuples
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import PolicyNotSatisfiedError
from aegis.masking.grid import edge_between, moment_between
from aegis.privacy.judgement import Judgement, hopeless, judge_all
from aegis.privacy.model import ClassModel
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy

DRAWS_FOR_JOINING = 2
"""So often folds are drawn where parts may be joined. The second draw brings most of what many would, and each costs as
much as the first; where nothing is joined models gain less by it than luck moves them."""


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
    ends = ends_of_cuts(ready.columns, order, nodes, ready.base.missing).tolist()
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
        if ready.base.ordered[column]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grown:
    """Boxes with what the policy says of them, and the leaf of each tuple of the class table."""

    boxes: Boxes
    judgement: Judgement
    box_of_tuple: Ints

    def __repr__(self) -> str:
        return f"Grown({self.boxes!r})"


def grow_boxes(
    table: ClassTable,
    policy: Policy,
    *,
    labels: Sequence[str] = (),
    growth: Growth | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    by_branch: bool = False,
) -> Grown:
    """The boxes of a table's tuples; its contents hold the labels and what the policy's models look at.

    Categories with a hierarchy are put in its order, and with ``by_branch`` cut between its branches alone.
    Without labels boxes are cut where they are widest. Raises PolicyNotSatisfiedError, with the model and how far it
    is, where not even all records in one box satisfy the policy.
    """
    chosen = growth or Growth()
    ready = tuples_to_grow(table, policy, chosen, labels=labels, hierarchies=hierarchies, by_branch=by_branch)
    return grow_from_tuples(ready, policy, labels=labels, growth=chosen)


def tuples_to_grow(
    table: ClassTable,
    policy: Policy,
    growth: Growth,
    *,
    labels: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    by_branch: bool = False,
) -> BoxTuples:
    """What boxes are grown from: with expected labels where the growth asks for them and enough records have one.

    Growths that agree in that may share it. Boxes that may be joined are joined by what their records are expected to
    have, so folds are drawn more than once for them.
    """
    ready = box_tuples(table, labels, hierarchies=hierarchies, by_branch=by_branch)
    enough = all(labelled_records(table, label) >= LEAST_RECORDS for label in labels)
    if growth.expected_labels and enough and ready.base.scales.any():
        draws = DRAWS_FOR_JOINING if _k(policy) > RECORDS_OF_A_PART else 1
        return with_expected_labels(ready, tuple(labels), draws=draws)
    return ready


def grow_from_tuples(ready: BoxTuples, policy: Policy, *, labels: Sequence[str], growth: Growth) -> Grown:
    """The boxes of tuples that `tuples_to_grow` made ready for this growth."""
    table, chosen = ready.table, growth
    if not ready.base.scales.any():
        chosen = replace(chosen, label_weight=0.0, look_ahead=0)  # width is the same in whichever order
    elif ready.expects_labels:
        chosen = replace(chosen, doubt_nats=0.0)  # learners have smoothed chance away
    k = _k(policy)
    least = chosen.least_records or k
    order = np.arange(table.classes, dtype=np.int64)
    nodes = _cut(ready, policy, chosen, least, order, 0, table.classes)
    pruned = _pruned(ready, nodes, order, policy)
    if pruned.joined and least < k:
        pruned = _regrown(ready, pruned, policy, replace(chosen, least_records=k))
    released = pruned.judgement.released.codes[:, 0]
    suppressed = set(range(len(pruned.leaves))) - set(released[released >= 0].tolist())
    if chosen.joins and least >= max(k, RECORDS_OF_A_PART + 1) and not suppressed and _may_join(ready):
        joined = _joined(ready, policy, chosen, least, tuple(labels), unless=pruned.box_of_tuple)
        if joined is not None:
            return joined
    boxes = as_boxes(ready, pruned.nodes, pruned.order, policy, tuple(labels), suppressed=suppressed)
    return Grown(boxes=boxes, judgement=pruned.judgement, box_of_tuple=pruned.box_of_tuple)


def _k(policy: Policy) -> int:
    return max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)


def _may_join(ready: BoxTuples) -> bool:
    """Whether parts that tell the same are joined.

    By the records' own labels they would be joined by luck; sizes count records, where people may be asked for; and
    what is joined is no stretch of a hierarchy.
    """
    return ready.expects_labels and ready.table.people is None and bool((ready.base.by == BY_LABEL).all())


def _joined(
    ready: BoxTuples, policy: Policy, growth: Growth, least: int, labels: tuple[str, ...], *, unless: Ints
) -> Grown | None:
    """Boxes of smaller parts, joined; None where the policy refuses them or others (``unless``) tell nearly as much."""
    order = np.arange(ready.table.classes, dtype=np.int64)
    nodes = _cut(ready, policy, growth, RECORDS_OF_A_PART, order, 0, len(order))
    leaves, leaf_of_tuple = leaves_of(nodes, order)
    terms = ready.terms(growth, least)
    totals = ready.labels.sum(axis=0)

    def held(of_tuple: Ints) -> Parts:
        return parts_of(ready.columns, ready.sizes, ready.labels, terms, of_tuple, int(of_tuple.max()) + 1)

    coarse = mean_width(held(unless), terms) > COARSE
    a_box = terms.weight * chance_gain(totals, ready.base.blocks, ready.base.scales, A_BOX) if coarse else 0.0

    def cost(of_tuple: Ints) -> float:
        return cost_of_parts(held(of_tuple), terms) + a_box * (int(of_tuple.max()) + 1)

    alone = as_boxes(ready, nodes, order, policy, labels, suppressed=set())
    parts = published_parts(held(leaf_of_tuple), alone, ready.table.domains)
    leaf_of_node = np.full(len(nodes), -1, dtype=np.int64)
    leaf_of_node[leaves] = np.arange(len(leaves))
    near = most_in_branch(int(parts.sizes.sum()), len(leaves))
    box = joined_parts(parts, terms, branches(nodes, leaf_of_node, parts.sizes, near), least, a_box)
    most = cost(unless) - max(WORTH, chance_gain(totals, ready.base.blocks, ready.base.scales, WORTH_NATS))
    if cost(box[leaf_of_tuple]) >= most:
        return None
    boxes = as_boxes(ready, nodes, order, policy, labels, suppressed=set(), joined=box).without_doubles()
    box_of_tuple = boxes.numbers[leaf_of_tuple]
    judgement = judge_all(boxed(ready.table, box_of_tuple, boxes.many), policy)
    if not judgement.satisfied or judgement.suppressed or cost(box_of_tuple) >= most:
        return None
    return Grown(boxes=boxes, judgement=judgement, box_of_tuple=leaf_of_tuple)


def _cut(ready: BoxTuples, policy: Policy, growth: Growth, least: int, order: Ints, begin: int, stop: int) -> Ints:
    """The nodes of a tree over the tuples ``order[begin:stop]``, which are put in the order of its leaves."""
    others = [m for m in policy.models if isinstance(m, ClassModel) and not isinstance(m, KAnonymity)]
    if others:
        return grown_by_models(ready, others, growth, least, order, begin, stop)
    deepest = -1 if growth.most_cuts is None else growth.most_cuts
    held, terms = ready.held(), ready.terms(growth, least)
    return grown(held, terms, deepest, growth.look_ahead, order, begin, stop)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Pruned:
    """Nodes of a tree whose leaves the policy lets stand; ``joined`` are those that were cut before."""

    nodes: Ints
    order: Ints
    leaves: list[int]
    joined: list[int]
    box_of_tuple: Ints
    judgement: Judgement


def _pruned(ready: BoxTuples, nodes: Ints, order: Ints, policy: Policy) -> _Pruned:
    """The tree after leaves that the policy fails were joined with their neighbours."""
    parents = np.full(len(nodes), -1, dtype=np.int64)
    for place, node in enumerate(nodes):
        if node[0] >= 0:
            parents[node[4]] = parents[node[5]] = place
    joined: set[int] = set()
    while True:
        leaves, box_of_tuple = leaves_of(nodes, order)
        judgement = judge_all(boxed(ready.table, box_of_tuple, len(leaves)), policy)
        if judgement.satisfied:
            break
        if len(leaves) == 1:
            raise PolicyNotSatisfiedError(_why_none(ready.table, policy, judgement))
        failing = np.zeros(len(leaves), dtype=bool)
        for verdict in judgement.came_verdicts:
            failing |= verdict.failing[: len(leaves)]
        if not failing.any():
            failing[:] = True
        failed = [place for place, fails in zip(leaves, failing.tolist(), strict=True) if fails]
        for place in _not_worth_it(ready, nodes, order, parents, failed, judgement):
            if parents[place] >= 0:
                nodes[parents[place], 0] = -1
                joined.add(int(parents[place]))
    return _Pruned(
        nodes=nodes,
        order=order,
        leaves=leaves,
        joined=[place for place in leaves if place in joined],
        box_of_tuple=box_of_tuple,
        judgement=judgement,
    )


def _regrown(ready: BoxTuples, pruned: _Pruned, policy: Policy, growth: Growth) -> _Pruned:
    """What was joined cut again, now with parts that stand by themselves; as it was where that breaks the policy."""
    nodes, order = pruned.nodes.copy(), pruned.order.copy()
    for place in pruned.joined:
        assert growth.least_records is not None, "boxes grow again with the policy's own k"
        begin, stop = nodes[place, [1, 3]].tolist()
        again = _cut(ready, policy, growth, growth.least_records, order, begin, stop)
        for side in (4, 5):  # the first of the new nodes takes the place of the old one
            again[:, side] = np.where(again[:, 0] >= 0, again[:, side] + len(nodes) - 1, -1)
        nodes[place] = again[0]
        nodes = np.vstack([nodes, again[1:]])
    leaves, box_of_tuple = leaves_of(nodes, order)
    judgement = judge_all(boxed(ready.table, box_of_tuple, len(leaves)), policy)
    if not judgement.satisfied:
        return pruned
    return _Pruned(nodes=nodes, order=order, leaves=leaves, joined=[], box_of_tuple=box_of_tuple, judgement=judgement)


def _not_worth_it(
    ready: BoxTuples, nodes: Ints, order: Ints, parents: Ints, failed: list[int], judgement: Judgement
) -> list[int]:
    """The failing boxes to join again: where some may be suppressed, those whose cuts tell least for each record of it.

    The others, as many records as the policy's limit leaves room for, stay cut off and are suppressed.
    """
    sizes = {place: int(ready.sizes[order[nodes[place, 1] : nodes[place, 3]]].sum()) for place in failed}
    excess = sum(sizes.values()) - judgement.records_suppressible
    if excess <= 0 or judgement.records_suppressible == 0:
        return failed
    worth = {place: _told(ready, nodes, order, int(parents[place])) / sizes[place] for place in failed}
    joined = []
    for place in sorted(failed, key=lambda place: (worth[place], -sizes[place])):
        joined.append(place)
        excess -= sizes[place]
        if excess <= 0:
            break
    return joined


def _told(ready: BoxTuples, nodes: Ints, order: Ints, place: int) -> float:
    """What the cut of a node tells about the labels, as a share of the table's uncertainty."""
    if place < 0:
        return 0.0
    start, middle, end = nodes[place, 1:4].tolist()
    label_sums = [ready.labels[order[part]].sum(axis=0) for part in (slice(start, middle), slice(middle, end))]
    parts = [
        float(uncertainty(held, ready.base.blocks, ready.base.scales))
        for held in (label_sums[0] + label_sums[1], *label_sums)
    ]
    return parts[0] - parts[1] - parts[2]


def check_possible(table: ClassTable, policy: Policy) -> None:
    """Raise PolicyNotSatisfiedError, with the model and how far it is, where one box of all records fails."""
    judgement = judge_all(boxed(table, np.zeros(table.classes, dtype=np.int64), 1), policy)
    if not judgement.satisfied:
        raise PolicyNotSatisfiedError(_why_none(table, policy, judgement))


def boxed(table: ClassTable, box_of_tuple: Ints, boxes: int) -> ClassTable:
    """The class table of boxes: each is one class, named by its number."""
    return ClassTable(
        columns=("box",),
        domains=(Domain.of(Kind.INTEGER, np.arange(boxes)),),
        tuples=Tuples(np.arange(boxes, dtype=np.int64).reshape(-1, 1)),
        sizes=np.bincount(box_of_tuple, weights=table.sizes, minlength=boxes).astype(np.int64),
        contents={name: content.regrouped(box_of_tuple, boxes) for name, content in table.contents.items()},
        people=None if table.people is None else table.people.regrouped(box_of_tuple, boxes),
    )


def _why_none(table: ClassTable, policy: Policy, judgement: Judgement) -> str:
    never = hopeless(table, policy) or tuple(verdict for verdict in judgement.verdicts if not verdict.satisfied)
    far = "; ".join(verdict.sentence().removesuffix(": NOT satisfied") for verdict in never)
    return f"no box satisfies this policy, not even one of all records: {far or judgement.reason}; ask for less"
