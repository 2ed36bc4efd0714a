"""The compiled step of the forest that finds the best cut of one column in a node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


@compiled
def cut_of_two(
    all_counts: NDArray[np.int32],
    pairs: NDArray[np.int64],
    line: NDArray[np.uint16],
    rows: NDArray[np.uint32],
    bins: int,
    second: float,
    least: int,
    alone: bool,
) -> tuple[float, Any, Any, float, float]:
    """The best cut of one column for two classes: what it gains, its first and last bin, and how many rows lie in
    these, in all and of the ``second`` class; −1 where there is none.

    Rows are counted four times, every fourth in each: rows that follow one another often have the same code, and would
    wait for one another's count. Bins that hold rows are put side by side, without a branch: whether one does would be
    guessed wrong as often as not. Fractions are compared crosswise: a division costs more than the rest.
    """
    counts, of_second, of_third, of_fourth = all_counts[0], all_counts[1], all_counts[2], all_counts[3]
    quarter = len(rows) // 4
    second_rows, third_rows, fourth_rows = rows[quarter:], rows[2 * quarter :], rows[3 * quarter :]
    for i in range(quarter):
        counts[line[rows[i]]] += 1
        of_second[line[second_rows[i]]] += 1
        of_third[line[third_rows[i]]] += 1
        of_fourth[line[fourth_rows[i]]] += 1
    for i in range(quarter, len(fourth_rows)):
        counts[line[fourth_rows[i]]] += 1
    together, held, places = pairs[0], pairs[1], pairs[2]
    for b in range(bins):
        together[b] += pairs[1, b] + pairs[2, b] + pairs[3, b]
        pairs[1, b] = 0
        pairs[2, b] = 0
        pairs[3, b] = 0
    filled: Any = np.uint64(0)
    for b in range(np.uint64(bins)):
        here = together[b]
        together[b] = 0
        held[filled] = here
        places[filled] = b
        filled += np.uint64(here != 0)
    best, best_part, best_second = -1.0, 0.0, 0.0
    none: Any = np.uint64(0)
    best_first, best_last = none, none
    count, reached = len(rows), np.int64(0)
    all_rows = float(count)
    for e in range(filled):
        here, place = held[e], np.uint64(places[e])
        reached += here
        for single in range(2 if alone else 1):
            both = here if single else reached
            seconds = both >> 32
            firsts = both - (seconds << 32)
            inside = firsts + seconds
            if inside < least or count - inside < least:
                continue
            part, part_first, part_second = float(inside), float(firsts), float(seconds)
            rest = all_rows - part
            rest_second = second - part_second
            rest_first = rest - rest_second
            above = (part_first * part_first + part_second * part_second) * rest + (
                rest_first * rest_first + rest_second * rest_second
            ) * part
            if above > best * (part * rest):
                best = above / (part * rest)
                best_first, best_last = (place if single else none), place
                best_part, best_second = part, part_second
    for e in range(min(filled + np.uint64(1), np.uint64(bins))):
        held[e] = 0
        places[e] = 0
    return best, np.int64(best_first), np.int64(best_last), best_part, best_second


@compiled
def cut_of_many(
    all_counts: NDArray[np.int32],
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
    counts = all_counts[0]  # numbers are summed beside: more arrays of counts would gain little
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
