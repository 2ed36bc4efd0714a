"""A state of the search by cuts: for each column, which raw values stand together, and the classes that makes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.search.classes import Classes, Steps
from aegis.candidates.search.gate import Gate
from aegis.candidates.search.ordering import cutting_order
from aegis.candidates.search.rollup import Codes
from aegis.candidates.search.sweep import sweep
from aegis.counts.class_table import ClassTable

Grouping = tuple[tuple[int, ...], ...]
"""For each column the group of each code. Groups are numbered by the rank of their first value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A division of one group of one column, and the score it should reach.

    The values of ``group`` up to ``rank`` go to one side. ``before`` is the state that is cut. ``sure`` says that the
    result satisfies the policy with just this score; otherwise it has to be judged.
    """

    before: Grouping
    column: int
    group: int
    rank: int
    score: float
    sure: bool


class Cuttable:
    """One table, ready to be cut in many ways."""

    def __init__(self, *, gate: Gate, base: Classes, steps: Steps) -> None:
        table = gate.table
        self.gate = gate
        self.base = base
        self.steps = steps
        self.domains = table.domains
        self.sizes = [domain.size for domain in table.domains]
        self.joints = [_joint(base, column, size) for column, size in enumerate(self.sizes)]
        self.ranks = [cutting_order(d, joint) for d, joint in zip(table.domains, self.joints, strict=True)]
        self.entries = _entries(table, gate)

    @property
    def together(self) -> Grouping:
        """Every column as one group."""
        return tuple((0,) * size for size in self.sizes)

    def classes(self, grouping: Grouping) -> tuple[Classes, Codes]:
        """The classes of a state, and the class of each raw tuple."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        maps = np.concatenate([np.array(groups, dtype=np.int64) for groups in grouping])
        return self.steps.replaced(self.base, np.arange(len(grouping)), starts, maps)

    def cuts(self, grouping: Grouping, column: int, owner: Codes, classes: int) -> list[Cut]:
        """Every cut of a column that the plain models may allow, with its score."""
        groups = np.array(grouping[column], dtype=np.int64)
        codes = self.base.codes[:, column]
        rank = self.ranks[column]
        order = np.lexsort((rank[codes], groups[codes]))
        places, ranks = groups[codes][order], rank[codes][order]
        gate, logs = self.gate, self.gate.objective.logarithms
        bits, failing, passes = sweep(
            order,
            places,
            ranks,
            owner,
            classes,
            self.base.labels,
            *self.entries,
            gate.wanted,
            gate.least,
            logs.cells,
            logs.rows,
            logs.prior,
        )
        return [
            Cut(
                before=grouping,
                column=column,
                group=int(places[place]),
                rank=int(ranks[place]),
                score=max(bits[place] / gate.objective.records, 0.0),
                sure=gate.settles(int(failing[place]), bool(passes[place])),
            )
            for place in np.flatnonzero((bits > -np.inf) & (failing <= gate.limit)).tolist()
        ]

    def made(self, cut: Cut) -> Grouping:
        """The state after a cut."""
        groups = np.array(cut.before[cut.column], dtype=np.int64)
        left = (groups == cut.group) & (self.ranks[cut.column] <= cut.rank)
        return self.changed(cut.before, cut.column, np.where(left, len(groups), groups))

    def changed(self, grouping: Grouping, column: int, groups: Ints) -> Grouping:
        """The state with other groups in one column, renumbered by the rank of their first value."""
        order = np.argsort(self.ranks[column])
        _, first, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        fresh = np.empty(len(groups), dtype=np.int64)
        fresh[order] = number[inverse]
        return (*grouping[:column], tuple(fresh.tolist()), *grouping[column + 1 :])


def _joint(base: Classes, column: int, size: int) -> Ints:
    joint = np.zeros((size, base.labels.shape[1]), dtype=np.int64)
    np.add.at(joint, base.codes[:, column], base.labels)
    return joint


def _entries(table: ClassTable, gate: Gate) -> tuple[Ints, Ints, Ints, Ints]:
    """The sensitive values of each tuple that distinct l-diversity counts, one attribute after another."""
    names = gate.marked(gate.policy)
    contents = [table.contents[name] for name in names]
    ends = np.concatenate([[0], np.cumsum([content.domain.size for content in contents])]).astype(np.int64)
    if not contents:
        return np.zeros(table.classes + 1, dtype=np.int64), ends[:0], ends[:0], ends
    owners = np.concatenate([content.owners for content in contents])
    values = np.concatenate([content.values + start for content, start in zip(contents, ends, strict=False)])
    counts = np.concatenate([content.counts for content in contents])
    order = np.argsort(owners, kind="stable")
    starts = np.zeros(table.classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=table.classes), out=starts[1:])
    return starts, values[order], counts[order], ends
