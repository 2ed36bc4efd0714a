"""The compiled loop of the boosted trees: each tree grows where it gains most, on sums of gradients by bin.

A row's gradient, its curvature and the row itself are one whole number of 64 bits, so that a bin is summed by a single
addition: 27 bits for the gradient, 22 for the curvature and 15 for the count, each scaled so that all rows fit.
Only where to cut is decided by these rounded sums; what a leaf says is summed exactly.

Loops over all rows, or over all bins of a column, are written without branches: the compiler makes them work on several
numbers at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.boosting_cuts import find_cut
from aegis.learners.compiled import at, compiled
from aegis.learners.parting import parted

TO_WHOLE = 6755399441055744.0
"""Added to a number and taken away again, it rounds it: 1.5 · 2⁵², beyond which there are no fractions."""


def boost(
    bins_at: Any,
    places_at: Any,
    starts_at: Any,
    ordered_at: Any,
    labels_at: Any,
    numbers_at: Any,
    tests_at: Any,
    answers_at: Any,
    scores_at: Any,
    slopes_at: Any,
    packed_at: Any,
    cells_at: Any,
    leaves_at: Any,
    best_at: Any,
    steps_at: Any,
    orders_at: Any,
    fallen_at: Any,
    columns: int,
    rows: int,
    asked: int,
    places: int,
    classes: int,
    trees: int,
    leaves: int,
    least: int,
    rate: float,
    penalty: float,
) -> None:
    """Write log-odds (two classes), a score for each class, or a number (``classes`` 0) for each test row to answers.

    ``bins`` and ``tests`` hold a column of the table in each line, answers an output. The bins of all columns are
    numbered through: those of column j from ``starts[j]`` up to ``starts[j + 1]``, ``places`` in all. A column is cut
    after a bin; where it is not ``ordered`` a bin may also be parted from all others. ``places`` of the rows and the
    arrays after ``answers`` are working memory.
    """
    outputs = classes if classes > 2 else 1
    grow(
        at(bins_at, (columns, rows)),
        at(places_at, (rows, columns)),
        at(starts_at, (columns + 1,)),
        at(ordered_at, (columns,)),
        at(labels_at, (rows,)),
        at(numbers_at, (rows,)),
        at(tests_at, (columns, asked)),
        at(answers_at, (outputs, asked)),
        at(scores_at, (2, outputs, rows)),
        at(slopes_at, (2, rows)),
        at(packed_at, (rows,)),
        at(cells_at, (leaves + 1, places)),
        at(leaves_at, (2, leaves)),
        at(best_at, (leaves, 4)),
        at(steps_at, (leaves,)),
        at(orders_at, (2, rows)),
        at(fallen_at, (asked,)),
        classes,
        trees,
        least,
        rate,
        penalty,
    )


@compiled
def grow(
    bins: NDArray[np.uint8],
    places: NDArray[np.uint32],
    starts: NDArray[np.int64],
    ordered: NDArray[np.bool_],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    tests: NDArray[np.uint8],
    answers: NDArray[np.float64],
    both_scores: NDArray[np.float64],
    slopes: NDArray[np.float64],
    packed: NDArray[np.int64],
    all_cells: NDArray[np.int64],
    places_of_leaves: NDArray[np.int64],
    best: NDArray[np.float64],
    steps: NDArray[np.float64],
    orders: NDArray[np.uint32],
    fallen: NDArray[np.uint8],
    classes: int,
    trees: int,
    least: int,
    rate: float,
    penalty: float,
) -> None:
    """The trees, one after the other; a test row that has ``fallen`` stands in the leaf of that number."""
    rows, asked, leaves = bins.shape[1], len(fallen), len(steps)
    cells, sums = all_cells[:leaves], all_cells[leaves]
    scores, chances = both_scores[0], both_scores[1]
    begins, ends = places_of_leaves[0], places_of_leaves[1]
    gradient, curvature = slopes[0], slopes[1]
    order, spare = orders[0], orders[1]
    set_places(places, bins, starts)
    start_scores(answers, scores, labels, numbers, classes)
    for _ in range(trees):
        if classes > 2:
            to_chances(chances, scores)
        for output in range(len(scores)):
            set_slopes(gradient, curvature, scores[output], chances[output], labels, numbers, classes, output)
            scale = pack(packed, gradient, curvature)
            # A penalty in the units of the rounded curvatures; gains keep their order under any scale.
            held = penalty * scale + 1e-9
            for i in range(rows):
                order[i] = i
            for i in range(asked):
                fallen[i] = 0
            begins[0], ends[0] = 0, rows
            gather(cells[0], places, packed, order)
            find_cut(best[0], cells[0], sums, starts, ordered, least, held)
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
                middle = begin + parted(order[begin:end], spare, bins[column], first, last)
                let_fall(fallen, tests[column], first, last, chosen, grown)
                begins[chosen], ends[chosen] = begin, middle
                begins[grown], ends[grown] = middle, end
                grown += 1
                if grown == leaves:
                    break  # nothing will be cut any more, so nothing need be summed
                of_first, of_second = cells[chosen], cells[grown - 1]
                # The smaller part is summed; what is left of the whole is the larger part.
                if middle - begin <= end - middle:
                    gather(of_second, places, packed, order[begin:middle])
                    for place in range(len(of_first)):
                        here = of_second[place]
                        of_second[place] = of_first[place] - here
                        of_first[place] = here
                else:
                    gather(of_second, places, packed, order[middle:end])
                    for place in range(len(of_first)):
                        of_first[place] -= of_second[place]
                find_cut(best[chosen], of_first, sums, starts, ordered, least, held)
                find_cut(best[grown - 1], of_second, sums, starts, ordered, least, held)
            for leaf in range(grown):
                slope_sum, curve_sum = 0.0, 0.0
                inside = order[begins[leaf] : ends[leaf]]
                for i in range(len(inside)):
                    slope_sum += gradient[inside[i]]
                    curve_sum += curvature[inside[i]]
                steps[leaf] = -rate * slope_sum / (curve_sum + penalty + 1e-12)
                move(scores[output], inside, steps[leaf], classes)
            answer = answers[output]
            for i in range(asked):
                answer[i] += steps[fallen[i]]


@compiled
def set_places(places: NDArray[np.uint32], bins: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
    """The bins of all columns numbered through, those of a row side by side."""
    for j in range(len(bins)):
        start = starts[j]
        for i in range(bins.shape[1]):
            places[i, j] = start + bins[j, i]


@compiled
def start_scores(
    answers: NDArray[np.float64],
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
) -> None:
    """What is said before any tree has grown: the share of each class, or the mean."""
    rows = len(labels)
    for output in range(len(scores)):
        start = 0.0
        if classes == 0:
            for i in range(rows):
                start += numbers[i]
            start /= rows
        else:
            wanted = output if classes > 2 else 1
            share = 0.0
            for i in range(rows):
                share += labels[i] == wanted
            share = min(max(share / rows, 0.5 / rows), 1.0 - 0.5 / rows)
            start = np.log(share) if classes > 2 else np.log(share / (1.0 - share))
        kept = np.exp(-start) if classes == 2 else start
        for i in range(rows):
            scores[output, i] = kept
        for i in range(answers.shape[1]):
            answers[output, i] = start


@compiled
def move(scores: NDArray[np.float64], rows: NDArray[np.uint32], step: float, classes: int) -> None:
    """Add a step to the scores of some rows. For two classes these are held as odds against the second, which a step
    multiplies: one exponential a leaf instead of one a row."""
    if classes == 2:
        times = np.exp(-step)
        for i in range(len(rows)):
            scores[rows[i]] *= times
    else:
        for i in range(len(rows)):
            scores[rows[i]] += step


@compiled
def let_fall(fallen: NDArray[np.uint8], line: NDArray[np.uint8], first: int, last: int, leaf: int, others: int) -> None:
    """Of the rows in a leaf, those whose bin does not lie from ``first`` to ``last`` fall into that of the others."""
    lowest, width = np.uint8(first), np.uint8(last - first)
    here, there = np.uint8(leaf), np.uint8(others)
    for i in range(len(fallen)):
        falls = (fallen[i] == here) & (np.uint8(line[i] - lowest) > width)
        fallen[i] = there if falls else fallen[i]


@compiled
def to_chances(chances: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """The chances of many classes, given their scores."""
    outputs, rows = scores.shape
    for i in range(rows):
        highest = scores[0, i]
        for output in range(1, outputs):
            highest = max(highest, scores[output, i])
        total = 0.0
        for output in range(outputs):
            chances[output, i] = np.exp(scores[output, i] - highest)
            total += chances[output, i]
        for output in range(outputs):
            chances[output, i] /= total


@compiled
def set_slopes(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    scores: NDArray[np.float64],
    chances: NDArray[np.float64],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
    output: int,
) -> None:
    """Each row's gradient and curvature."""
    if classes == 0:
        for i in range(len(scores)):
            gradient[i] = scores[i] - numbers[i]
            curvature[i] = 1.0
    elif classes == 2:
        for i in range(len(scores)):
            chance = 1.0 / (1.0 + scores[i])
            gradient[i] = chance - numbers[i]
            curvature[i] = chance * (1.0 - chance)
    else:
        for i in range(len(scores)):
            chance = chances[i]
            gradient[i] = chance - (1.0 if labels[i] == output else 0.0)
            curvature[i] = chance * (1.0 - chance)


@compiled
def pack(packed: NDArray[np.int64], gradient: NDArray[np.float64], curvature: NDArray[np.float64]) -> float:
    """Gradient, curvature and the row itself as one whole number; give the scale of the packed curvatures."""
    rows = len(packed)
    steepest, bent = highest(gradient), highest(curvature)
    gradient_scale = (2.0**26 - 1.0) / (rows * steepest) - 0.5 / steepest
    curvature_scale = (2.0**22 - 1.0) / (rows * bent) - 0.5 / bent
    for i in range(rows):
        slope = np.int64(np.int32((gradient[i] * gradient_scale + TO_WHOLE) - TO_WHOLE))
        curve = np.int64(np.int32((curvature[i] * curvature_scale + TO_WHOLE) - TO_WHOLE))
        packed[i] = (slope << 37) + (curve << 15) + 1
    return curvature_scale


@compiled
def highest(numbers: NDArray[np.float64]) -> float:
    """The largest without their signs; four at a time, or each would wait for the one before."""
    quarter = len(numbers) // 4
    second, third, fourth = numbers[quarter:], numbers[2 * quarter :], numbers[3 * quarter :]
    a = b = c = d = 1e-300
    for i in range(quarter):
        a, b = max(a, abs(numbers[i])), max(b, abs(second[i]))
        c, d = max(c, abs(third[i])), max(d, abs(fourth[i]))
    for i in range(4 * quarter, len(numbers)):
        a = max(a, abs(numbers[i]))
    return max(max(a, b), max(c, d))


@compiled
def gather(
    cells: NDArray[np.int64],
    places: NDArray[np.uint32],
    packed: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Sum the rows by column and bin."""
    for place in range(len(cells)):
        cells[place] = 0
    for i in range(len(rows)):
        row = rows[i]
        value = packed[row]
        for j in range(places.shape[1]):
            cells[places[row, j]] += value
