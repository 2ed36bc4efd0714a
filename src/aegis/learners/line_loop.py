"""The compiled loop of the linear model: Newton steps, each solved by conjugate gradients on the codes themselves.

A row is a few scaled numbers and a few indicators, so that a product with the matrix of features costs one addition per
column, however many indicators there are. Loops run along the rows, a few columns at a time: the compiler makes them
work on several numbers at once, and an addition need not wait for the one before. Every sum is in the order of the
columns or of the rows, whatever is done side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled


def fit_line(
    dense_at: Any,
    levels_at: Any,
    labels_at: Any,
    numbers_at: Any,
    asked_dense_at: Any,
    asked_levels_at: Any,
    answers_at: Any,
    starts_at: Any,
    places_at: Any,
    by_weight_at: Any,
    by_row_at: Any,
    rows: int,
    asked: int,
    scaled_numbers: int,
    indicators: int,
    weights_each: int,
    classes: int,
    most_steps: int,
    most_inner: int,
    penalty: float,
    tolerance: float,
) -> None:
    """Learn from the rows and write what is expected of each test row to answers: chances, or numbers.

    ``dense`` and ``levels`` hold a column in each line, answers an output: one for two classes (the chance of the
    second) and for numbers, else one per class. The levels of a column have their places among the weights from its
    ``starts`` on. What follows these is working memory.
    """
    outputs = classes if classes > 2 else 1
    by_weight = at(by_weight_at, (9, outputs, weights_each))
    by_row = at(by_row_at, (5, outputs, rows))
    starts = at(starts_at, (indicators,))
    fit(
        at(dense_at, (scaled_numbers, rows)),
        at(levels_at, (indicators, rows)),
        starts,
        at(places_at, (rows, indicators)),
        at(labels_at, (rows,)),
        at(numbers_at, (rows,)),
        by_weight,
        by_row,
        classes,
        penalty,
        most_steps,
        most_inner,
        tolerance,
    )
    answers = at(answers_at, (outputs, asked))
    asked_dense, asked_levels = at(asked_dense_at, (scaled_numbers, asked)), at(asked_levels_at, (indicators, asked))
    product(answers, by_weight[0], asked_dense, asked_levels, starts)
    to_expected(answers, answers, classes)


@compiled
def product(
    out: NDArray[np.float64],
    weights: NDArray[np.float64],
    dense: NDArray[np.float64],
    levels: NDArray[np.uint8],
    starts: NDArray[np.int64],
) -> None:
    """The scores of all rows: ``weights`` holds a line per output, its intercept first, then numbers, then levels."""
    columns, indicators = len(dense), len(levels)
    for output in range(len(weights)):
        line, scores = weights[output], out[output]
        for i in range(len(scores)):
            scores[i] = line[0]
        j = 0
        while j + 2 <= columns:
            one, two = line[1 + j], line[2 + j]
            for i in range(len(scores)):
                scores[i] = scores[i] + one * dense[j, i] + two * dense[j + 1, i]
            j += 2
        if j < columns:
            one = line[1 + j]
            for i in range(len(scores)):
                scores[i] += one * dense[j, i]
        j = 0
        while j + 4 <= indicators:
            first, second, third, fourth = levels[j], levels[j + 1], levels[j + 2], levels[j + 3]
            of_first, of_second = line[starts[j] :], line[starts[j + 1] :]
            of_third, of_fourth = line[starts[j + 2] :], line[starts[j + 3] :]
            for i in range(len(scores)):
                some = scores[i] + of_first[first[i]] + of_second[second[i]]
                scores[i] = some + of_third[third[i]] + of_fourth[fourth[i]]
            j += 4
        while j < indicators:
            first, of_first = levels[j], line[starts[j] :]
            for i in range(len(scores)):
                scores[i] += of_first[first[i]]
            j += 1


@compiled
def turned(
    out: NDArray[np.float64],
    by_row: NDArray[np.float64],
    dense: NDArray[np.float64],
    places: NDArray[np.uint32],
    free: float,
    held: float,
    squared: bool,
) -> None:
    """The transposed product: a number per row and output to a number per weight; with the squares of the features
    where they are ``squared``. The sum of the intercept begins with ``free``, the others with ``held``."""
    columns, by_fours = len(dense), places.shape[1] // 4 * 4
    for output in range(len(out)):
        line, given = out[output], by_row[output]
        for j in range(len(line)):
            line[j] = held
        intercept = free
        for i in range(len(given)):
            r = given[i]
            intercept += r
            for j in range(0, by_fours, 4):
                line[places[i, j]] += r
                line[places[i, j + 1]] += r
                line[places[i, j + 2]] += r
                line[places[i, j + 3]] += r
            for j in range(by_fours, places.shape[1]):
                line[places[i, j]] += r
        line[0] = intercept
        for j in range(0, columns, 4):
            # Four sums side by side; what lies beyond the last column is summed once more and left out.
            one, two = dense[j], dense[min(j + 1, columns - 1)]
            three, four = dense[min(j + 2, columns - 1)], dense[min(j + 3, columns - 1)]
            a = b = c = d = held
            if squared:
                for i in range(len(given)):
                    a += given[i] * one[i] * one[i]
                    b += given[i] * two[i] * two[i]
                    c += given[i] * three[i] * three[i]
                    d += given[i] * four[i] * four[i]
            else:
                for i in range(len(given)):
                    a += given[i] * one[i]
                    b += given[i] * two[i]
                    c += given[i] * three[i]
                    d += given[i] * four[i]
            line[1 + j] = a
            if j + 1 < columns:
                line[2 + j] = b
            if j + 2 < columns:
                line[3 + j] = c
            if j + 3 < columns:
                line[4 + j] = d


@compiled
def to_expected(chances: NDArray[np.float64], scores: NDArray[np.float64], classes: int) -> None:
    """What the scores stand for: chances, or the numbers themselves; both may be one array."""
    for i in range(scores.shape[1]):
        if classes == 0:
            chances[0, i] = scores[0, i]
        elif classes == 2:
            s = scores[0, i]
            e = np.exp(-abs(s))
            chances[0, i] = 1.0 / (1.0 + e) if s >= 0 else e / (1.0 + e)
        else:
            highest = scores[0, i]
            for k in range(1, classes):
                highest = max(highest, scores[k, i])
            total = 0.0
            for k in range(classes):
                chances[k, i] = np.exp(scores[k, i] - highest)
                total += chances[k, i]
            for k in range(classes):
                chances[k, i] /= total


@compiled
def loss_of(
    chances: NDArray[np.float64],
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
) -> float:
    """The sum of the rows' losses: squares, or what the chance of the right class leaves in doubt."""
    loss = 0.0
    for i in range(scores.shape[1]):
        if classes == 0:
            loss += 0.5 * (scores[0, i] - numbers[i]) ** 2
        elif classes == 2:
            right = chances[0, i] if numbers[i] > 0.5 else 1.0 - chances[0, i]
            loss -= np.log(max(right, 1e-300))
        else:
            loss -= np.log(max(chances[labels[i], i], 1e-300))
    return loss


@compiled
def squares(weights: NDArray[np.float64]) -> float:
    """The sum of the squares of the weights that are held back: all but the intercepts."""
    total = 0.0
    for k in range(weights.shape[0]):
        for j in range(1, weights.shape[1]):
            total += weights[k, j] * weights[k, j]
    return total


@compiled
def fit(
    dense: NDArray[np.float64],
    levels: NDArray[np.uint8],
    starts: NDArray[np.int64],
    places: NDArray[np.uint32],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    by_weight: NDArray[np.float64],
    by_row: NDArray[np.float64],
    classes: int,
    penalty: float,
    most_steps: int,
    most_inner: int,
    tolerance: float,
) -> None:
    """The weights, a line per output, are left in the first of ``by_weight``."""
    weights, trial, gradient = by_weight[0], by_weight[1], by_weight[2]
    step, remaining, scaled = by_weight[3], by_weight[4], by_weight[5]
    direction, curved, diagonal = by_weight[6], by_weight[7], by_weight[8]
    scores, chances, residual, moved, curve = by_row[0], by_row[1], by_row[2], by_row[3], by_row[4]
    rows = len(labels)
    outputs, weights_each = weights.shape
    for j in range(len(levels)):
        for i in range(rows):
            places[i, j] = starts[j] + levels[j, i]
    set_intercepts(weights, labels, numbers, classes)
    product(scores, weights, dense, levels, starts)
    to_expected(chances, scores, classes)
    loss = loss_of(chances, scores, labels, numbers, classes)
    first_norm = 0.0
    for taken in range(most_steps):
        for k in range(outputs):
            for i in range(rows):
                wanted = (1.0 if labels[i] == k else 0.0) if classes > 2 else numbers[i]
                residual[k, i] = chances[k, i] - wanted
                curve[k, i] = chances[k, i] * (1.0 - chances[k, i]) if classes > 0 else 1.0
        turned(gradient, residual, dense, places, 0.0, 0.0, False)
        norm = 0.0
        for k in range(outputs):
            for j in range(weights_each):
                if j > 0:
                    gradient[k, j] += penalty * weights[k, j]
                norm += gradient[k, j] * gradient[k, j]
        norm = np.sqrt(norm)
        if taken == 0:
            first_norm = norm
        if norm <= tolerance * max(first_norm, 1e-12):
            break
        turned(diagonal, curve, dense, places, 1e-9, penalty, True)  # of the curvature: it scales the search
        inner = 0.0
        for k in range(outputs):
            for j in range(weights_each):
                step[k, j] = 0.0
                remaining[k, j] = -gradient[k, j]
                scaled[k, j] = remaining[k, j] / diagonal[k, j]
                direction[k, j] = scaled[k, j]
                inner += remaining[k, j] * scaled[k, j]
        first_inner = inner
        for _ in range(most_inner):
            product(moved, direction, dense, levels, starts)
            bend(moved, chances, curve, classes)
            turned(curved, moved, dense, places, 0.0, 0.0, False)
            along = 0.0
            for k in range(outputs):
                for j in range(weights_each):
                    if j > 0:
                        curved[k, j] += penalty * direction[k, j]
                    along += direction[k, j] * curved[k, j]
            if along <= 1e-300:
                break
            length = inner / along
            after = 0.0
            for k in range(outputs):
                for j in range(weights_each):
                    step[k, j] += length * direction[k, j]
                    remaining[k, j] -= length * curved[k, j]
                    scaled[k, j] = remaining[k, j] / diagonal[k, j]
                    after += remaining[k, j] * scaled[k, j]
            if after <= 0.01 * first_inner * (1.0 if classes > 0 else 1e-6):
                break
            for k in range(outputs):
                for j in range(weights_each):
                    direction[k, j] = scaled[k, j] + after / inner * direction[k, j]
            inner = after
        size = 1.0
        penalised = loss + 0.5 * penalty * squares(weights)
        improved = False
        for _ in range(12):
            for k in range(outputs):
                for j in range(weights_each):
                    trial[k, j] = weights[k, j] + size * step[k, j]
            product(scores, trial, dense, levels, starts)
            to_expected(chances, scores, classes)
            loss = loss_of(chances, scores, labels, numbers, classes)
            if loss + 0.5 * penalty * squares(trial) <= penalised + 1e-12:
                improved = True
                break
            size *= 0.5
        if not improved:
            break
        for k in range(outputs):
            for j in range(weights_each):
                weights[k, j] = trial[k, j]


@compiled
def bend(moved: NDArray[np.float64], chances: NDArray[np.float64], curve: NDArray[np.float64], classes: int) -> None:
    """How the chances move when the scores do."""
    outputs, rows = moved.shape
    if classes == 2:
        for i in range(rows):
            moved[0, i] *= curve[0, i]
    elif classes > 2:
        for i in range(rows):
            mean = 0.0
            for k in range(outputs):
                mean += chances[k, i] * moved[k, i]
            for k in range(outputs):
                moved[k, i] = chances[k, i] * (moved[k, i] - mean)


@compiled
def set_intercepts(
    weights: NDArray[np.float64], labels: NDArray[np.int64], numbers: NDArray[np.float64], classes: int
) -> None:
    """Where the steps begin: nothing but what the shares of the classes, or the mean, say."""
    rows = len(labels)
    for k in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[k, j] = 0.0
    if classes > 2:
        for i in range(rows):
            weights[labels[i], 0] += 1.0
        for k in range(classes):
            weights[k, 0] = np.log(max(weights[k, 0], 0.5) / rows)
        return
    mean = 0.0
    for i in range(rows):
        mean += numbers[i]
    mean /= rows
    if classes == 2:
        share = min(max(mean, 0.5 / rows), 1.0 - 0.5 / rows)
        mean = np.log(share / (1.0 - share))
    weights[0, 0] = mean
