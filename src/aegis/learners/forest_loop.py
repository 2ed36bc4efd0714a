"""The compiled loop of the forest: trees on random rows and columns, each asked about the test rows while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled
from aegis.learners.parting import parted

ONE = np.uint64(1)


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
    orders: NDArray[np.uint32],
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
        add_up(totals[0], order[:drawn], labels, numbers, classes)
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
            here = order[begin:end]
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
                    part, part_second = 0.0, 0.0
                    if classes == 2:
                        gain, first, last, part, part_second = cut_of_two(
                            both_counts, joined[column], here, total[1], least, alone
                        )
                    else:
                        gain, first, last = cut_of_many(
                            both_counts,
                            amounts,
                            joined[column],
                            numbers,
                            here,
                            total,
                            left,
                            classes,
                            least,
                            alone,
                        )
                    if gain > best:
                        best, best_column, best_first, best_last = gain, column, first, last
                        if classes == 2:  # the cut has counted them already
                            best_left[0], best_left[1] = part - part_second, part_second
            if best_column < 0:
                for k in range(outputs):
                    total[k] = total[k] / count / trees
                asking = asked_order[asked_begin:asked_end]
                for i in range(len(asking)):
                    for k in range(outputs):
                        answers[asking[i], k] += total[k]
                continue
            middle = begin + parted(here, spare, bins[best_column], best_first, best_last)
            asked_middle = asked_begin + parted(
                asked_order[asked_begin:asked_end], spare, tests[best_column], best_first, best_last
            )
            if classes != 2:
                add_up(best_left, order[begin:middle], labels, numbers, classes)
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
def add_up(
    sums: NDArray[np.float64],
    rows: NDArray[np.uint32],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
) -> None:
    """How many of the rows each class has, or the sum of their numbers."""
    for k in range(len(sums)):
        sums[k] = 0.0
    for i in range(len(rows)):
        if classes:
            sums[np.uint64(labels[rows[i]])] += 1.0
        else:
            sums[0] += numbers[rows[i]]


@compiled
def cut_of_two(
    both_counts: NDArray[np.int32],
    line: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    second: float,
    least: int,
    alone: bool,
) -> tuple[float, Any, Any, float, float]:
    """The best cut of one column for two classes: what it gains, its first and last bin, and how many rows lie in
    these, in all and of the ``second`` class; −1 where there is none.

    Only bins between the lowest and the highest that occur are looked at. Fractions are compared crosswise: a division
    costs more than the rest.
    """
    counts, others = both_counts[0], both_counts[1]
    half = len(rows) // 2
    early, late = rows[:half], rows[half:]
    lowest = highest = line[rows[0]]
    for i in range(half):
        code, other = line[early[i]], line[late[i]]
        counts[code] += 1
        others[other] += 1
        lowest = min(lowest, min(code, other))
        highest = max(highest, max(code, other))
    if len(late) > half:
        code = line[late[half]]
        counts[code] += 1
        lowest = min(lowest, code)
        highest = max(highest, code)
    best, best_part, best_second = -1.0, 0.0, 0.0
    none: Any = np.uint64(0)
    best_first, best_last = none, none
    count, least_rows = float(len(rows)), float(least)
    left, left_second = 0.0, 0.0
    for b in range(np.uint64(lowest // 2), np.uint64(highest // 2 + 1)):
        zero = b + b
        one = zero + ONE
        ones = float(counts[one] + others[one])
        here = float(counts[zero] + others[zero]) + ones
        counts[zero] = 0
        counts[one] = 0
        others[zero] = 0
        others[one] = 0
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
                best_first, best_last = (b if single else none), b
                best_part, best_second = part, part_second
    return best, np.int64(best_first), np.int64(best_last), best_part, best_second


@compiled
def cut_of_many(
    both_counts: NDArray[np.int32],
    amounts: NDArray[np.float64],
    line: NDArray[np.uint16],
    numbers: NDArray[np.float64],
    rows: NDArray[np.uint32],
    total: NDArray[np.float64],
    left: NDArray[np.float64],
    classes: int,
    least: int,
    alone: bool,
) -> tuple[float, int, int]:
    """The best cut of one column for more classes or for numbers, as `cut_of_two` gives it."""
    counts = both_counts[0]  # numbers are summed beside: a second array of counts would gain little
    outputs = max(classes, 1)
    lowest = highest = line[rows[0]]
    for i in range(len(rows)):
        row = rows[i]
        code = line[row]
        counts[code] += 1
        if not classes:
            amounts[code] += numbers[row]
        lowest = min(lowest, code)
        highest = max(highest, code)
    low, high = lowest // outputs, highest // outputs
    best, best_first, best_last = -1.0, 0, 0
    count, left_count = len(rows), 0
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
            part_rows = here if single else left_count
            if part_rows < least or count - part_rows < least:
                continue
            squares, squares_rest = 0.0, 0.0
            for k in range(outputs):
                part = left[k]
                if single:
                    part = float(counts[b * outputs + k]) if classes else amounts[b]
                rest = total[k] - part
                squares += part * part
                squares_rest += rest * rest
            gain = squares / part_rows + squares_rest / (count - part_rows)
            if gain > best:
                best = gain
                best_first, best_last = (b if single else 0), b
    for b in range(low, high + 1):
        for k in range(outputs):
            counts[b * outputs + k] = 0
        if not classes:
            amounts[b] = 0.0
    return best, best_first, best_last
