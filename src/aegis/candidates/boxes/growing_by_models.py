"""Boxes under any model of a policy: every part that a cut would make is judged as a class of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aegis.candidates.boxes.compiled import Floats, Ints
from aegis.candidates.boxes.cutting import best_gain, divided
from aegis.candidates.boxes.gains import BY_BRANCH, between_branches, cut_gains, gathered, in_line, uncertainty
from aegis.candidates.boxes.growth import Growth
from aegis.candidates.boxes.tuples import BoxTuples
from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.model import ClassModel


def grown_by_models(
    ready: BoxTuples, models: Sequence[ClassModel], growth: Growth, least: int, order: Ints, begin: int, stop: int
) -> Ints:
    """As `grown` does, with every part judged by the models; what a cut leads to is looked at without them."""
    weight, doubt = growth.label_weight, growth.doubt_nats
    deepest = -1 if growth.most_cuts is None else growth.most_cuts
    widest = int(ready.domains.max(initial=1))
    seen, table = np.zeros(widest, dtype=np.int64), np.zeros((widest, ready.labels.shape[1]))
    codes, places, gains = np.empty(widest, dtype=np.int64), np.empty(widest), np.empty(widest)
    goes_left = np.zeros(widest, dtype=np.int64)
    records = float(ready.sizes.sum()) * max(len(ready.columns), 1)
    nodes, depths = [[-1, begin, begin, stop, -1, -1]], [0]
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
                        if ready.by[column] == BY_BRANCH:
                            branch_depths = ready.depths[ready.rank_starts[column] : ready.rank_starts[column + 1]]
                            between_branches(turn, used, own, branch_depths, gains)
                        best = float(gains[: used - 1].max())
                        if best > 0:
                            lines.append((best, column, turn, gains[: used - 1].copy()))
                seen[codes[:used]] = 0
                table[codes[:used]] = 0.0
        if growth.look_ahead > 1 and (deepest < 0 or depths[place] + 1 < deepest):
            lines = _looked_ahead(ready, lines, growth, least, order, start, end, records)
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


def _looked_ahead(
    ready: BoxTuples,
    lines: list[tuple[float, int, Ints, Floats]],
    growth: Growth,
    least: int,
    order: Ints,
    start: int,
    end: int,
    records: float,
) -> list[tuple[float, int, Ints, Floats]]:
    """The best lines, each with what the best cuts of the two parts of its own best cut add."""
    widest = int(ready.domains.max(initial=1))
    seen, table = np.zeros(widest, dtype=np.int64), np.zeros((widest, ready.labels.shape[1]))
    codes, left = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    places, gains = np.empty(widest), np.empty(widest)
    further = []
    for best, column, line, own in sorted(lines, key=lambda entry: -entry[0])[: growth.look_ahead]:
        goes_left = np.zeros(widest, dtype=np.int64)
        goes_left[line[: int(np.argmax(own)) + 1]] = 1
        tried = order.copy()
        middle = divided(ready.columns[column], tried, start, end, goes_left)
        after = sum(
            best_gain(
                ready.columns, ready.sizes, ready.labels, ready.blocks, ready.scales, ready.ordered, ready.missing,
                ready.domains, ready.ranks, ready.rank_starts, ready.by, ready.depths, growth.label_weight,
                growth.doubt_nats, least, tried, first, last, records, seen, table, codes, places, gains, left,
            )
            for first, last in ((start, middle), (middle, end))
        )  # fmt: skip
        further.append((best + after, column, line, np.where(own > 0, own + after, own)))
    return further


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
