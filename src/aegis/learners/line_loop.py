"""The compiled loop of the linear model: Newton steps, each solved by conjugate gradients on the codes themselves.

A row is a few scaled numbers and a few places of indicators, so that a product with the matrix of features costs one
addition per column, however many indicators there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.learners.compiled import compiled


@compiled
def product(
    out: NDArray[np.float64], weights: NDArray[np.float64], dense: NDArray[np.float64], places: NDArray[np.int64]
) -> None:
    """The scores of all rows: ``weights`` holds a line per output, its intercept first, then numbers, then places."""
    rows, numbers = dense.shape
    indicators = places.shape[1]
    for output in range(weights.shape[0]):
        line = weights[output]
        for i in range(rows):
            total = line[0]
            for j in range(numbers):
                total += line[1 + j] * dense[i, j]
            for j in range(indicators):
                total += line[places[i, j]]
            out[i, output] = total


@compiled
def turned(
    out: NDArray[np.float64], residual: NDArray[np.float64], dense: NDArray[np.float64], places: NDArray[np.int64]
) -> None:
    """The transposed product: a number per row and output to a number per weight."""
    rows, numbers = dense.shape
    indicators = places.shape[1]
    out[:] = 0.0
    for output in range(out.shape[0]):
        line = out[output]
        for i in range(rows):
            r = residual[i, output]
            line[0] += r
            for j in range(numbers):
                line[1 + j] += r * dense[i, j]
            for j in range(indicators):
                line[places[i, j]] += r


@compiled
def expected(
    chances: NDArray[np.float64],
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
) -> float:
    """Write what the scores stand for to ``chances``, and give the loss."""
    loss = 0.0
    for i in range(len(scores)):
        if classes == 0:
            chances[i, 0] = scores[i, 0]
            loss += 0.5 * (scores[i, 0] - numbers[i]) ** 2
        elif classes == 2:
            s = scores[i, 0]
            e = np.exp(-abs(s))
            chances[i, 0] = 1.0 / (1.0 + e) if s >= 0 else e / (1.0 + e)
            loss += np.log1p(e) + (max(s, 0.0) - numbers[i] * s)
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
            loss += highest + np.log(total) - scores[i, labels[i]]
    return loss


@compiled
def fit_line(
    dense: NDArray[np.float64],
    places: NDArray[np.int64],
    weights_each: int,
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    classes: int,
    penalty: float,
    most_steps: int,
    most_inner: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """The weights, a line per output: one for two classes and for numbers, else one per class."""
    rows = len(dense)
    outputs = classes if classes > 2 else 1
    shape = (outputs, weights_each)
    weights = np.zeros(shape)
    scores = np.zeros((rows, outputs))
    chances = np.zeros((rows, outputs))
    residual = np.zeros((rows, outputs))
    gradient = np.zeros(shape)
    step, remaining, scaled, direction, curved = (
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
    )
    diagonal = np.zeros(shape)
    moved = np.zeros((rows, outputs))
    if classes == 0:
        weights[0, 0] = numbers.mean()
    elif classes == 2:
        share = min(max(numbers.mean(), 0.5 / rows), 1.0 - 0.5 / rows)
        weights[0, 0] = np.log(share / (1.0 - share))
    else:
        for i in range(rows):
            weights[labels[i], 0] += 1.0
        for k in range(classes):
            weights[k, 0] = np.log(max(weights[k, 0], 0.5) / rows)
    product(scores, weights, dense, places)
    loss = expected(chances, scores, labels, numbers, classes)
    first_norm = 0.0
    for taken in range(most_steps):
        for i in range(rows):
            for k in range(outputs):
                if classes > 2:
                    residual[i, k] = chances[i, k] - (1.0 if labels[i] == k else 0.0)
                else:
                    residual[i, k] = chances[i, k] - numbers[i]
        turned(gradient, residual, dense, places)
        for k in range(outputs):
            for j in range(1, weights_each):
                gradient[k, j] += penalty * weights[k, j]
        norm = np.sqrt((gradient * gradient).sum())
        if taken == 0:
            first_norm = norm
        if norm <= tolerance * max(first_norm, 1e-12):
            break
        # The diagonal of the curvature scales the search.
        diagonal[:] = 0.0
        for i in range(rows):
            for k in range(outputs):
                c = chances[i, k]
                curve = 1.0 if classes == 0 else c * (1.0 - c)
                diagonal[k, 0] += curve
                for j in range(dense.shape[1]):
                    diagonal[k, 1 + j] += curve * dense[i, j] * dense[i, j]
                for j in range(places.shape[1]):
                    diagonal[k, places[i, j]] += curve
        for k in range(outputs):
            diagonal[k, 0] += 1e-9
            for j in range(1, weights_each):
                diagonal[k, j] += penalty
        step[:] = 0.0
        inner = 0.0
        for k in range(outputs):
            for j in range(weights_each):
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
        penalised = loss + 0.5 * penalty * (weights[:, 1:] * weights[:, 1:]).sum()
        improved = False
        for _ in range(12):
            trial = weights + size * step
            product(scores, trial, dense, places)
            loss = expected(chances, scores, labels, numbers, classes)
            if loss + 0.5 * penalty * (trial[:, 1:] * trial[:, 1:]).sum() <= penalised + 1e-12:
                improved = True
                weights = trial
                break
            size *= 0.5
        if not improved:
            break
    return weights
