"""The compiled loop of the boosted trees: each tree grows where it gains most, on sums of gradients by bin.

A row's gradient, its curvature and the row itself are one whole number of 64 bits, so that a bin is summed by a single
addition: 27 bits for the gradient, 22 for the curvature and 15 for the count, each scaled so that all rows fit.
Only where to cut is decided by these rounded sums; what a leaf says is summed exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled
from aegis.learners.parting import parted


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
    chances_at: Any,
    slopes_at: Any,
    packed_at: Any,
    cells_at: Any,
    leaves_at: Any,
    best_at: Any,
    orders_at: Any,
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

    ``bins`` and ``tests`` hold a column of the table in each line. The bins of all columns are numbered through: those
    of column j from ``starts[j]`` up to ``starts[j + 1]``, ``places`` in all; a row's numbers lie side by side. A
    column is cut after a bin; where it is not ``ordered`` a bin may also be parted from all others. The other arrays
    are working memory.
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
        at(answers_at, (asked, outputs)),
        at(scores_at, (rows, outputs)),
        at(chances_at, (rows, outputs)),
        at(slopes_at, (2, rows)),
        at(packed_at, (rows,)),
        at(cells_at, (leaves, places)),
        at(leaves_at, (4, leaves)),
        at(best_at, (leaves, 4)),
        at(orders_at, (3, max(rows, asked))),
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
    scores: NDArray[np.float64],
    chances: NDArray[np.float64],
    slopes: NDArray[np.float64],
    packed: NDArray[np.int64],
    cells: NDArray[np.int64],
    places_of_leaves: NDArray[np.int64],
    best: NDArray[np.float64],
    orders: NDArray[np.uint32],
    classes: int,
    trees: int,
    least: int,
    rate: float,
    penalty: float,
) -> None:
    """The trees, one after the other."""
    rows = bins.shape[1]
    asked, outputs = answers.shape
    leaves = len(cells)
    begins, ends, asked_begins, asked_ends = (
        places_of_leaves[0],
        places_of_leaves[1],
        places_of_leaves[2],
        places_of_leaves[3],
    )
    gradient, curvature = slopes[0], slopes[1]
    order, asked_order, spare = orders[0], orders[1], orders[2]
    start_scores(answers, scores, labels, numbers, classes)
    for _ in range(trees):
        if classes > 2:
            to_chances(chances, scores)
        for output in range(outputs):
            scale = set_slopes(gradient, curvature, packed, scores, chances, labels, numbers, classes, output)
            # A penalty in the units of the rounded curvatures; gains keep their order under any scale.
            held = penalty * scale + 1e-9
            for i in range(rows):
                order[i] = i
            for i in range(asked):
                asked_order[i] = i
            begins[0], ends[0], asked_begins[0], asked_ends[0] = 0, rows, 0, asked
            gather(cells[0], places, packed, order[:rows])
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
                middle = begin + parted(order[begin:end], spare, bins[column], first, last)
                asking = asked_order[asked_begins[chosen] : asked_ends[chosen]]
                asked_middle = asked_begins[chosen] + parted(asking, spare, tests[column], first, last)
                begins[chosen], ends[chosen] = begin, middle
                begins[grown], ends[grown] = middle, end
                asked_begins[grown], asked_ends[grown] = asked_middle, asked_ends[chosen]
                asked_ends[chosen] = asked_middle
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
                find_cut(best[chosen], of_first, starts, ordered, least, held)
                find_cut(best[grown - 1], of_second, starts, ordered, least, held)
            for leaf in range(grown):
                slope_sum, curve_sum = 0.0, 0.0
                inside = order[begins[leaf] : ends[leaf]]
                for i in range(len(inside)):
                    slope_sum += gradient[inside[i]]
                    curve_sum += curvature[inside[i]]
                step = -rate * slope_sum / (curve_sum + penalty + 1e-12)
                for i in range(len(inside)):
                    scores[inside[i], output] += step
                asking = asked_order[asked_begins[leaf] : asked_ends[leaf]]
                for i in range(len(asking)):
                    answers[asking[i], output] += step


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
    for output in range(scores.shape[1]):
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
        for i in range(rows):
            scores[i, output] = start
        for i in range(len(answers)):
            answers[i, output] = start


@compiled
def to_chances(chances: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """The chances of many classes, given their scores."""
    outputs = scores.shape[1]
    for i in range(len(scores)):
        highest = scores[i, 0]
        for output in range(1, outputs):
            highest = max(highest, scores[i, output])
        total = 0.0
        for output in range(outputs):
            chances[i, output] = np.exp(scores[i, output] - highest)
            total += chances[i, output]
        for output in range(outputs):
            chances[i, output] /= total


@compiled
def set_slopes(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    packed: NDArray[np.int64],
    scores: NDArray[np.float64],
    chances: NDArray[np.float64],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
    output: int,
) -> float:
    """Each row's gradient and curvature, exact and packed; give the scale of the packed curvatures."""
    rows = len(labels)
    steepest, bent = 1e-300, 1e-300
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
        steepest = max(steepest, abs(gradient[i]))
        bent = max(bent, curvature[i])
    gradient_scale = (2.0**26 - 1.0) / (rows * steepest) - 0.5 / steepest
    curvature_scale = (2.0**22 - 1.0) / (rows * bent) - 0.5 / bent
    for i in range(rows):
        slope = np.int64(np.rint(gradient[i] * gradient_scale))
        curve = np.int64(np.rint(curvature[i] * curvature_scale))
        packed[i] = (slope << 37) + (curve << 15) + 1
    return curvature_scale


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
    # What both parts explain has to exceed this; fractions are compared crosswise, a division costs more than the rest.
    bar = before
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
                slope = float(part >> 37)
                rest = all_slope - slope
                curve = float((part >> 15) & 0x3FFFFF) + held
                curve_rest = all_curve + 2.0 * held - curve
                above, below = slope * slope * curve_rest + rest * rest * curve, curve * curve_rest
                if above > bar * below:
                    bar = above / below
                    best[1], best[3] = j, place - starts[j]
                    best[2] = best[3] if single else 0.0
    best[0] = bar - before
