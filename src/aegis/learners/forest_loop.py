"""The compiled loop of the forest: trees on random rows and columns, each asked about the test rows while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled
from aegis.learners.forest_cuts import cut_of_many, cut_of_two
from aegis.learners.forest_draw import below, mixed
from aegis.learners.parting import parted

ONE = np.uint64(1)
REMEMBERED = 64
"""Of so many columns it is remembered where they can be cut no more."""


def grow_forest(
    drawn_at: Any,
    states_at: Any,
    bins_at: Any,
    joined_at: Any,
    sizes_at: Any,
    ordered_at: Any,
    labels_at: Any,
    numbers_at: Any,
    tests_at: Any,
    answers_at: Any,
    counts_at: Any,
    pairs_at: Any,
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
) -> None:
    """Write what the forest expects of each test row to answers: chances of classes, or a number (``classes`` 0).

    Each tree grows on so many ``drawn`` rows, which `draw_rows` drew. ``bins`` and ``tests`` hold a column of the table
    in each line. A column is cut after a bin; where it is not ``ordered`` a bin may also be parted from all others.
    ``joined`` has the label's class written into the bin, so that one count per row and column is all that a cut needs.
    It and the arrays after ``answers`` are working memory; counts and amounts come and go as zeros. ``pairs`` are the
    counts of two classes, those of a bin in one number.
    """
    sums = max(classes, 1)
    grow(
        at(drawn_at, (trees, rows)),
        at(states_at, (trees,)),
        at(bins_at, (columns, rows)),
        at(joined_at, (columns, rows)),
        at(sizes_at, (columns,)),
        at(ordered_at, (columns,)),
        at(labels_at, (rows,)),
        at(numbers_at, (rows,)),
        at(tests_at, (columns, asked)),
        at(answers_at, (asked, sums)),
        at(counts_at, (4, most_bins * sums)),
        at(pairs_at, (4, most_bins * sums // 2)),
        at(amounts_at, (most_bins,)),
        at(sums_at, (3, sums)),
        at(totals_at, (rows + 2, sums)),
        at(nodes_at, (6, rows + 2)),
        at(orders_at, (3, max(rows, asked))),
        at(shuffled_at, (columns,)),
        classes,
        columns_tried,
        least,
        drawn,
    )


@compiled
def grow(
    order_of: NDArray[np.uint32],
    states: NDArray[np.int64],
    bins: NDArray[np.uint8],
    joined: NDArray[np.uint16],
    sizes: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    tests: NDArray[np.uint8],
    answers: NDArray[np.float64],
    all_counts: NDArray[np.int32],
    pairs: NDArray[np.int64],
    amounts: NDArray[np.float64],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
    nodes: NDArray[np.int64],
    orders: NDArray[np.uint32],
    shuffled: NDArray[np.int64],
    classes: int,
    columns_tried: int,
    least: int,
    drawn: int,
) -> None:
    """The trees, one after the other; a node waits in ``nodes`` with its rows, its test rows, a random state and the
    columns that can be cut no more: what leaves too few rows on a side does so in every node below."""
    columns, trees = len(bins), len(order_of)
    asked, outputs = answers.shape
    order, asked_order, spare = orders[0], orders[1], orders[2]
    total, best_left, left = sums[0], sums[1], sums[2]
    join(joined, bins, labels, classes)
    for tree in range(trees):
        for i in range(drawn):
            order[i] = order_of[tree, i]
        for i in range(asked):
            asked_order[i] = i
        depth = 1
        nodes[0, 0], nodes[1, 0], nodes[2, 0], nodes[3, 0], nodes[4, 0] = 0, drawn, 0, asked, states[tree]
        nodes[5, 0] = 0
        add_up(totals[0], order[:drawn], labels, numbers, classes)
        while depth > 0:
            depth -= 1
            begin, end, asked_begin, asked_end = nodes[0, depth], nodes[1, depth], nodes[2, depth], nodes[3, depth]
            if asked_end == asked_begin:
                continue  # nobody asks what grows here; every node draws from a state of its own
            state, spent = np.uint64(nodes[4, depth]), np.uint64(nodes[5, depth])
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
                    bit = bit_of(column)
                    if spent & bit:
                        continue
                    alone = not ordered[column] and sizes[column] > 2
                    part, part_second = 0.0, 0.0
                    if classes == 2:
                        gain, first, last, part, part_second = cut_of_two(
                            all_counts, pairs, joined[column], here, sizes[column], total[1], least, alone
                        )
                    else:
                        gain, first, last = cut_of_many(
                            all_counts,
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
                    if gain < 0.0:
                        spent |= bit
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
            nodes[5, depth] = np.int64(spent | bit_of(best_column) if best_first == best_last else spent)
            for k in range(outputs):
                totals[depth, k] = best_left[k]
            depth += 1
            nodes[0, depth], nodes[1, depth] = middle, end
            nodes[2, depth], nodes[3, depth] = asked_middle, asked_end
            nodes[4, depth] = np.int64(mixed(state ^ np.uint64(0x14057B7EF767814F)))
            nodes[5, depth] = np.int64(spent | bit_of(best_column) if sizes[best_column] == 2 else spent)
            for k in range(outputs):
                totals[depth, k] = total[k] - best_left[k]
            depth += 1


@compiled
def join(joined: NDArray[np.uint16], bins: NDArray[np.uint8], labels: NDArray[np.int64], classes: int) -> None:
    """Write the label's class into the bin."""
    outputs = np.uint16(max(classes, 1))
    for j in range(len(bins)):
        for i in range(len(labels)):
            joined[j, i] = bins[j, i] * outputs + np.uint16(labels[i])


@compiled
def bit_of(column: Any) -> Any:
    """The bit that stands for a column; none for those that are not remembered."""
    return ONE << np.uint64(column) if column < REMEMBERED else np.uint64(0)


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
    if classes == 2:
        seconds = 0  # a whole number at hand: what is added to memory waits for the addition before
        for i in range(len(rows)):
            seconds += labels[rows[i]]
        sums[0], sums[1] = len(rows) - seconds, seconds
        return
    for i in range(len(rows)):
        if classes:
            sums[np.uint64(labels[rows[i]])] += 1.0
        else:
            sums[0] += numbers[rows[i]]
