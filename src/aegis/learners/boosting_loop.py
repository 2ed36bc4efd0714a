"""The compiled loop of the boosted trees: each tree grows where it gains most, on sums of gradients by bin.

A row's gradient, its curvature and the row itself are one whole number of 64 bits, so that a bin is summed by a single
addition: 27 bits for the gradient, 22 for the curvature and 15 for the count, each scaled so that all rows fit.
Only where to cut is decided by these rounded sums; what a leaf says is summed exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled
from aegis.learners.forest_loop import parted

MOST_ROWS = 2**15 - 1
"""Beyond this the count of rows would not fit into its bits."""


@compiled
def boost(
    bins: NDArray[np.uint8],
    places: NDArray[np.uint16],
    starts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
    tests: NDArray[np.uint8],
    trees: int,
    rate: float,
    leaves: int,
    least: int,
    penalty: float,
) -> NDArray[np.float64]:
    """Log-odds (two classes), a score for each class, or a number (``classes`` 0) for each test row.

    ``bins`` and ``tests`` hold a column of the table in each line. The bins of all columns are numbered through: those
    of column j from ``starts[j]`` up to ``starts[j + 1]``; ``places`` has a line per row with their numbers. A column
    is cut after a bin; where it is not ``ordered`` a bin may also be parted from all others.
    """
    columns, rows = bins.shape
    asked = tests.shape[1]
    outputs = classes if classes > 2 else 1
    scores = np.zeros((rows, outputs))
    answers = np.zeros((asked, outputs))
    for output in range(outputs):
        start = 0.0
        if classes == 0:
            start = numbers.mean()
        else:
            wanted = output if classes > 2 else 1
            share = 0.0
            for i in range(rows):
                share += labels[i] == wanted
            share = min(max(share / rows, 0.5 / rows), 1.0 - 0.5 / rows)
            start = np.log(share) if classes > 2 else np.log(share / (1.0 - share))
        scores[:, output] = start
        answers[:, output] = start
    gradient = np.empty(rows)
    curvature = np.empty(rows)
    packed = np.empty(rows, np.int64)
    chances = np.empty((rows, outputs))
    order = np.empty(rows, np.int32)
    asked_order = np.empty(asked, np.int32)
    spare = np.empty(max(rows, asked), np.int32)
    cells = np.empty((leaves, starts[columns]), np.int64)
    begins = np.empty(leaves, np.int64)
    ends = np.empty(leaves, np.int64)
    asked_begins = np.empty(leaves, np.int64)
    asked_ends = np.empty(leaves, np.int64)
    best = np.empty((leaves, 4))  # gain, column, first and last bin
    for _ in range(trees):
        if classes > 2:
            for i in range(rows):
                highest = scores[i, 0]
                for output in range(1, outputs):
                    highest = max(highest, scores[i, output])
                total = 0.0
                for output in range(outputs):
                    chances[i, output] = np.exp(scores[i, output] - highest)
                    total += chances[i, output]
                for output in range(outputs):
                    chances[i, output] /= total
        for output in range(outputs):
            for i in range(rows):
                if classes == 0:
                    gradient[i] = scores[i, 0] - numbers[i]
                    curvature[i] = 1.0
                elif classes == 2:
                    chance = 1.0 / (1.0 + np.exp(-scores[i, 0]))
                    gradient[i] = chance - numbers[i]
                    curvature[i] = chance * (1.0 - chance)
                else:
                    chance = chances[i, output]
                    gradient[i] = chance - (1.0 if labels[i] == output else 0.0)
                    curvature[i] = chance * (1.0 - chance)
            steepest, bent = 1e-300, 1e-300
            for i in range(rows):
                steepest = max(steepest, abs(gradient[i]))
                bent = max(bent, curvature[i])
            gradient_scale = (2.0**26 - 1.0) / (rows * steepest) - 0.5 / steepest
            curvature_scale = (2.0**22 - 1.0) / (rows * bent) - 0.5 / bent
            for i in range(rows):
                slope = np.int64(np.rint(gradient[i] * gradient_scale))
                curve = np.int64(np.rint(curvature[i] * curvature_scale))
                packed[i] = (slope << 37) + (curve << 15) + 1
            # A penalty in the units of the rounded curvatures; gains keep their order under any scale.
            held = penalty * curvature_scale + 1e-9
            for i in range(rows):
                order[i] = i
            for i in range(asked):
                asked_order[i] = i
            begins[0], ends[0], asked_begins[0], asked_ends[0] = 0, rows, 0, asked
            gather(cells[0], places, packed, order, 0, rows)
            find_cut(best[0], cells[0], starts, ordered, least, held)
            grown = 1
            while grown < leaves:
                chosen = 0
                for leaf in range(1, grown):
                    if best[leaf, 0] > best[chosen, 0]:
                        chosen = leaf
                if best[chosen, 0] <= 0.0:
                    break
                column, first, last = int(best[chosen, 1]), int(best[chosen, 2]), int(best[chosen, 3])
                begin, end = begins[chosen], ends[chosen]
                middle = parted(order, spare, bins[column], first, last, begin, end)
                asked_middle = parted(
                    asked_order, spare, tests[column], first, last, asked_begins[chosen], asked_ends[chosen]
                )
                begins[chosen], ends[chosen] = begin, middle
                begins[grown], ends[grown] = middle, end
                asked_begins[grown], asked_ends[grown] = asked_middle, asked_ends[chosen]
                asked_ends[chosen] = asked_middle
                grown += 1
                if grown == leaves:
                    break  # nothing will be cut any more, so nothing need be summed
                # The smaller part is summed; what is left of the whole is the larger part.
                if middle - begin <= end - middle:
                    gather(cells[grown - 1], places, packed, order, begin, middle)
                    for place in range(starts[columns]):
                        small = cells[grown - 1, place]
                        cells[grown - 1, place] = cells[chosen, place] - small
                        cells[chosen, place] = small
                else:
                    gather(cells[grown - 1], places, packed, order, middle, end)
                    for place in range(starts[columns]):
                        cells[chosen, place] -= cells[grown - 1, place]
                find_cut(best[chosen], cells[chosen], starts, ordered, least, held)
                find_cut(best[grown - 1], cells[grown - 1], starts, ordered, least, held)
            for leaf in range(grown):
                slope_sum, curve_sum = 0.0, 0.0
                for i in range(begins[leaf], ends[leaf]):
                    slope_sum += gradient[order[i]]
                    curve_sum += curvature[order[i]]
                step = -rate * slope_sum / (curve_sum + penalty + 1e-12)
                for i in range(begins[leaf], ends[leaf]):
                    scores[order[i], output] += step
                for i in range(asked_begins[leaf], asked_ends[leaf]):
                    answers[asked_order[i], output] += step
    return answers


@compiled
def gather(
    cells: NDArray[np.int64],
    places: NDArray[np.uint16],
    packed: NDArray[np.int64],
    order: NDArray[np.int32],
    begin: int,
    end: int,
) -> None:
    """Sum the rows by column and bin."""
    cells[:] = 0
    for i in range(begin, end):
        row = order[i]
        value = packed[row]
        for j in range(places.shape[1]):
            cells[places[row, j]] += value


@compiled
def find_cut(
    best: NDArray[np.float64],
    cells: NDArray[np.int64],
    starts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    least: int,
    held: float,
) -> None:
    """The column and the bins whose parting from the rest gains most; a gain of 0 where none is allowed."""
    best[0], best[1], best[2], best[3] = 0.0, -1.0, 0.0, 0.0
    whole = np.int64(0)
    for place in range(starts[0], starts[1]):
        whole += cells[place]
    all_rows = whole & 0x7FFF
    if all_rows < 2 * least:
        return
    all_slope, all_curve = float(whole >> 37), float((whole >> 15) & 0x3FFFFF)
    before = all_slope * all_slope / (all_curve + held)
    for j in range(len(starts) - 1):
        alone = not ordered[j] and starts[j + 1] - starts[j] > 2
        reached = np.int64(0)
        for place in range(starts[j], starts[j + 1]):
            here = cells[place]
            if here == 0:
                continue
            reached += here
            for single in range(2 if alone else 1):
                part = here if single else reached
                rows = part & 0x7FFF
                if rows < least or all_rows - rows < least:
                    continue
                slope, curve = float(part >> 37), float((part >> 15) & 0x3FFFFF)
                rest = all_slope - slope
                gain = slope * slope / (curve + held) + rest * rest / (all_curve - curve + held) - before
                if gain > best[0]:
                    best[0], best[1], best[3] = gain, j, place - starts[j]
                    best[2] = best[3] if single else 0.0
