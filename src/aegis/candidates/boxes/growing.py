"""Grow boxes: cut the records where the label gains most, as long as the policy lets both parts stand.

How many records a box needs is tested in the compiled loop. Whatever else a policy asks for is judged by its models on
small class tables: all parts that the cuts of a column would make, beside the distribution of the whole table. At the
end the whole partition is held against the whole policy; where it fails (a model about all classes together, a limit on
suppression) the boxes that fail are joined with their neighbours again until it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.boxes.compiled import Floats, Ints
from aegis.candidates.boxes.cutting import cut_gains, divided, gathered, grown, in_line, uncertainty
from aegis.candidates.boxes.recoding import BoxColumn, Boxes, Cut, Leaf, shown_values
from aegis.candidates.boxes.tuples import BoxTuples, box_tuples
from aegis.candidates.search.masks import edge_between
from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError
from aegis.privacy.judgement import Judgement, hopeless, judge_all
from aegis.privacy.model import ClassModel
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How boxes are grown.

    ``label_weight`` is how much the label counts against the width of intervals and sets, 0 to 1. ``doubt_nats`` is
    what a cut must tell about the label before that counts at all: the best of many cuts tells something by chance, and
    boxes that follow chance teach models nothing. Where no cut tells more, width decides. ``least_records`` is
    the size below which no box is cut off; the policy's own k unless given. A smaller one than k makes boxes that the
    policy suppresses, which helps where it allows that. ``most_cuts`` limits the cuts on the way to a box.
    """

    label_weight: float = 0.99
    doubt_nats: float = 6.0
    least_records: int | None = None
    most_cuts: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.label_weight <= 1.0:
            raise AnonymizerError("the weight of the label lies between 0 and 1")
        if self.doubt_nats < 0.0 or (self.least_records or 1) < 1 or (self.most_cuts or 0) < 0:
            raise AnonymizerError("doubt, records and cuts of boxes cannot be negative; a box has at least one record")


GREEDY = Growth(label_weight=1.0, doubt_nats=0.0)
"""Cut wherever the label gains anything, as LeFevre, DeWitt and Ramakrishnan do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Grown:
    """Boxes with what the policy says of them, and the box of each tuple of the class table."""

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
) -> Grown:
    """The boxes of a table's tuples; its contents hold the labels and what the policy's models look at.

    Without labels boxes are cut where they are widest. Raises PolicyNotSatisfiedError, with the model and how far it
    is, where not even all records in one box satisfy the policy.
    """
    chosen = growth or Growth()
    ready = box_tuples(table, labels, hierarchies=hierarchies)
    if not ready.scales.any():
        chosen = replace(chosen, label_weight=0.0)
    k = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)
    least = chosen.least_records or k
    others = [m for m in policy.models if isinstance(m, ClassModel) and not isinstance(m, KAnonymity)]
    order = np.arange(table.classes, dtype=np.int64)
    deepest = -1 if chosen.most_cuts is None else chosen.most_cuts
    if others:
        nodes = _grown_by_models(ready, others, chosen.label_weight, chosen.doubt_nats, least, deepest, order)
    else:
        nodes = grown(
            ready.columns, ready.sizes, ready.labels, ready.blocks, ready.scales, ready.ordered, ready.missing,
            ready.domains, ready.ranks, ready.rank_starts, ready.by, chosen.label_weight, chosen.doubt_nats, least,
            deepest, order,
        )  # fmt: skip
    return _pruned(ready, nodes, order, policy, tuple(labels))


def _pruned(ready: BoxTuples, nodes: Ints, order: Ints, policy: Policy, labels: tuple[str, ...]) -> Grown:
    """The boxes after those that the policy fails were joined with their neighbours."""
    parents = np.full(len(nodes), -1, dtype=np.int64)
    for place, node in enumerate(nodes):
        if node[0] >= 0:
            parents[node[4]] = parents[node[5]] = place
    while True:
        leaves = [place for place in _reached(nodes) if nodes[place, 0] < 0]
        box_of_tuple = np.empty(len(order), dtype=np.int64)
        for box, place in enumerate(leaves):
            box_of_tuple[order[nodes[place, 1] : nodes[place, 3]]] = box
        table = boxed(ready.table, box_of_tuple, len(leaves))
        judgement = judge_all(table, policy)
        if judgement.satisfied:
            break
        if len(leaves) == 1:
            raise PolicyNotSatisfiedError(_why_none(ready.table, policy, judgement))
        failing = np.zeros(len(leaves), dtype=bool)
        for verdict in judgement.came_verdicts:
            failing |= verdict.failing[: len(leaves)]
        if not failing.any():
            failing[:] = True
        joined = {int(parents[place]) for place, fails in zip(leaves, failing.tolist(), strict=True) if fails}
        for place in joined - {-1}:
            nodes[place, 0] = -1
    kept = np.zeros(len(leaves), dtype=bool)
    released = judgement.released.codes[:, 0]
    kept[released[released >= 0]] = True
    boxes = _as_boxes(ready, nodes, order, leaves, kept, policy, labels)
    return Grown(boxes=boxes, judgement=judgement, box_of_tuple=box_of_tuple)


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
    )


def _why_none(table: ClassTable, policy: Policy, judgement: Judgement) -> str:
    never = hopeless(table, policy) or tuple(verdict for verdict in judgement.verdicts if not verdict.satisfied)
    far = "; ".join(verdict.sentence().removesuffix(": NOT satisfied") for verdict in never)
    return f"no box satisfies this policy, not even one of all records: {far or judgement.reason}; ask for less"


def _reached(nodes: Ints) -> list[int]:
    """The nodes that can be reached from the root, parents first."""
    found = [0]
    for place in found:
        if nodes[place, 0] >= 0:
            found += [int(nodes[place, 4]), int(nodes[place, 5])]
    return sorted(found)


def _as_boxes(
    ready: BoxTuples,
    nodes: Ints,
    order: Ints,
    leaves: list[int],
    kept: NDArray[np.bool_],
    policy: Policy,
    labels: tuple[str, ...],
) -> Boxes:
    table = ready.table
    shown = [shown_values(domain) for domain in table.domains]
    reached = _reached(nodes)
    number = {place: at for at, place in enumerate(reached)}
    suppressed = {place for place, keep in zip(leaves, kept.tolist(), strict=True) if not keep}
    made: list[Cut | Leaf] = []
    for place in reached:
        column, start, middle, end, left, right = nodes[place].tolist()
        if column < 0:
            made.append(Leaf(records=int(ready.sizes[order[start:end]].sum()), suppressed=place in suppressed))
            continue
        codes = [np.unique(ready.columns[column][part]) for part in (order[start:middle], order[middle:end])]
        children = [number[left], number[right]]
        domain = table.domains[column]
        if domain.kind.is_ordered:
            made.append(_ordered_cut(column, domain, codes, children))
            continue
        weights = [ready.sizes[part].sum() for part in (order[start:middle], order[middle:end])]
        light = int(weights[1] < weights[0])  # the smaller part is named value by value, the other is the rest
        made.append(
            Cut(
                column=column,
                then=children[light],
                other=children[1 - light],
                values=tuple(shown[column][code] for code in codes[light].tolist()),
            )
        )
    return Boxes(
        columns=tuple(
            BoxColumn(name=name, kind=domain.kind, values=() if domain.kind.is_ordered else tuple(values))
            for name, domain, values in zip(table.columns, table.domains, shown, strict=True)
        ),
        nodes=tuple(made),
        labels=labels,
        policy=policy.to_mapping(),
        records=table.records,
    )


def _ordered_cut(column: int, domain: Domain, codes: list[Ints], children: list[int]) -> Cut:
    missing = len(domain.values) if domain.missing else -1
    present = [part[part != missing] for part in codes]
    holds_missing = [len(part) < len(whole) for part, whole in zip(present, codes, strict=True)]
    if not len(present[0]) or not len(present[1]):
        apart = int(not len(present[1]))
        return Cut(column=column, then=children[apart], other=children[1 - apart], missing="then")
    low = int(present[0].max() > present[1].max())  # the part with the smaller values
    below: float | str
    first, second = domain.values[present[low].max()], domain.values[present[1 - low].min()]
    if domain.kind.is_number:
        below = edge_between(float(first), float(second), domain.kind)
    else:
        below = str(second)
    side = "then" if holds_missing[low] else "else" if holds_missing[1 - low] else None
    return Cut(column=column, then=children[low], other=children[1 - low], below=below, missing=side)  # type: ignore[arg-type]


def _grown_by_models(
    ready: BoxTuples, models: Sequence[ClassModel], weight: float, doubt: float, least: int, deepest: int, order: Ints
) -> Ints:
    """As `grown` does, with every part judged by the models."""
    widest = int(ready.domains.max(initial=1))
    seen, table = np.zeros(widest, dtype=np.int64), np.zeros((widest, ready.labels.shape[1]))
    codes, places, gains = np.empty(widest, dtype=np.int64), np.empty(widest), np.empty(widest)
    goes_left = np.zeros(widest, dtype=np.int64)
    records = float(ready.sizes.sum()) * max(len(ready.columns), 1)
    nodes, depths = [[-1, 0, 0, len(ready.sizes), -1, -1]], [0]
    place = 0
    while place < len(nodes):
        start, end = nodes[place][1], nodes[place][3]
        inside = order[start:end]
        here = int(ready.sizes[inside].sum())
        lines: list[tuple[float, int, Ints, Floats]] = []
        if here >= 2 * least and (deepest < 0 or depths[place] < deepest):
            before = uncertainty(ready.labels[inside].sum(axis=0), ready.blocks, ready.scales)
            for column in range(len(ready.columns)):
                ordered = ready.ordered[column] == 1
                used = gathered(ready.columns[column], order, start, end, ready.sizes, ready.labels, seen, table, codes)
                if used > 1:
                    own = ready.ranks[ready.rank_starts[column] : ready.rank_starts[column + 1]]
                    in_line(codes, used, table, ready.blocks, ready.scales, ordered, own, ready.by[column], places)
                    line = codes[:used].copy()
                    turns = [line]
                    if ordered and line[-1] == ready.missing[column]:
                        turns.append(np.roll(line, 1))
                    for turn in turns:
                        cut_gains(
                            turn, used, seen, table, ready.blocks, ready.scales, before, ordered,
                            int(ready.missing[column]), int(ready.domains[column]), records, weight, doubt, least,
                            gains,
                        )  # fmt: skip
                        best = float(gains[: used - 1].max())
                        if best > 0:
                            lines.append((best, column, turn, gains[: used - 1].copy()))
                seen[codes[:used]] = 0
                table[codes[:used]] = 0.0
        chosen = _best_allowed(ready, models, inside, lines)
        if chosen is not None:
            column, left = chosen
            goes_left[left] = 1
            middle = divided(ready.columns[column], order, start, end, goes_left)
            goes_left[left] = 0
            nodes[place] = [column, start, int(middle), end, len(nodes), len(nodes) + 1]
            nodes += [[-1, start, start, int(middle), -1, -1], [-1, int(middle), int(middle), end, -1, -1]]
            depths += [depths[place] + 1] * 2
        place += 1
    return np.array(nodes, dtype=np.int64)


def _best_allowed(
    ready: BoxTuples, models: Sequence[ClassModel], inside: Ints, lines: list[tuple[float, int, Ints, Floats]]
) -> tuple[int, Ints] | None:
    """The column and the codes that go left of the best cut whose two parts the models let stand."""
    best, chosen = 0.0, None
    for most, column, line, gains in sorted(lines, key=lambda entry: -entry[0]):
        if most <= best:
            break
        places = np.flatnonzero(gains > max(best, 0.0))
        allowed = _allowed(ready, models, inside, column, line, places)
        for at in places[np.argsort(-gains[places], kind="stable")].tolist():
            if allowed[at]:
                best, chosen = float(gains[at]), (column, line[: at + 1])
                break
    return chosen


def _allowed(
    ready: BoxTuples, models: Sequence[ClassModel], inside: Ints, column: int, line: Ints, places: Ints
) -> dict[int, bool]:
    """For each place to cut a line whether both parts satisfy every model, each part judged as a class of its own."""
    position = np.empty(int(ready.domains[column]), dtype=np.int64)
    position[line] = np.arange(len(line))
    at = position[ready.columns[column][inside]]
    sizes = np.cumsum(np.bincount(at, weights=ready.sizes[inside], minlength=len(line)))
    parts = np.concatenate([sizes[places], sizes[-1] - sizes[places]]).astype(np.int64)
    contents = {}
    for name in dict.fromkeys(attribute for model in models for attribute in model.needs):
        content = ready.table.contents[name]
        held = content.selected(inside)
        counted = np.bincount(
            at[held.owners] * content.domain.size + held.values,
            weights=held.counts,
            minlength=len(line) * content.domain.size,
        ).reshape(len(line), -1)
        running = np.cumsum(counted, axis=0)
        matrix = np.concatenate([running[places], running[-1] - running[places]]).astype(np.int64)
        owners, values = np.nonzero(matrix)
        contents[name] = Content.grouped(
            domain=content.domain,
            owners=owners,
            values=values,
            counts=matrix[owners, values],
            classes=len(parts),
            totals=content.totals,
            levels=content.levels,
        )
    table = ClassTable(
        columns=("part",),
        domains=(Domain.of(Kind.INTEGER, np.arange(len(parts))),),
        tuples=Tuples(np.arange(len(parts), dtype=np.int64).reshape(-1, 1)),
        sizes=parts,
        contents=contents,
    )
    failing = np.zeros(len(parts), dtype=bool)
    for model in models:
        failing |= model.failing(table, model.scores(table))
    fails = failing[: len(places)] | failing[len(places) :]
    return dict(zip(places.tolist(), (~fails).tolist(), strict=True))
