"""The best node of a lattice of levels, proved or with a bound on what could be better.

A *box* is all nodes between a finest and a coarsest one. Its finest node bounds from above what any of its nodes can
reach; its coarsest says whether any of them can satisfy the policy. Boxes are shrunk from both sides by these two,
and opened, best bound first, until none is left that could beat the best node found. Small boxes are walked through,
each node rolled up from its finer neighbour.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from aegis.candidates.search.board import Board, SearchEnd, SearchLimitError
from aegis.candidates.search.classes import Classes, Steps
from aegis.candidates.search.gate import Gate, Weighed
from aegis.candidates.search.masks import Chain
from aegis.masking.transition import Partition

Levels = tuple[int, ...]

WHOLE = 20_000
"""Lattices up to this size are looked at node by node, so that the shortlist and the front are complete."""

WALKED = 200
"""Boxes up to this size are walked through rather than opened."""

REMEMBERED = 1_000_000
"""How many nodes at most are remembered with the records that must go there."""

NEAR = 1.5
"""High levels are tried only in boxes whose bound is at most this many times the best score."""

PROJECTIONS = 2_000
"""How many sets of columns are tried for having few classes."""

KEPT = 100
"""How many tables are kept for boxes that wait to be opened."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Box:
    """The nodes from ``low`` (fine) to ``high`` (coarse), ordered by what they promise."""

    negative_bound: float
    low: Levels
    high: Levels

    @property
    def size(self) -> int:
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))


class LatticeSearch:
    """A search through the levels of all columns."""

    def __init__(self, *, chains: Sequence[Chain], gate: Gate, board: Board[Levels]) -> None:
        self.chains = chains
        self.gate = gate
        self.board = board
        self.steps = Steps.of([chain.partitions for chain in chains])
        self.base = self.steps.base(gate.table, label=gate.label, marked=Gate.marked(gate.policy))
        self.bottom: Levels = (0,) * len(chains)
        self.top: Levels = self.steps.tops
        self.nodes = math.prod(top + 1 for top in self.top)
        # Columns that identify most come first: their fine levels are ruled out high up in the tree.
        self.order = sorted(range(len(chains)), key=lambda c: -chains[c].partitions[0].target.size)
        self.exhaustive = self.nodes <= WHOLE and gate.plain
        self._gone: dict[Levels, int] = {}
        self._projections: dict[Levels, Classes | None] = {}
        self._kept: dict[Levels, Classes] = {}

    @property
    def threshold(self) -> float:
        """What a bound must exceed to be worth a look."""
        return -math.inf if self.exhaustive else self.board.best

    def run(self) -> SearchEnd:
        """Search until the best node is proved, time is over or somebody interrupts."""
        boxes: list[Box] = []
        current = math.inf
        self._settle(self.top, self.gate.weigh(self._at(self.top)))  # first of all something to answer with
        try:
            if not self.exhaustive:
                self._climb_hill()
            whole = self._shrunk(self.bottom, self.top, self.base, self.bottom)
            boxes = [] if whole is None else [whole]
            while boxes and -boxes[0].negative_bound > self.threshold:
                box = heapq.heappop(boxes)
                current = -box.negative_bound
                limit = max(current, self.board.best)
                self.board.bound = limit if self.gate.objective.tells(limit) else math.inf
                classes = self._finest(box)
                if self.exhaustive or box.size <= WALKED:
                    self._walk(0, classes, self._weighed(classes), box.low, box.high)
                    continue
                for child in self._opened(box, classes):
                    heapq.heappush(boxes, child)
        except (SearchLimitError, KeyboardInterrupt) as stop:
            bound = max([current, *(-box.negative_bound for box in boxes)])
            return SearchEnd(
                bound=max(bound, self.board.best),
                proved=bound <= self.board.best,
                exhaustive=False,
                interrupted=isinstance(stop, KeyboardInterrupt),
                cut_short=isinstance(stop, SearchLimitError),
            )
        return SearchEnd(bound=self.board.best, proved=True, exhaustive=self.exhaustive, interrupted=False)

    def partitions(self, levels: Levels) -> dict[str, Partition]:
        """The node as partitions of the columns that it changes."""
        return {
            chain.column: chain.levels[level].partition
            for chain, level in zip(self.chains, levels, strict=True)
            if level
        }

    def _at(self, levels: Levels) -> Classes:
        return self.steps.climb(self.base, self.bottom, levels)

    def _weighed(self, classes: Classes) -> Weighed:
        self.board.count()
        return self.gate.weigh(classes)

    def _settle(self, levels: Levels, weighed: Weighed) -> bool:
        """Enter a node if it satisfies the policy; whether it is the best so far."""
        outcome = weighed.outcome
        if weighed.open and weighed.bound > self.threshold:
            outcome = self.gate.judge(self.partitions(levels), most=weighed.bound)
        return outcome is not None and self.board.offer(levels, outcome)

    def _climb_hill(self) -> None:
        """A good node to begin with: from the top, the best neighbour again and again."""
        node = self.board.ranked()[0][0] if self.board.ranked() else self.top
        moved = True
        while moved:
            moved = False
            for column in range(len(node)):
                for step in (-1, 1):
                    level = node[column] + step
                    if 0 <= level <= self.top[column]:
                        near = _with(node, column, level)
                        moved |= self._settle(near, self._weighed(self._at(near)))
            node = self.board.ranked()[0][0] if moved else node

    def _must_go(self, classes: Classes, levels: Levels, node: Levels) -> int:
        """The records that must go at a node and at everything finer; it is rolled up from ``classes``."""
        must_go = self._gone.get(node)
        if must_go is None:
            bare = self._bare(node)
            if bare is not None and len(bare) < len(classes):
                classes, levels = bare, self._bare_levels(node)
            rolled = self.steps.climb(classes, levels, node)
            must_go = self.gate.must_go(rolled, self.partitions(node))
            if len(self._gone) < REMEMBERED:
                self._gone[node] = must_go
        return must_go

    def _bare_levels(self, node: Levels) -> Levels:
        return tuple(
            top if level == top else bottom for level, bottom, top in zip(node, self.bottom, self.top, strict=True)
        )

    def _bare(self, node: Levels) -> Classes | None:
        """The raw classes of the columns that a node does not suppress, kept for other nodes where they are few."""
        goal = self._bare_levels(node)
        if goal not in self._projections:
            bare = self._at(goal) if len(self._projections) < PROJECTIONS else None
            self._projections[goal] = bare if bare is not None and 8 * len(bare) <= len(self.base) else None
        return self._projections[goal]

    def _finest(self, box: Box) -> Classes:
        """The classes of a box's finest node, which its parent may have left behind."""
        classes = self._kept.pop(box.low, None)
        return self._at(box.low) if classes is None else classes

    def _keep(self, levels: Levels, classes: Classes) -> None:
        self._kept[levels] = classes
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def _shrunk(self, low: Levels, high: Levels, classes: Classes, levels: Levels) -> Box | None:
        """The smallest box that holds every node between low and high with a chance; None if there is no such node.

        Low levels go that are ruled out even with all other columns at their highest; high ones that promise no more
        than what was found even with all others at their lowest. ``classes`` at ``levels`` are no coarser than low.
        """
        changed = True
        while changed:
            changed = False
            for column in self.order:
                while self._must_go(classes, levels, _with(high, column, low[column])) > self.gate.limit:
                    if low[column] == high[column]:
                        return None
                    low, changed = _with(low, column, low[column] + 1), True
            classes, levels = self.steps.climb(classes, levels, low), low
            bound = self._weighed(classes).bound
            if bound <= self.threshold:
                return None
            # Far above what was found no high level can go: not worth asking.
            for column in self.order if bound < NEAR * self.threshold else ():
                while high[column] > low[column]:
                    node = self.steps.climb(classes, low, _with(low, column, high[column]))
                    if self._weighed(node).bound > self.threshold:
                        break
                    high, changed = _with(high, column, high[column] - 1), True
        self._keep(low, classes)
        return Box(negative_bound=-bound, low=low, high=high)

    def _opened(self, box: Box, classes: Classes) -> list[Box]:
        """Two boxes: the column that is closest to its limit stays at its lowest level, or rises above it."""
        low, high = box.low, box.high
        free = [c for c in self.order if low[c] < high[c]]
        column = max(free, key=lambda c: self._must_go(classes, low, _with(high, c, low[c])))
        stays = self._shrunk(low, _with(high, column, low[column]), classes, low)
        rises = self._shrunk(_with(low, column, low[column] + 1), high, classes, low)
        return [child for child in (stays, rises) if child is not None]

    def _walk(self, depth: int, classes: Classes, weighed: Weighed, low: Levels, high: Levels) -> None:
        """Weigh every node of a box that has a chance. ``classes`` are those of its finest node, ``low``.

        The columns before ``depth`` are fixed already.
        """
        if depth == len(self.order):
            self._settle(low, weighed)
            return
        column = self.order[depth]
        fixed = self.order[: depth + 1]
        for level in range(low[column], high[column] + 1):
            if level > low[column]:
                node = _with(low, column, level)
                classes = self.steps.climb(classes, low, node)
                weighed, low = self._weighed(classes), node
            if weighed.bound <= self.threshold:
                return  # coarser levels reach less still
            may_fail = weighed.failing > self.gate.limit or not self.gate.plain
            if may_fail and depth + 1 < len(self.order):
                ceiling = tuple(low[c] if c in fixed else high[c] for c in range(len(low)))
                if self._must_go(classes, low, ceiling) > self.gate.limit:
                    continue
            self._walk(depth + 1, classes, weighed, low, high)


def _with(levels: Levels, column: int, level: int) -> Levels:
    return (*levels[:column], level, *levels[column + 1 :])
