"""Boxes grown by k alone: the compiled loop of local recoding.

A box is a stretch ``order[start:end]`` of the distinct tuples. `gains` says what its cuts gain.
"""

from __future__ import annotations

import numpy as np

from aegis.candidates.boxes.compiled import Floats, Ints, compiled
from aegis.candidates.boxes.gains import BY_BRANCH, between_branches, cut_gains, gathered, in_line, uncertainty

LEVELS_APART = 3
"""After so many levels of cuts tuples are put side by side again: those of one box lie all over the table by then."""


@compiled
def divided(column: Ints, order: Ints, start: int, end: int, goes_left: Ints) -> int:
    """Put the tuples whose code goes left first, both parts in the order they had; gives where the second begins."""
    kept = np.empty(end - start, dtype=np.int64)
    others = 0
    at_left = start
    for at in range(start, end):
        tuple_at = order[at]
        if goes_left[column[tuple_at]]:
            order[at_left] = tuple_at
            at_left += 1
        else:
            kept[others] = tuple_at
            others += 1
    order[at_left:end] = kept[:others]
    return at_left


@compiled
def best_in_column(
    column: int,
    columns: Ints,
    sizes: Ints,
    labels: Floats,
    blocks: Ints,
    scales: Floats,
    ordered: Ints,
    missing: Ints,
    domains: Ints,
    ranks: Ints,
    rank_starts: Ints,
    by: Ints,
    depths: Ints,
    weight: float,
    doubt: float,
    least: int,
    order: Ints,
    start: int,
    end: int,
    before: float,
    records: float,
    seen: Ints,
    table: Floats,
    codes: Ints,
    places: Floats,
    gains: Floats,
    left: Ints,
) -> tuple[float, int]:
    """The greatest gain of a cut of a box along one column, and how many codes go left: the first of ``left``.

    ``seen`` and ``table`` are all zero before and after.
    """
    best, best_at = 0.0, -1
    used = gathered(columns[column], order, start, end, sizes, labels, seen, table, codes)
    if used > 1:
        own = ranks[rank_starts[column] : rank_starts[column + 1]]
        in_line(codes, used, table, blocks, scales, ordered[column] == 1, own, by[column], places)
        has_missing = ordered[column] == 1 and codes[used - 1] == missing[column]
        for turn in range(2 if has_missing else 1):
            if turn == 1:  # missing values before all others
                for at in range(used - 1, 0, -1):
                    codes[at] = codes[at - 1]
                codes[0] = missing[column]
            cut_gains(
                codes, used, seen, table, blocks, scales, before, ordered[column] == 1, missing[column],
                domains[column], records, weight, doubt, least, gains,
            )  # fmt: skip
            if by[column] == BY_BRANCH:
                between_branches(codes, used, own, depths[rank_starts[column] : rank_starts[column + 1]], gains)
            better = False
            for at in range(used - 1):
                if gains[at] > best * (1 + 1e-12):
                    best, best_at, better = gains[at], at, True
            if better:
                left[: best_at + 1] = codes[: best_at + 1]
    for at in range(used):
        seen[codes[at]] = 0
        table[codes[at]] = 0.0
    return best, best_at + 1


@compiled
def best_gain(
    columns: Ints,
    sizes: Ints,
    labels: Floats,
    blocks: Ints,
    scales: Floats,
    ordered: Ints,
    missing: Ints,
    domains: Ints,
    ranks: Ints,
    rank_starts: Ints,
    by: Ints,
    depths: Ints,
    weight: float,
    doubt: float,
    least: int,
    order: Ints,
    start: int,
    end: int,
    records: float,
    seen: Ints,
    table: Floats,
    codes: Ints,
    places: Floats,
    gains: Floats,
    left: Ints,
) -> float:
    """The greatest gain of a cut of a box along any column; 0 where it cannot be cut."""
    here = 0
    whole = np.zeros(labels.shape[1])
    for at in range(start, end):
        here += sizes[order[at]]
        whole += labels[order[at]]
    if here < 2 * least or end - start < 2:
        return 0.0
    before = uncertainty(whole, blocks, scales)
    best = 0.0
    for column in range(len(columns)):
        gain, _ = best_in_column(
            column, columns, sizes, labels, blocks, scales, ordered, missing, domains, ranks, rank_starts, by, depths,
            weight, doubt, least, order, start, end, before, records, seen, table, codes, places, gains, left,
        )  # fmt: skip
        best = max(best, gain)
    return best


@compiled
def moved(columns: Ints, sizes: Ints, labels: Floats, order: Ints) -> tuple[Ints, Ints, Floats]:
    """The tuples of ``order`` side by side: what is read together lies together."""
    there_columns = np.empty((len(columns), len(order)), dtype=np.int64)
    there_sizes = np.empty(len(order), dtype=np.int64)
    there_labels = np.empty((len(order), labels.shape[1]))
    for column in range(len(columns)):
        for at in range(len(order)):
            there_columns[column, at] = columns[column, order[at]]
    for at in range(len(order)):
        there_sizes[at] = sizes[order[at]]
        there_labels[at] = labels[order[at]]
    return there_columns, there_sizes, there_labels


@compiled
def grown(
    columns: Ints,
    sizes: Ints,
    labels: Floats,
    blocks: Ints,
    scales: Floats,
    ordered: Ints,
    missing: Ints,
    domains: Ints,
    ranks: Ints,
    rank_starts: Ints,
    by: Ints,
    depths: Ints,
    weight: float,
    doubt: float,
    least: int,
    deepest: int,
    ahead: int,
    order: Ints,
    begin: int,
    stop: int,
) -> Ints:
    """Cut the box ``order[begin:stop]`` where the gain is greatest and both parts keep ``least``, and each part again.

    ``columns`` has a line of codes per column. With ``ahead`` the best cuts of so many columns are compared by what
    they gain together with the best cut of each of their parts. Gives a line (column or −1, start, middle, end,
    left, right) per node, the root first; ``order`` is the tuples in the order of the leaves.
    """
    widest = 1
    for column in range(len(domains)):
        widest = max(widest, domains[column])
    seen = np.zeros(widest, dtype=np.int64)
    table = np.zeros((widest, labels.shape[1]))
    codes, left, best_left = (
        np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    )  # fmt: skip
    places, gains = np.empty(widest), np.empty(widest)
    goes_left = np.zeros(widest, dtype=np.int64)
    records = float(sizes.sum()) * max(len(columns), 1)
    whole_order, names = order, order[begin:stop].copy()
    columns, sizes, labels = moved(columns, sizes, labels, names)
    order = np.arange(len(names))
    tried = order.copy() if ahead > 0 else order[:0].copy()
    column_gains = np.zeros(len(columns))
    nodes = np.empty((2 * len(names) + 1, 6), dtype=np.int64)
    depth = np.zeros(2 * len(names) + 1, dtype=np.int64)
    nodes[0] = -1, 0, 0, len(names), -1, -1
    made, node, next_move = 1, 0, LEVELS_APART
    while node < made:
        start, end = nodes[node, 1], nodes[node, 3]
        if depth[node] == next_move:  # level by level: nothing above is looked at again
            names = names[order]
            columns, sizes, labels = moved(columns, sizes, labels, order)
            order[:] = np.arange(len(names))
            next_move += LEVELS_APART
        here = 0
        whole = np.zeros(labels.shape[1])
        for at in range(start, end):
            here += sizes[order[at]]
            whole += labels[order[at]]
        best, best_column, best_many = 0.0, -1, 0
        if here >= 2 * least and end - start > 1 and (deepest < 0 or depth[node] < deepest):
            before = uncertainty(whole, blocks, scales)
            for column in range(len(columns)):
                column_gains[column], many = best_in_column(
                    column, columns, sizes, labels, blocks, scales, ordered, missing, domains, ranks, rank_starts, by,
                    depths, weight, doubt, least, order, start, end, before, records, seen, table, codes, places,
                    gains, left,
                )  # fmt: skip
                if column_gains[column] > best * (1 + 1e-12):
                    best, best_column, best_many = column_gains[column], column, many
                    best_left[:many] = left[:many]
            if ahead > 1 and best_column >= 0 and (deepest < 0 or depth[node] + 1 < deepest):
                together = -1.0
                ranked = np.argsort(-column_gains, kind="mergesort")
                for column in ranked[:ahead]:
                    if column_gains[column] <= 0.0:
                        break
                    gain, many = best_in_column(
                        column, columns, sizes, labels, blocks, scales, ordered, missing, domains, ranks, rank_starts,
                        by, depths, weight, doubt, least, order, start, end, before, records, seen, table, codes,
                        places, gains, left,
                    )  # fmt: skip
                    chosen = left[:many].copy()
                    for at in range(many):
                        goes_left[chosen[at]] = 1
                    tried[start:end] = order[start:end]
                    middle = divided(columns[column], tried, start, end, goes_left)
                    for at in range(many):
                        goes_left[chosen[at]] = 0
                    for first, last in ((start, middle), (middle, end)):
                        gain += best_gain(
                            columns, sizes, labels, blocks, scales, ordered, missing, domains, ranks, rank_starts, by,
                            depths, weight, doubt, least, tried, first, last, records, seen, table, codes, places,
                            gains, left,
                        )  # fmt: skip
                    if gain > together * (1 + 1e-12):
                        together, best_column, best_many = gain, column, many
                        best_left[:many] = chosen
        if best_column >= 0:
            for at in range(best_many):
                goes_left[best_left[at]] = 1
            middle = divided(columns[best_column], order, start, end, goes_left)
            for at in range(best_many):
                goes_left[best_left[at]] = 0
            nodes[node, 0], nodes[node, 2] = best_column, middle
            nodes[node, 4], nodes[node, 5] = made, made + 1
            nodes[made] = -1, start, start, middle, -1, -1
            nodes[made + 1] = -1, middle, middle, end, -1, -1
            depth[made] = depth[made + 1] = depth[node] + 1
            made += 2
        node += 1
    whole_order[begin:stop] = names[order]
    nodes[:made, 1:4] += begin
    return nodes[:made]


@compiled
def ends_of_cuts(columns: Ints, order: Ints, nodes: Ints, missing: Ints) -> Ints:
    """The codes on either side of each cut that `grown` made: a line (lowest, highest, any missing) × 2 per node.

    Missing codes are apart from the lowest and highest, which are −1 where nothing else is left; so are those of
    leaves.
    """
    ends = np.full((len(nodes), 6), -1, dtype=np.int64)
    for node in range(len(nodes)):
        column = nodes[node, 0]
        if column < 0:
            continue
        for side in range(2):
            low, high, any_missing = -1, -1, 0
            for at in range(nodes[node, 1 + side], nodes[node, 2 + side]):
                code = columns[column, order[at]]
                if code == missing[column]:
                    any_missing = 1
                    continue
                high = max(high, code)
                if low < 0 or code < low:
                    low = code
            ends[node, 3 * side], ends[node, 3 * side + 1], ends[node, 3 * side + 2] = low, high, any_missing
    return ends
