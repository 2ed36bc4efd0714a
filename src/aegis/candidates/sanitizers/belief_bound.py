"""What no symbol is worth more than, under the logarithmic loss: a bound by dividing the simplex of all symbols.

At given prices the worth of a symbol is linear, plus the adversaries' entropies, less those of the authorised groups.
Entropies are concave. On a simplex of symbols an adversary's lies below its tangent at the middle, and a group's above
the mean of those at the corners; so the worth lies below a linear function, whose largest value is at a corner. Both
gaps shrink with the square of the width. Simplices with the largest bound are halved until no symbol can be worth
anything, or they are too many; what is left open then is part of the bound, which holds either way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.cones import Cone
from aegis.candidates.sanitizers.pricing import Prices

_HALVED = 200_000  # simplices in all
_AT_ONCE = 4_000
_ENOUGH = 5e-4  # of the loss without a release: a bound that close ends the search


def most_a_belief_is_worth(problem: CappedProblem, cone: Cone, prices: Prices, *, most_halved: int = _HALVED) -> float:
    """No symbol of share 1 inside the cone is worth more than this."""
    size, prior = problem.law.size, problem.law.prior
    enough = _ENOUGH * problem.scale
    corners = (np.eye(size) / prior)[None]
    worth = _without_adversaries(problem, prices, corners[0])[None]
    bounds = _bounds(problem, prices, corners, worth)
    done = 0
    while bounds.size and bounds.max() > enough and done < most_halved:
        most = min(_AT_ONCE, bounds.size)
        chosen = np.argpartition(-bounds, most - 1)[:most]
        chosen = chosen[bounds[chosen] > enough]
        done += chosen.size
        new_corners, new_worth = _halved(problem, prices, corners[chosen], worth[chosen])
        inside = ~_outside(cone, new_corners)
        new_corners, new_worth = new_corners[inside], new_worth[inside]
        # what holds for a simplex holds for its halves
        new_bounds = np.minimum(_bounds(problem, prices, new_corners, new_worth), np.tile(bounds[chosen], 2)[inside])
        rest = np.ones(bounds.size, dtype=bool)
        rest[chosen] = False
        corners = np.concatenate([corners[rest], new_corners])
        worth = np.concatenate([worth[rest], new_worth])
        bounds = np.concatenate([bounds[rest], new_bounds])
    return float(bounds.max(initial=0.0))


def _halved(problem: CappedProblem, prices: Prices, corners: Floats, worth: Floats) -> tuple[Floats, Floats]:
    """Each simplex as two, divided in the middle of its longest edge."""
    prior = problem.law.prior
    shares = corners * prior  # posteriors, in which edges are measured
    lengths = ((shares[:, :, None, :] - shares[:, None, :, :]) ** 2).sum(axis=3)
    longest = lengths.reshape(len(corners), -1).argmax(axis=1)
    first, second = np.divmod(longest, corners.shape[1])
    rows = np.arange(len(corners))
    middle = (corners[rows, first] + corners[rows, second]) / 2
    of_middle = _without_adversaries(problem, prices, middle)
    made_corners, made_worth = [], []
    for replaced in (first, second):
        child, child_worth = corners.copy(), worth.copy()
        child[rows, replaced], child_worth[rows, replaced] = middle, of_middle
        made_corners.append(child)
        made_worth.append(child_worth)
    return np.concatenate(made_corners), np.concatenate(made_worth)


def _bounds(problem: CappedProblem, prices: Prices, corners: Floats, worth: Floats) -> Floats:
    middle = corners.mean(axis=1)
    slope = np.zeros_like(middle)
    for weight, table in zip(prices.adversaries, problem.law.adversaries, strict=True):
        if weight > 0:
            costs = problem.cost.best(middle[:, None, :] * table.T)
            slope += weight * (costs * table.T).sum(axis=1)
    return np.asarray((worth + np.einsum("ncx,nx->nc", corners, slope)).max(axis=1))


def _without_adversaries(problem: CappedProblem, prices: Prices, symbols: Floats) -> Floats:
    """The worth of symbols but for what adversaries lose: prices of values, less what the groups lose at best."""
    worth = symbols @ prices.values
    for weight, table in zip(prices.distortions, problem.law.authorized, strict=True):
        if weight > 0:
            worth = worth - weight * _entropy(symbols[:, None, :] * table.T).sum(axis=1)
    return np.asarray(worth)


def _entropy(weights: Floats) -> Floats:
    """The entropy in bits of unnormalised weights (last axis), times their sum."""
    total = weights.sum(axis=-1, keepdims=True)
    shares = np.where(weights > 0, weights / np.maximum(total, 1e-300), 1.0)
    return np.asarray(-(weights * np.log2(shares)).sum(axis=-1))


def _outside(cone: Cone, corners: Floats) -> NDArray[np.bool_]:
    """Simplices none of whose symbols satisfies every cap: some row is broken whatever the smallest entry is."""
    if not len(cone.values):
        return np.zeros(len(corners), dtype=bool)
    smallest = (corners @ cone.values.T).min(axis=1)
    most_least = corners.max(axis=1).min(axis=1)  # the smallest entry of any symbol there is at most this
    excess = smallest + np.minimum(cone.least, 0.0) * most_least[:, None]
    return np.asarray((excess > 1e-9).any(axis=1))
