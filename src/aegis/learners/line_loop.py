"""The compiled loop of the linear model: Newton steps, each solved by conjugate gradients on the codes themselves.

A row is a few scaled numbers and a few places of indicators, so that a product with the matrix of features costs one
addition per column, however many indicators there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import at, compiled


def fit_line(
    dense_at: Any,
    places_at: Any,
    labels_at: Any,
    numbers_at: Any,
    asked_dense_at: Any,
    asked_places_at: Any,
    answers_at: Any,
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

    There is one output for two classes (the chance of the second) and for numbers, else one per class. What is held by
    weight and by row is working memory.
    """
    outputs = classes if classes > 2 else 1
    by_weight = at(by_weight_at, (9, outputs, weights_each))
    by_row = at(by_row_at, (4, rows, outputs))
    dense, places = at(dense_at, (rows, scaled_numbers)), at(places_at, (rows, indicators))
    fit(
        dense,
        places,
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
    answers = at(answers_at, (asked, outputs))
    asked_dense, asked_places = at(asked_dense_at, (asked, scaled_numbers)), at(asked_places_at, (asked, indicators))
    product(answers, by_weight[0], asked_dense, asked_places)
    to_expected(answers, answers, classes)


@compiled
def product(
    out: NDArray[np.float64], weights: NDArray[np.float64], dense: NDArray[np.float64], places: NDArray[np.uint32]
) -> None:
    """The scores of all rows: ``weights`` holds a line per output, its intercept first, then numbers, then places."""
    rows, numbers = dense.shape
    indicators = places.shape[1]
    half = rows // 2
    late_dense, late_places, late_out = dense[half:], places[half:], out[half:]
    for output in range(weights.shape[0]):
        line = weights[output]
        slopes = line[1 : 1 + numbers]
        # Two rows at a time: each addition waits for the one before, and those of the other row fill the gaps.
        for i in range(half):
            total, other = line[0], line[0]
            for j in range(numbers):
                total += slopes[j] * dense[i, j]
                other += slopes[j] * late_dense[i, j]
            for j in range(indicators):
                total += line[places[i, j]]
                other += line[late_places[i, j]]
            out[i, output] = total
            late_out[i, output] = other
        if rows % 2:
            last = line[0]
            for j in range(numbers):
                last += slopes[j] * dense[rows - 1, j]
            for j in range(indicators):
                last += line[places[rows - 1, j]]
            out[rows - 1, output] = last


@compiled
def turned(
    out: NDArray[np.float64], residual: NDArray[np.float64], dense: NDArray[np.float64], places: NDArray[np.uint32]
) -> None:
    """The transposed product: a number per row and output to a number per weight."""
    rows, numbers = dense.shape
    indicators = places.shape[1]
    for output in range(out.shape[0]):
        line = out[output]
        for j in range(len(line)):
            line[j] = 0.0
        slopes = line[1 : 1 + numbers]
        intercept = 0.0
        for i in range(rows):
            r = residual[i, output]
            intercept += r
            for j in range(numbers):
                slopes[j] += r * dense[i, j]
            for j in range(indicators):
                line[places[i, j]] += r
        line[0] = intercept


@compiled
def to_expected(chances: NDArray[np.float64], scores: NDArray[np.float64], classes: int) -> None:
    """What the scores stand for: chances, or the numbers themselves; both may be one array."""
    for i in range(len(scores)):
        if classes == 0:
            chances[i, 0] = scores[i, 0]
        elif classes == 2:
            s = scores[i, 0]
            e = np.exp(-abs(s))
            chances[i, 0] = 1.0 / (1.0 + e) if s >= 0 else e / (1.0 + e)
        else:
            highest = scores[i, 0]
            for k in range(1, classes):
                highest = max(highest, scores[i, k])
            total = 0.0
            for k in range(classes):
                chances[i, k] = np.exp(scores[i, k] - highest)
                total += chances[i, k]
            for k in range(classes):
                chances[i, k] /= total


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
    for i in range(len(scores)):
        if classes == 0:
            loss += 0.5 * (scores[i, 0] - numbers[i]) ** 2
        elif classes == 2:
            right = chances[i, 0] if numbers[i] > 0.5 else 1.0 - chances[i, 0]
            loss -= np.log(max(right, 1e-300))
        else:
            loss -= np.log(max(chances[i, labels[i]], 1e-300))
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
    scores, chances, residual, moved = by_row[0], by_row[1], by_row[2], by_row[3]
    rows = len(dense)
    outputs, weights_each = weights.shape
    set_intercepts(weights, labels, numbers, classes)
    product(scores, weights, dense, places)
    to_expected(chances, scores, classes)
    loss = loss_of(chances, scores, labels, numbers, classes)
    first_norm = 0.0
    for taken in range(most_steps):
        for i in range(rows):
            for k in range(outputs):
                if classes > 2:
                    residual[i, k] = chances[i, k] - (1.0 if labels[i] == k else 0.0)
                else:
                    residual[i, k] = chances[i, k] - numbers[i]
        turned(gradient, residual, dense, places)
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
        set_diagonal(diagonal, chances, dense, places, classes, penalty)
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
            product(moved, direction, dense, places)
            for i in range(rows):
                if classes == 2:
                    moved[i, 0] *= chances[i, 0] * (1.0 - chances[i, 0])
                elif classes > 2:
                    mean = 0.0
                    for k in range(outputs):
                        mean += chances[i, k] * moved[i, k]
                    for k in range(outputs):
                        moved[i, k] = chances[i, k] * (moved[i, k] - mean)
            turned(curved, moved, dense, places)
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
            product(scores, trial, dense, places)
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


@compiled
def set_diagonal(
    diagonal: NDArray[np.float64],
    chances: NDArray[np.float64],
    dense: NDArray[np.float64],
    places: NDArray[np.uint32],
    classes: int,
    penalty: float,
) -> None:
    """The diagonal of the curvature, which scales the search."""
    outputs, weights_each = diagonal.shape
    for k in range(outputs):
        diagonal[k, 0] = 1e-9
        for j in range(1, weights_each):
            diagonal[k, j] = penalty
    for i in range(len(dense)):
        for k in range(outputs):
            c = chances[i, k]
            curve = 1.0 if classes == 0 else c * (1.0 - c)
            diagonal[k, 0] += curve
            for j in range(dense.shape[1]):
                diagonal[k, 1 + j] += curve * dense[i, j] * dense[i, j]
            for j in range(places.shape[1]):
                diagonal[k, places[i, j]] += curve
