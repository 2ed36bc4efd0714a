"""The compiled loop of the forest: trees on random rows and columns, each asked about the test rows while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled
from aegis.learners.parting import parted


def grow_forest(
    bins_at: Any,
    joined_at: Any,
    sizes_at: Any,
    ordered_at: Any,
    labels_at: Any,
    numbers_at: Any,
    tests_at: Any,
    answers_at: Any,
    counts_at: Any,
    amounts_at: Any,
    sums_at: Any,
    totals_at: Any,
    nodes_at: Any,
    orders_at: Any,
    shuffled_at: Any,
    columns: int,
    rows: int,
    asked: int,
    most_bins: int,
    classes: int,
    trees: int,
    columns_tried: int,
    least: int,
    drawn: int,
    seed: int,
) -> None:
    """Write what the forest expects of each test row to answers: chances of classes, or a number (``classes`` 0).

    Each tree grows on so many ``drawn`` rows. ``bins`` and ``tests`` hold a column of the table in each line;
    ``joined`` has the label's class written into the bin, so that one count per row and column is all that a cut needs.
    A column is cut after a bin; where it is not ``ordered`` a bin may also be parted from all others. The arrays after
    ``answers`` are working memory; counts and amounts come and go as zeros. Counts are kept twice, every other row in
    each: rows that follow one another often have the same code, and would wait for one another's count.
    """
    sums = max(classes, 1)
    grow(
        at(bins_at, (columns, rows)),
        at(joined_at, (columns, rows)),
        at(sizes_at, (columns,)),
        at(ordered_at, (columns,)),
        at(labels_at, (rows,)),
        at(numbers_at, (rows,)),
        at(tests_at, (columns, asked)),
        at(answers_at, (asked, sums)),
        at(counts_at, (2, most_bins * sums)),
        at(amounts_at, (most_bins,)),
        at(sums_at, (3, sums)),
        at(totals_at, (rows + 2, sums)),
        at(nodes_at, (5, rows + 2)),
        at(orders_at, (3, max(rows, asked))),
        at(shuffled_at, (columns,)),
        classes,
        trees,
        columns_tried,
        least,
        drawn,
        seed,
    )


@compiled
def grow(
    bins: NDArray[np.uint8],
    joined: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    tests: NDArray[np.uint8],
    answers: NDArray[np.float64],
    both_counts: NDArray[np.int32],
    amounts: NDArray[np.float64],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
    nodes: NDArray[np.int64],
    orders: NDArray[np.int32],
    shuffled: NDArray[np.int64],
    classes: int,
    trees: int,
    columns_tried: int,
    least: int,
    drawn: int,
    seed: int,
) -> None:
    """The trees, one after the other; a node waits in ``nodes`` with its rows, its test rows and a random state."""
    columns, rows = bins.shape
    asked, outputs = answers.shape
    order, asked_order, spare = orders[0], orders[1], orders[2]
    total, best_left, left = sums[0], sums[1], sums[2]
    for tree in range(trees):
        state = mixed(np.uint64(seed) * np.uint64(1_000_003) + np.uint64(tree))
        for i in range(rows):
            order[i] = i
        for i in range(drawn):
            state = mixed(state)
            swap = i + below(state, rows - i)
            row = order[swap]
            order[swap] = order[i]
            order[i] = row
        for i in range(asked):
            asked_order[i] = i
        depth = 1
        nodes[0, 0], nodes[1, 0], nodes[2, 0], nodes[3, 0], nodes[4, 0] = 0, drawn, 0, asked, np.int64(mixed(state))
        for k in range(outputs):
            totals[0, k] = 0.0
        for i in range(drawn):
            if classes:
                totals[0, labels[order[i]]] += 1.0
            else:
                totals[0, 0] += numbers[order[i]]
        while depth > 0:
            depth -= 1
            begin, end, asked_begin, asked_end = nodes[0, depth], nodes[1, depth], nodes[2, depth], nodes[3, depth]
            if asked_end == asked_begin:
                continue  # nobody asks what grows here; every node draws from a state of its own
            state = np.uint64(nodes[4, depth])
            count = end - begin
            pure = count < 2 * least
            for k in range(outputs):
                total[k] = totals[depth, k]
                pure = pure or (classes > 0 and total[k] >= count)
            best, best_column, best_first, best_last = -1.0, -1, 0, 0
            if not pure:
                for i in range(columns):
                    shuffled[i] = i
                for place in range(columns):
                    if place >= columns_tried and best_column >= 0:
                        break
                    state = mixed(state)
                    swap = place + below(state, columns - place)
                    column = shuffled[swap]
                    shuffled[swap] = shuffled[place]
                    shuffled[place] = column
                    alone = not ordered[column] and sizes[column] > 2
                    if classes == 2:
                        gain, first, last = cut_of_two(
                            both_counts, joined[column], order, begin, end, total, least, alone
                        )
                    else:
                        gain, first, last = cut_of_many(
                            both_counts,
                            amounts,
                            joined[column],
                            numbers,
                            order,
                            begin,
                            end,
                            sizes[column],
                            total,
                            left,
                            classes,
                            least,
                            alone,
                        )
                    if gain > best:
                        best, best_column, best_first, best_last = gain, column, first, last
            if best_column < 0:
                for k in range(outputs):
                    total[k] /= count
                for i in range(asked_begin, asked_end):
                    for k in range(outputs):
                        answers[asked_order[i], k] += total[k] / trees
                continue
            middle = parted(order, spare, bins[best_column], best_first, best_last, begin, end)
            asked_middle = parted(asked_order, spare, tests[best_column], best_first, best_last, asked_begin, asked_end)
            for k in range(outputs):
                best_left[k] = 0.0
            for i in range(begin, middle):
                if classes:
                    best_left[labels[order[i]]] += 1.0
                else:
                    best_left[0] += numbers[order[i]]
            nodes[0, depth], nodes[1, depth] = begin, middle
            nodes[2, depth], nodes[3, depth] = asked_begin, asked_middle
            nodes[4, depth] = np.int64(mixed(state ^ np.uint64(0x5851F42D4C957F2D)))
            for k in range(outputs):
                totals[depth, k] = best_left[k]
            depth += 1
            nodes[0, depth], nodes[1, depth] = middle, end
            nodes[2, depth], nodes[3, depth] = asked_middle, asked_end
            nodes[4, depth] = np.int64(mixed(state ^ np.uint64(0x14057B7EF767814F)))
            for k in range(outputs):
                totals[depth, k] = total[k] - best_left[k]
            depth += 1


@compiled
def mixed(state: Any) -> Any:
    """The next state of a generator that needs no other memory than its last number (splitmix64)."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    word = state
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def below(state: Any, limit: Any) -> Any:
    """A number from 0 up to ``limit`` that a state stands for."""
    return np.int64((state >> np.uint64(11)) % np.uint64(limit))


@compiled
def cut_of_two(
    both_counts: NDArray[np.int32],
    line: NDArray[np.uint16],
    order: NDArray[np.int32],
    begin: int,
    end: int,
    total: NDArray[np.float64],
    least: int,
    alone: bool,
) -> tuple[float, int, int]:
    """The best cut of one column for two classes: what it gains, and its first and last bin; −1 where there is none.

    Only bins between the lowest and the highest that occur are looked at. Fractions are compared crosswise: a division
    costs more than the rest.
    """
    counts, others = both_counts[0], both_counts[1]
    lowest, highest = line[order[begin]], line[order[begin]]
    for i in range(begin, end - 1, 2):
        code, other = line[order[i]], line[order[i + 1]]
        counts[code] += 1
        others[other] += 1
        lowest = min(lowest, code, other)
        highest = max(highest, code, other)
    if (end - begin) % 2:
        code = line[order[end - 1]]
        counts[code] += 1
        lowest = min(lowest, code)
        highest = max(highest, code)
    low, high = lowest // 2, highest // 2
    best, best_first, best_last = -1.0, 0, 0
    count, second = float(end - begin), total[1]
    least_rows = float(least)
    left, left_second = 0.0, 0.0
    for b in range(low, high + 1):
        ones = float(counts[2 * b + 1] + others[2 * b + 1])
        here = float(counts[2 * b] + others[2 * b]) + ones
        counts[2 * b] = 0
        counts[2 * b + 1] = 0
        others[2 * b] = 0
        others[2 * b + 1] = 0
        if here == 0.0:
            continue
        left += here
        left_second += ones
        for single in range(2 if alone else 1):
            part, part_second = (here, ones) if single else (left, left_second)
            rest = count - part
            if part < least_rows or rest < least_rows:
                continue
            part_first = part - part_second
            rest_second = second - part_second
            rest_first = rest - rest_second
            above = (part_first * part_first + part_second * part_second) * rest + (
                rest_first * rest_first + rest_second * rest_second
            ) * part
            if above > best * (part * rest):
                best = above / (part * rest)
                best_first, best_last = (b if single else 0), b
    return best, best_first, best_last


@compiled
def cut_of_many(
    both_counts: NDArray[np.int32],
    amounts: NDArray[np.float64],
    line: NDArray[np.uint16],
    numbers: NDArray[np.float64],
    order: NDArray[np.int32],
    begin: int,
    end: int,
    size: int,
    total: NDArray[np.float64],
    left: NDArray[np.float64],
    classes: int,
    least: int,
    alone: bool,
) -> tuple[float, int, int]:
    """The best cut of one column for more classes or for numbers, as `cut_of_two` gives it."""
    counts = both_counts[0]  # numbers are summed beside: a second array of counts would gain little
    outputs = max(classes, 1)
    lowest, highest = line[order[begin]], line[order[begin]]
    for i in range(begin, end):
        row = order[i]
        code = line[row]
        counts[code] += 1
        if not classes:
            amounts[code] += numbers[row]
        lowest = min(lowest, code)
        highest = max(highest, code)
    low, high = lowest // outputs, highest // outputs
    best, best_first, best_last = -1.0, 0, 0
    count, left_count = end - begin, 0
    for k in range(outputs):
        left[k] = 0.0
    for b in range(low, high + 1):
        here = 0
        for k in range(outputs):
            here += counts[b * outputs + k]
        if here == 0:
            continue
        left_count += here
        for k in range(outputs):
            left[k] += float(counts[b * outputs + k]) if classes else amounts[b]
        for single in range(2 if alone else 1):
            rows = here if single else left_count
            if rows < least or count - rows < least:
                continue
            squares, squares_rest = 0.0, 0.0
            for k in range(outputs):
                part = left[k]
                if single:
                    part = float(counts[b * outputs + k]) if classes else amounts[b]
                rest = total[k] - part
                squares += part * part
                squares_rest += rest * rest
            gain = squares / rows + squares_rest / (count - rows)
            if gain > best:
                best = gain
                best_first, best_last = (b if single else 0), b
    for b in range(low, high + 1):
        for k in range(outputs):
            counts[b * outputs + k] = 0
        if not classes:
            amounts[b] = 0.0
    return best, best_first, best_last
