"""The compiled loop of the boosted trees: each tree grows where it gains most, on sums of gradients by bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled
from aegis.learners.forest_loop import parted


@compiled
def boost(
    bins: NDArray[np.uint8],
    by_row: NDArray[np.uint8],
    sizes: NDArray[np.int64],
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

    ``bins`` and ``tests`` hold a column of the table in each line, ``by_row`` is ``bins`` turned around.
    """
    columns, rows = bins.shape
    asked = tests.shape[1]
    outputs = classes if classes > 2 else 1
    most = 1
    for column in range(columns):
        most = max(most, sizes[column])
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
    hessian = np.empty(rows)
    chances = np.empty((rows, outputs))
    order = np.empty(rows, np.int64)
    asked_order = np.empty(asked, np.int64)
    spare = np.empty(max(rows, asked), np.int64)
    cells = np.empty((leaves, columns, most, 3))
    begins = np.empty(leaves, np.int64)
    ends = np.empty(leaves, np.int64)
    asked_begins = np.empty(leaves, np.int64)
    asked_ends = np.empty(leaves, np.int64)
    best = np.empty((leaves, 3))  # gain, column, bin
    sums = np.empty((leaves, 2))  # of gradients and of hessians
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
            if classes == 0:
                for i in range(rows):
                    gradient[i] = scores[i, 0] - numbers[i]
                    hessian[i] = 1.0
            elif classes == 2:
                for i in range(rows):
                    chance = 1.0 / (1.0 + np.exp(-scores[i, 0]))
                    gradient[i] = chance - numbers[i]
                    hessian[i] = chance * (1.0 - chance)
            else:
                for i in range(rows):
                    chance = chances[i, output]
                    gradient[i] = chance - (1.0 if labels[i] == output else 0.0)
                    hessian[i] = chance * (1.0 - chance)
            for i in range(rows):
                order[i] = i
            for i in range(asked):
                asked_order[i] = i
            begins[0], ends[0], asked_begins[0], asked_ends[0] = 0, rows, 0, asked
            gather(cells[0], by_row, sizes, gradient, hessian, order, 0, rows)
            sums[0, 0], sums[0, 1] = gradient.sum(), hessian.sum()
            find_cut(best[0], cells[0], sizes, sums[0], rows, least, penalty)
            grown = 1
            while grown < leaves:
                chosen = 0
                for leaf in range(1, grown):
                    if best[leaf, 0] > best[chosen, 0]:
                        chosen = leaf
                if best[chosen, 0] <= 0.0:
                    break
                column, last = int(best[chosen, 1]), int(best[chosen, 2])
                begin, end = begins[chosen], ends[chosen]
                middle = parted(order, spare, bins[column], last, begin, end)
                asked_middle = parted(asked_order, spare, tests[column], last, asked_begins[chosen], asked_ends[chosen])
                small, large = (chosen, grown) if middle - begin <= end - middle else (grown, chosen)
                # The smaller part is summed; what is left of the whole is the larger part.
                if small == chosen:
                    cells[grown] = cells[chosen]
                    gather(cells[chosen], by_row, sizes, gradient, hessian, order, begin, middle)
                else:
                    gather(cells[grown], by_row, sizes, gradient, hessian, order, middle, end)
                for j in range(columns):
                    for b in range(sizes[j]):
                        for s in range(3):
                            cells[large, j, b, s] -= cells[small, j, b, s]
                begins[chosen], ends[chosen] = begin, middle
                begins[grown], ends[grown] = middle, end
                asked_begins[grown], asked_ends[grown] = asked_middle, asked_ends[chosen]
                asked_ends[chosen] = asked_middle
                grown += 1
                last_one = grown == leaves
                for leaf in (chosen, grown - 1):
                    sums[leaf, 0], sums[leaf, 1] = 0.0, 0.0
                    for b in range(sizes[0]):
                        sums[leaf, 0] += cells[leaf, 0, b, 0]
                        sums[leaf, 1] += cells[leaf, 0, b, 1]
                    if not last_one:
                        find_cut(best[leaf], cells[leaf], sizes, sums[leaf], ends[leaf] - begins[leaf], least, penalty)
            for leaf in range(grown):
                step = -rate * sums[leaf, 0] / (sums[leaf, 1] + penalty + 1e-12)
                for i in range(begins[leaf], ends[leaf]):
                    scores[order[i], output] += step
                for i in range(asked_begins[leaf], asked_ends[leaf]):
                    answers[asked_order[i], output] += step
    return answers


@compiled
def gather(
    cells: NDArray[np.float64],
    by_row: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    order: NDArray[np.int64],
    begin: int,
    end: int,
) -> None:
    """Sum gradients, hessians and rows by column and bin."""
    columns = by_row.shape[1]
    for j in range(columns):
        cells[j, : sizes[j]] = 0.0
    for i in range(begin, end):
        row = order[i]
        g, h = gradient[row], hessian[row]
        for j in range(columns):
            b = by_row[row, j]
            cells[j, b, 0] += g
            cells[j, b, 1] += h
            cells[j, b, 2] += 1.0


@compiled
def find_cut(
    best: NDArray[np.float64],
    cells: NDArray[np.float64],
    sizes: NDArray[np.int64],
    sums: NDArray[np.float64],
    rows: int,
    least: int,
    penalty: float,
) -> None:
    """The column and the bin after which a cut gains most; a gain of 0 where none is allowed."""
    best[0], best[1], best[2] = 0.0, -1.0, 0.0
    if rows < 2 * least:
        return
    whole = sums[0] * sums[0] / (sums[1] + penalty + 1e-12)
    for j in range(len(sizes)):
        g, h, n = 0.0, 0.0, 0.0
        for b in range(sizes[j] - 1):
            if cells[j, b, 2] < 0.5:
                continue
            g += cells[j, b, 0]
            h += cells[j, b, 1]
            n += cells[j, b, 2]
            if n < least:
                continue
            if rows - n < least:
                break
            other_g, other_h = sums[0] - g, sums[1] - h
            gain = g * g / (h + penalty + 1e-12) + other_g * other_g / (other_h + penalty + 1e-12) - whole
            if gain > best[0]:
                best[0], best[1], best[2] = gain, j, b
