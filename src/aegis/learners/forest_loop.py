"""The compiled loop of the forest: trees on random rows and columns, each asked about the test rows while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


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
def grow_forest(
    bins: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
    tests: NDArray[np.uint8],
    trees: int,
    columns_tried: int,
    least: int,
    drawn: int,
    seed: int,
) -> NDArray[np.float64]:
    """What the forest expects of each test row: the chances of the classes, or a number where ``classes`` is 0.

    Each tree grows on so many ``drawn`` rows. ``bins`` and ``tests`` hold a column of the table in each line. A column
    is cut after a bin; where it is not ``ordered`` a bin may also be parted from all others.
    """
    columns, rows = bins.shape
    asked = tests.shape[1]
    sums = max(classes, 1)
    most = 1
    for column in range(columns):
        most = max(most, sizes[column])
    # The label's class is written into the bin, so that one count per row and column is all that a cut needs.
    joined = np.empty((columns, rows), np.uint16)
    if classes:
        for column in range(columns):
            for i in range(rows):
                joined[column, i] = bins[column, i] * classes + labels[i]
    counts = np.zeros(most * sums, np.int32)
    amounts = np.zeros(most)
    answers = np.zeros((asked, sums))
    order = np.empty(rows, np.int32)
    asked_order = np.empty(asked, np.int32)
    spare = np.empty(max(rows, asked), np.int32)
    left = np.empty(sums)
    totals = np.empty((rows + 2, sums))
    total = np.empty(sums)
    best_left = np.empty(sums)
    shuffled = np.arange(columns)
    begins = np.empty(rows + 2, np.int64)
    ends = np.empty(rows + 2, np.int64)
    asked_begins = np.empty(rows + 2, np.int64)
    asked_ends = np.empty(rows + 2, np.int64)
    states = np.empty(rows + 2, np.uint64)
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
        begins[0], ends[0], asked_begins[0], asked_ends[0], states[0] = 0, drawn, 0, asked, mixed(state)
        totals[0] = 0.0
        for i in range(drawn):
            if classes:
                totals[0, labels[order[i]]] += 1.0
            else:
                totals[0, 0] += numbers[order[i]]
        while depth > 0:
            depth -= 1
            begin, end = begins[depth], ends[depth]
            asked_begin, asked_end, state = asked_begins[depth], asked_ends[depth], states[depth]
            if asked_end == asked_begin:
                continue  # nobody asks what grows here; every node draws from a state of its own
            count = end - begin
            total[:] = totals[depth]
            best, best_column, best_first, best_last = -1.0, -1, 0, 0
            pure = count < 2 * least
            if classes:
                for k in range(classes):
                    pure = pure or total[k] >= count
            if not pure:
                for i in range(columns):
                    shuffled[i] = i
                tried = 0
                for place in range(columns):
                    if tried >= columns_tried and best_column >= 0:
                        break
                    state = mixed(state)
                    swap = place + below(state, columns - place)
                    column = shuffled[swap]
                    shuffled[swap] = shuffled[place]
                    shuffled[place] = column
                    size = sizes[column]
                    counts[: size * sums] = 0
                    if classes:
                        line = joined[column]
                        for i in range(begin, end):
                            counts[line[order[i]]] += 1
                    else:
                        plain = bins[column]
                        amounts[:size] = 0.0
                        for i in range(begin, end):
                            row = order[i]
                            counts[plain[row]] += 1
                            amounts[plain[row]] += numbers[row]
                    tried += 1
                    left[:] = 0.0
                    left_count = 0
                    for b in range(size - 1):
                        here = 0
                        for k in range(sums):
                            here += counts[b * sums + k]
                        if here == 0:
                            continue
                        left_count += here
                        right_count = count - left_count
                        if right_count < least:
                            break
                        squares_left, squares_right = 0.0, 0.0
                        if classes:
                            for k in range(classes):
                                left[k] += counts[b * classes + k]
                                squares_left += left[k] * left[k]
                                right = total[k] - left[k]
                                squares_right += right * right
                        else:
                            left[0] += amounts[b]
                            squares_left = left[0] * left[0]
                            right = total[0] - left[0]
                            squares_right = right * right
                        if left_count < least:
                            continue
                        gain = squares_left / left_count + squares_right / right_count
                        if gain > best:
                            best, best_column, best_first, best_last = gain, column, 0, b
                            best_left[:] = left
                    if not ordered[column] and size > 2:
                        for b in range(size):
                            here = 0
                            for k in range(sums):
                                here += counts[b * sums + k]
                            if here < least or count - here < least:
                                continue
                            squares_left, squares_right = 0.0, 0.0
                            for k in range(sums):
                                alone = float(counts[b * sums + k]) if classes else amounts[b]
                                squares_left += alone * alone
                                squares_right += (total[k] - alone) * (total[k] - alone)
                            gain = squares_left / here + squares_right / (count - here)
                            if gain > best:
                                best, best_column, best_first, best_last = gain, column, b, b
                                for k in range(sums):
                                    best_left[k] = float(counts[b * sums + k]) if classes else amounts[b]
            if best_column < 0:
                for k in range(sums):
                    total[k] /= count
                for i in range(asked_begin, asked_end):
                    for k in range(sums):
                        answers[asked_order[i], k] += total[k]
                continue
            middle = parted(order, spare, bins[best_column], best_first, best_last, begin, end)
            asked_middle = parted(asked_order, spare, tests[best_column], best_first, best_last, asked_begin, asked_end)
            begins[depth], ends[depth] = begin, middle
            asked_begins[depth], asked_ends[depth] = asked_begin, asked_middle
            states[depth] = mixed(state ^ np.uint64(0x5851F42D4C957F2D))
            totals[depth] = best_left
            depth += 1
            begins[depth], ends[depth] = middle, end
            asked_begins[depth], asked_ends[depth] = asked_middle, asked_end
            states[depth] = mixed(state ^ np.uint64(0x14057B7EF767814F))
            totals[depth] = total - best_left
            depth += 1
    return answers / trees


@compiled
def parted(
    order: NDArray[np.int32],
    spare: NDArray[np.int32],
    line: NDArray[np.uint8],
    first: int,
    last: int,
    begin: int,
    end: int,
) -> int:
    """Put the rows whose bin lies from ``first`` to ``last`` before the others; give where the others begin."""
    kept, moved = begin, 0
    for i in range(begin, end):
        row = order[i]
        stays = first <= line[row] <= last
        # Both are written and one of them counts: a branch here would be guessed wrong every other time.
        order[kept] = row
        spare[moved] = row
        kept += stays
        moved += not stays
    for i in range(moved):
        order[kept + i] = spare[i]
    return kept
