"""Label-aware partitions: columns cut where it tells most, from everything suppressed downwards.

A state says for each column which raw values stand together. Greedy first: the feasible cut that adds most, until none
adds anything. Then improved: one or two cuts are taken back (or a value without an order moves to another group) and
the search goes on greedily from there; what is better stays. Every state on the way satisfies the policy, so that the
search may be stopped at any time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.search.board import Board, SearchEnd, SearchLimitError
from aegis.candidates.search.classes import Classes, Codes, Steps
from aegis.candidates.search.gate import Gate, Outcome
from aegis.candidates.search.masks import cutting_order, own_ranks
from aegis.candidates.search.objective import DEFAULT_MEASURE
from aegis.candidates.search.sweep import sweep
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.transition import Partition

Grouping = tuple[tuple[int, ...], ...]
"""For each column the group of each code. Groups are numbered by the rank of their first value."""
TRIED = 12
"""How many of the most promising cuts are judged in full where their classes alone do not decide."""
SPARING = 4
"""One greedy run suppresses at most this part of the limit."""
LEAST_GAIN = 1e-9


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


class CutSearch:
    """A search through partitions of all columns."""

    def __init__(self, *, gate: Gate, board: Board[Grouping]) -> None:
        steps = Steps.of([[Partition.identity(domain)] for domain in gate.table.domains])
        base = steps.base(gate.table, label=gate.label, marked=Gate.marked(gate.policy))
        self.gate = gate
        self.board = board
        self.space = Cuttable(gate=gate, base=base, steps=steps)
        self._outcomes: dict[Grouping, Outcome | None] = {}

    def run(self) -> SearchEnd:
        """Search until no change of the kinds above helps, time is over or somebody interrupts."""
        bound = self.gate.weigh(self.space.base).bound
        self.board.bound = bound if self.gate.objective.tells(bound) else math.inf
        interrupted = cut_short = False
        together = self._judged(self.space.together)  # first of all something to answer with
        try:
            if together is not None:
                for start in self._starts():
                    self._improved(start)
        except SearchLimitError:
            cut_short = True
        except KeyboardInterrupt:
            interrupted = True
        proved = self.board.best >= bound
        return SearchEnd(bound=max(bound, self.board.best), proved=proved, interrupted=interrupted, cut_short=cut_short)

    def _starts(self) -> list[Grouping]:
        """Where greedy cutting ends if it may suppress nothing, a part of the limit, all of it; the best first.

        Suppressing early is easy and dear: what is cut within a smaller limit often ends better.
        """
        limits = sorted({0, self.gate.limit // SPARING, self.gate.limit}, reverse=True)
        grown = []
        for limit in limits:
            stricter = replace(self.gate.policy, max_suppression=limit / max(self.gate.objective.records, 1))
            full, self.gate = self.gate, replace(self.gate, limit=limit, policy=stricter)
            self.space.gate, self._outcomes = self.gate, {}
            try:
                if self._outcome(self.space.together) is not None:
                    grown.append(self._grown(self.space.together))
            finally:
                self.gate = self.space.gate = full
        self._outcomes = {}
        return sorted(grown, key=lambda grouping: -self._score(grouping))

    def partitions(self, grouping: Grouping) -> dict[str, Partition]:
        """A state as partitions of the columns, with nameless targets: for judging, not for masking."""
        return {
            column: Partition(codes=np.array(groups, dtype=np.int64), target=_nameless(max(groups) + 1))
            for column, groups in zip(self.gate.table.columns, grouping, strict=True)
        }

    def _outcome(self, grouping: Grouping) -> Outcome | None:
        """What the policy says of a state; None if it does not hold."""
        if grouping not in self._outcomes:
            self.board.count()
            self._outcomes[grouping] = self._judged(grouping)
        return self._outcomes[grouping]

    def _judged(self, grouping: Grouping) -> Outcome | None:
        classes, _ = self.space.classes(grouping)
        weighed = self.gate.weigh(classes)
        outcome = self.gate.judge(self.partitions(grouping), most=weighed.bound) if weighed.open else weighed.outcome
        if outcome is not None:
            self.board.offer(grouping, outcome)
        return outcome

    def _score(self, grouping: Grouping) -> float:
        outcome = self._outcome(grouping)
        return -np.inf if outcome is None else outcome.score

    def _grown(self, grouping: Grouping) -> Grouping:
        """Cut greedily as long as it helps."""
        while True:
            following = self._step(grouping)
            if following is None:
                return grouping
            grouping = following

    def _step(self, grouping: Grouping) -> Grouping | None:
        """The best cut of all columns, made; None if none helps."""
        current = self._score(grouping)
        cuts = sorted(self._cuts(grouping), key=lambda cut: -cut.score)
        exact = self.gate.objective.measure.name == DEFAULT_MEASURE
        best, reached, tried = None, current + LEAST_GAIN, 0
        for cut in cuts:
            if tried == TRIED or (exact and cut.score <= reached):
                break
            after = self.space.made(cut)
            tried += not (exact and cut.sure)
            score = self._score(after)
            if score > reached:
                best, reached = after, score
        return best

    def _cuts(self, grouping: Grouping) -> Iterator[Cut]:
        classes, owner = self.space.classes(grouping)
        for column, groups in enumerate(grouping):
            domain = self.space.domains[column]
            if domain.missing and not any(groups) and domain.size > 1:
                # Masks leave missing values apart, so the first cut of such a column always sets them apart.
                last = domain.size - 1
                trial = self.space.changed(grouping, column, (np.arange(domain.size) == last).astype(np.int64))
                score = self._score(trial)
                if score > -np.inf:
                    yield Cut(before=grouping, column=column, group=0, rank=last - 1, score=score, sure=True)
                other_classes, other_owner = self.space.classes(trial)
                cuts = self.space.cuts(trial, column, other_owner, len(other_classes))
            else:
                cuts = self.space.cuts(grouping, column, owner, len(classes))
            self.board.count(len(cuts))
            yield from cuts

    def _improved(self, grouping: Grouping) -> Grouping:
        """Take back, move and cut again as long as it helps."""
        again = True
        while again:
            grouping = self._moved(grouping)
            best = self._score(grouping)
            again = False
            for fewer in self._with_less(grouping):
                regrown = self._grown(fewer) if self._outcome(fewer) is not None else grouping
                if self._score(regrown) > best + LEAST_GAIN:
                    grouping, again = regrown, True
                    break
        return grouping

    def _with_less(self, grouping: Grouping) -> Iterator[Grouping]:
        """The state with a cut less, a column less, two cuts less."""
        joins = [(column, group) for column, groups in enumerate(grouping) for group in range(1, max(groups) + 1)]
        for join in joins:
            yield self._joined(grouping, join)
        for column, groups in enumerate(grouping):
            if max(groups) > 1:
                yield (*grouping[:column], (0,) * len(groups), *grouping[column + 1 :])
        for first, second in itertools.combinations(joins, 2):
            yield self._joined(self._joined(grouping, second), first)  # so the earlier keeps its number

    def _joined(self, grouping: Grouping, join: tuple[int, int]) -> Grouping:
        """A group joins the one before it; missing values do so only by suppressing their column."""
        column, group = join
        groups = np.array(grouping[column], dtype=np.int64)
        if self.space.domains[column].missing and groups[-1] in (group, 0):
            groups[:] = 0
        else:
            groups[groups == group] = group - 1
        return self.space.changed(grouping, column, groups)

    def _moved(self, grouping: Grouping) -> Grouping:
        """Values without an order join another group, one after the other, as long as it helps."""
        best = self._score(grouping)
        for column, domain in enumerate(self.space.domains):
            if own_ranks(domain) is not None or not any(grouping[column]):
                continue
            for code in range(len(domain.values)):
                groups = np.array(grouping[column], dtype=np.int64)
                missing = groups[-1] if domain.missing else -1
                for group in set(groups.tolist()) - {groups[code], missing}:
                    moved = self.space.changed(
                        grouping, column, np.where(np.arange(len(groups)) == code, group, groups)
                    )
                    if self._score(moved) > best + LEAST_GAIN:
                        grouping, best = moved, self._score(moved)
                        break
        return grouping


def _nameless(size: int) -> Domain:
    return Domain.of(Kind.INTEGER, np.arange(size))
