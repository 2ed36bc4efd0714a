"""What one more symbol would be worth to the program under caps, at the program's prices, and at most.

For a fixed rule of the authorised groups the worth is concave in the symbol, and its best symbol is a small linear
program. Over all rules it is a mixed-integer program; whatever that leaves open after its time is still a bound.

Under the logarithmic loss a rule is a belief, of which there is a continuum: there the simplex of all symbols is
divided. At given prices the worth of a symbol is linear, plus the adversaries' entropies, less those of the authorised
groups. Entropies are concave. On a simplex of symbols an adversary's lies below its tangent at the middle, and a
group's above the mean of those at the corners; so the worth lies below a linear function, whose largest value is at a
corner. Both gaps shrink with the square of the width. Simplices with the largest bound are halved until no symbol can
be worth anything, or they are too many; what is left open then is part of the bound, which holds either way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.sanitizers.capped_problem import CappedProblem, MatrixCost, symbol_losses
from aegis.candidates.sanitizers.law import Cone

_TURNS = 8  # of a search for a symbol under losses that are no matrix
_MOST_CHOICES = 900  # binary variables that a bound is sought with
_HALVED = 200_000  # simplices in all
_AT_ONCE = 4_000
_ENOUGH = 5e-4  # of the loss without a release: a bound that close ends the search


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """What a unit of each group's distortion costs, how much each adversary counts, what a value's share is paid."""

    distortions: Floats
    adversaries: Floats
    values: Floats


def symbol_values(problem: CappedProblem, prices: Prices, symbols: Floats) -> Floats:
    """The worth of symbols (rows) that are used in the best way."""
    worth = symbols @ prices.values
    for weight, table in zip(prices.adversaries, problem.law.adversaries, strict=True):
        if weight > 0:
            worth = worth + weight * symbol_losses(table, symbols, problem.cost)
    for weight, table in zip(prices.distortions, problem.law.authorized, strict=True):
        if weight > 0:
            worth = worth - weight * symbol_losses(table, symbols, problem.cost)
    return np.asarray(worth)


def best_symbol(problem: CappedProblem, cone: Cone, prices: Prices, start: Floats) -> tuple[Floats, float]:
    """A symbol that no small change improves, found by turns from ``start``: the rule for it, then it for the rule."""
    symbol, value = start, float(symbol_values(problem, prices, start[None])[0])
    near = start[None]
    for _ in range(3 if isinstance(problem.cost, MatrixCost) else _TURNS):
        paid = prices.values.copy()
        for weight, table in zip(prices.distortions, problem.law.authorized, strict=True):
            paid -= weight * (table * problem.cost.best(table.T * symbol).T).sum(axis=1)
        moved = _best_for(problem, cone, prices, paid, near=near)
        if moved is None:
            break
        gained = float(symbol_values(problem, prices, moved[None])[0])
        if gained > value + 1e-9 * max(1.0, abs(value)):
            symbol, value = moved, gained
        elif isinstance(problem.cost, MatrixCost):
            break
        # the losses were drawn too high there: the next turn knows better
        near = np.vstack([near, moved])
    return symbol, value


def _adversary_lines(problem: CappedProblem, tables: Floats, near: Floats) -> tuple[Floats, Ints]:
    """What an adversary's loss lies below, and in which cell: tangents everywhere, and those at symbols ``near``.

    The guesses of a matrix are all there are; any other cost has a tangent of its own at every symbol.
    """
    tangents = problem.cost.tangents()
    lines = [(tables[:, None, :] * tangents[None]).reshape(-1, tables.shape[1])]
    cells = [np.repeat(np.arange(len(tables)), len(tangents))]
    if not isinstance(problem.cost, MatrixCost):
        for symbol in near:
            lines.append(tables * problem.cost.best(tables * symbol))
            cells.append(np.arange(len(tables)))
    return np.vstack(lines), np.concatenate(cells)


def _weighted_cells(problem: CappedProblem, prices: Prices) -> tuple[Floats, Floats]:
    """The cells of the adversaries that count, one row each, and how much each counts."""
    weighted = [(w, t) for w, t in zip(prices.adversaries, problem.law.adversaries, strict=True) if w > 1e-12]
    weights = np.concatenate([np.full(table.shape[1], weight) for weight, table in weighted])
    return np.hstack([table for _, table in weighted]).T, weights


def _best_for(problem: CappedProblem, cone: Cone, prices: Prices, paid: Floats, *, near: Floats) -> Floats | None:
    """The best symbol for a rule whose cost is part of ``paid``; variables r, least, and a loss for each cell."""
    size = problem.law.size
    tables, weights = _weighted_cells(problem, prices)
    cells = len(tables)
    lines, at = _adversary_lines(problem, tables, near)
    matrix = np.vstack(
        [
            np.hstack([-lines, np.zeros((len(lines), 1)), np.eye(cells)[at]]),
            np.hstack([cone.values, cone.least[:, None], np.zeros((len(cone.values), cells))]),
            np.hstack([-np.eye(size), np.ones((size, 1)), np.zeros((size, cells))]),
        ]
    )
    solution = linprog(
        -np.concatenate([paid, [0.0], weights]),
        A_ub=csr_array(matrix),
        b_ub=np.zeros(len(matrix)),
        A_eq=np.concatenate([problem.law.prior, np.zeros(1 + cells)])[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return np.asarray(solution.x[:size]) if solution.success else None


def most_a_symbol_is_worth(problem: CappedProblem, cone: Cone, prices: Prices, *, seconds: float) -> float:
    """No symbol is worth more than this: over all rules at once, each group's guess in each cell being a choice.

    For each choice a part of the symbol is a variable of its own, of which only one may be there. Part and whole lie in
    the cone, which makes the relaxation tight.
    """
    size = problem.law.size
    tables, weights = _weighted_cells(problem, prices)
    cells = len(tables)
    choices = [
        (weight * table[:, y] * problem.cost.floors())  # one row for each guess
        for weight, table in zip(prices.distortions, problem.law.authorized, strict=True)
        if weight > 1e-12
        for y in range(table.shape[1])
    ]
    pieces = sum(len(costs) for costs in choices)
    with_caps = pieces * len(cone.values) <= 60_000
    block = size + 1
    first_piece = block + cells
    first_binary = first_piece + pieces * block
    width = first_binary + pieces
    objective = np.zeros(width)
    objective[:size] = -prices.values
    objective[block:first_piece] = -weights
    rows: list[Ints] = []
    columns: list[Ints] = []
    values: list[Floats] = []
    lows: list[Floats] = []
    highs: list[Floats] = []
    row = 0

    def put(dense: Floats, at: Ints, low: float, high: float) -> None:
        nonlocal row
        r, c = np.nonzero(dense)
        rows.append(row + r)
        columns.append(at[c])
        values.append(dense[r, c])
        lows.append(np.full(len(dense), low))
        highs.append(np.full(len(dense), high))
        row += len(dense)

    caps = np.hstack([cone.values, cone.least[:, None]])
    floor = np.hstack([-np.eye(size), np.ones((size, 1))])
    whole = np.arange(block)
    tangents = problem.cost.tangents()
    for cell in range(cells):
        lines = np.hstack([-tables[cell] * tangents, np.ones((len(tangents), 1))])
        put(lines, np.append(np.arange(size), block + cell), -np.inf, 0.0)
    put(caps, whole, -np.inf, 0.0)
    put(floor, whole, -np.inf, 0.0)
    put(problem.law.prior[None, :], np.arange(size), 1.0, 1.0)
    piece = 0
    for costs in choices:
        guesses = len(costs)
        places = first_piece + (piece + np.arange(guesses)) * block
        for number, place in enumerate(places):
            objective[place : place + size] = costs[number]
            part = place + np.arange(block)
            if with_caps:
                put(caps, part, -np.inf, 0.0)
                put(floor, part, -np.inf, 0.0)
            share = np.append(problem.law.prior, -1.0)[None, :]
            put(share, np.append(part[:size], first_binary + piece + number), 0.0, 0.0)
        together = np.hstack([np.eye(size)] + [-np.eye(size)] * guesses)
        at = np.concatenate([np.arange(size), *(place + np.arange(size) for place in places)])
        put(together, at, 0.0, 0.0)
        put(np.ones((1, guesses)), first_binary + piece + np.arange(guesses), 1.0, 1.0)
        piece += guesses
    integral = np.append(np.zeros(first_binary), np.full(pieces, 1 if pieces <= _MOST_CHOICES else 0))
    upper = np.append(np.full(first_binary, np.inf), np.ones(pieces))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    solution = milp(
        objective,
        constraints=LinearConstraint(
            coo_array(entries, shape=(row, width)).tocsr(), np.concatenate(lows), np.concatenate(highs)
        ),
        integrality=integral,
        bounds=(0, upper),
        options={"time_limit": seconds, "mip_rel_gap": 1e-4},
    )
    if integral.any():
        reached = solution.mip_dual_bound
    else:
        reached = solution.fun if solution.success else None
    return float("inf") if reached is None or not np.isfinite(reached) else -float(reached)


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


def _outside(cone: Cone, corners: Floats) -> Flags:
    """Simplices none of whose symbols satisfies every cap: some row is broken whatever the smallest entry is."""
    if not len(cone.values):
        return np.zeros(len(corners), dtype=bool)
    smallest = (corners @ cone.values.T).min(axis=1)
    most_least = corners.max(axis=1).min(axis=1)  # the smallest entry of any symbol there is at most this
    excess = smallest + np.minimum(cone.least, 0.0) * most_least[:, None]
    return np.asarray((excess > 1e-9).any(axis=1))
