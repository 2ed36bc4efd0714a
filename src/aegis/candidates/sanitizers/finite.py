"""The finite case: a column with few values, what each party knows about it, and its best release as a program.

A symbol f of the release matters to the authorised party only through the rule y ↦ x̂ it then follows. Two symbols
with the same rule can be merged: the distortion stays, and an adversary that is told less loses no less. So one symbol
per rule is enough, the distortion is linear once the rules are fixed, and each adversary's loss is a sum of minima of
linear functions, which is concave. The optimum over all releases is therefore a linear program (`optimum`). With fewer
symbols than rules, which rule a symbol stands for is a choice, and the program becomes a mixed-integer one with a
binary variable for each such choice: with two symbols and a binary X this is Proposition 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, vstack

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.gaussian import check_distortion
from aegis.candidates.sanitizers.mechanism import draw_symbols
from aegis.candidates.sanitizers.training_settings import CodedSample
from aegis.errors import NotConvergedError, SanitizerError

Rules = Ints
RULE_LIMIT = 4096
INFEASIBLE = 2  # scipy's status of a program without a solution


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteProblem:
    """Values of X with their shares, one channel P(side | x) per party (rows are values of X), and what errors cost.

    ``distortion_cost[x, guess]`` counts for the authorised party, ``loss_cost[x, guess]`` for the adversaries; both
    are 0–1 unless given.
    """

    prior: Floats
    authorized: Floats
    adversaries: tuple[Floats, ...]
    distortion_cost: Floats
    loss_cost: Floats

    def __post_init__(self) -> None:
        size = self.prior.size
        if size < 2:
            raise SanitizerError("the private column is constant; there is nothing to protect")
        if self.prior.min() <= 0 or abs(self.prior.sum() - 1) > 1e-9:
            raise SanitizerError("the shares of the private values must be positive and add up to 1")
        if not self.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        for channel in (self.authorized, *self.adversaries):
            if channel.ndim != 2 or channel.shape[0] != size or channel.min() < 0:
                raise SanitizerError("a side channel needs one row of probabilities for each private value")
            if np.abs(channel.sum(axis=1) - 1).max() > 1e-9:
                raise SanitizerError("each row of a side channel must add up to 1")
        for cost in (self.distortion_cost, self.loss_cost):
            if cost.ndim != 2 or cost.shape[0] != size or not np.isfinite(cost).all() or cost.min() < 0:
                raise SanitizerError(
                    "a cost matrix needs one row of finite costs, zero or more, for each private value"
                )

    @property
    def max_distortion(self) -> float:
        """Distortion without any release; allowing more changes nothing."""
        return bayes_loss(self.prior, self.authorized, self.distortion_cost)

    @property
    def saturation_losses(self) -> Floats:
        """What each adversary is left with when nothing is released."""
        return np.array([bayes_loss(self.prior, channel, self.loss_cost) for channel in self.adversaries])

    def distortion_of(self, release: Floats) -> float:
        """Distortion of the best reconstruction from the release P(f | x) and Y."""
        return release_loss(self.prior, release, self.authorized, self.distortion_cost)

    def losses_of(self, release: Floats) -> Floats:
        """Loss of the best attack of each adversary."""
        return np.array([release_loss(self.prior, release, z, self.loss_cost) for z in self.adversaries])


def finite_problem(
    *,
    prior: ArrayLike,
    authorized: ArrayLike,
    adversaries: Sequence[ArrayLike],
    distortion_cost: ArrayLike | None = None,
    loss_cost: ArrayLike | None = None,
) -> FiniteProblem:
    """A checked problem from plain lists."""
    shares = np.array(prior, dtype=float)
    wrong = 1.0 - np.eye(shares.size)
    return FiniteProblem(
        prior=shares,
        authorized=np.array(authorized, dtype=float),
        adversaries=tuple(np.array(channel, dtype=float) for channel in adversaries),
        distortion_cost=wrong if distortion_cost is None else np.array(distortion_cost, dtype=float),
        loss_cost=wrong if loss_cost is None else np.array(loss_cost, dtype=float),
    )


def binary_problem(*, p: float, qy: float, qz: Sequence[float]) -> FiniteProblem:
    """X is 1 with probability p; Y and each Z_i are X flipped with probability qy and qz_i.

    >>> problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    >>> round(problem.max_distortion, 3), [round(float(loss), 3) for loss in problem.saturation_losses]
    (0.2, [0.44])
    """
    if not 0 < p < 1:
        raise SanitizerError("p must lie strictly between 0 and 1; otherwise the private column is constant")
    for q in (qy, *qz):
        if not 0 < q < 1:
            raise SanitizerError(
                "a crossover probability must lie strictly between 0 and 1; at either end the side information "
                "equals the private column"
            )
    channels = [np.array([[1 - q, q], [q, 1 - q]]) for q in (qy, *qz)]
    return finite_problem(prior=[1 - p, p], authorized=channels[0], adversaries=channels[1:])


def bayes_loss(prior: Floats, channel: Floats, cost: Floats) -> float:
    """Smallest expected cost of guessing X from one side channel."""
    joint = prior[:, None] * channel
    return float((cost.T @ joint).min(axis=0).sum())


def release_loss(prior: Floats, release: Floats, channel: Floats, cost: Floats) -> float:
    """Smallest expected cost of guessing X from a release and a side channel."""
    joint = np.einsum("x,xf,xs->xfs", prior, release, channel)
    return float(np.einsum("xg,xfs->gfs", cost, joint).min(axis=0).sum())


def draw(problem: FiniteProblem, rows: int, *, rng: np.random.Generator) -> tuple[Ints, Ints, tuple[Ints, ...]]:
    """Codes of X, of Y and of each Z_i; side channels are independent given X."""
    x = rng.choice(problem.prior.size, size=rows, p=problem.prior)
    return x, draw_symbols(problem.authorized, x, rng), tuple(draw_symbols(z, x, rng) for z in problem.adversaries)


def coded_sample(problem: FiniteProblem, rows: int, *, rng: np.random.Generator) -> CodedSample:
    """Draws of a finite problem as training takes them."""
    x, y, z = draw(problem, rows, rng=rng)
    return CodedSample(
        private=x,
        authorized=y,
        adversaries=z,
        private_size=problem.prior.size,
        side_sizes=tuple(channel.shape[1] for channel in (problem.authorized, *problem.adversaries)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteOptimum:
    """A release ``release[x, f] = P(f | x)`` with its exact figures; ``exact`` says it is proved to be the best."""

    release: Floats
    distortion: float
    adversary_losses: tuple[float, ...]
    exact: bool

    @property
    def worst(self) -> float:
        """The loss of the adversary that knows most."""
        return min(self.adversary_losses)


def optimum(problem: FiniteProblem, *, distortion: float, symbols: int | None = None) -> FiniteOptimum:
    """The best release at ``distortion``: over all alphabets, or with at most ``symbols`` symbols.

    Above `RULE_LIMIT` reconstruction rules the likeliest ones are used, and the result is not marked as exact.
    Caps on what a symbol may tell belong to `capped_program`.

    >>> from aegis.candidates.sanitizers.finite import binary_problem
    >>> problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    >>> round(optimum(problem, distortion=0.1, symbols=2).worst, 4), round(optimum(problem, distortion=0.1).worst, 4)
    (0.1, 0.22)
    """
    check_distortion(distortion, allow_zero=True)
    allowed = min(distortion, problem.max_distortion)
    if symbols is not None and symbols < 1:
        raise SanitizerError("a release needs at least one symbol")
    rules, complete = useful_rules(problem.authorized, problem.distortion_cost)
    if symbols is None or symbols >= len(rules):
        release = _linear_program(problem, allowed, rules)
        return _evaluated(problem, release, exact=complete)
    return _evaluated(problem, _mixed_integer_program(problem, allowed, symbols), exact=True)


def _linear_program(problem: FiniteProblem, allowed: float, rules: Rules) -> Floats:
    """Variables: q[x, f] = P(x, f); u[i, f, z], what adversary i loses there at best; and the worst loss."""
    size, count = problem.prior.size, len(rules)
    system = _AdversarySystem(problem, count)
    # expected cost of symbol f's rule, given x
    per_rule = np.einsum("xy,xfy->xf", problem.authorized, problem.distortion_cost[:, rules])
    budget = np.zeros(system.width)
    budget[: size * count] = per_rule.ravel()
    solution = linprog(
        system.objective,
        A_ub=csr_array(vstack([system.matrix, csr_array(budget[None, :])])),
        b_ub=np.append(np.zeros(system.matrix.shape[0]), allowed),
        A_eq=system.margins,
        b_eq=problem.prior,
        bounds=(0, None),
        method="highs",
    )
    if not solution.success:
        raise NotConvergedError(
            "the linear program of the finite case was not solved; try a slightly larger distortion"
        )
    return _to_release(solution.x[: size * count].reshape(size, count))


def _mixed_integer_program(problem: FiniteProblem, allowed: float, symbols: int) -> Floats:
    """As above, but which guess a symbol means for each y is a binary choice with a big-M switch."""
    size, guesses = problem.distortion_cost.shape
    outcomes = problem.authorized.shape[1]
    system = _AdversarySystem(problem, symbols)
    cells = symbols * outcomes
    # further variables: cost[f, y], then choice[f, y, guess]
    width = system.width + cells + cells * guesses
    lines: list[tuple[Ints, Floats]] = []
    limits: list[tuple[float, float]] = []
    for f, y in itertools.product(range(symbols), range(outcomes)):
        cost_at = system.width + f * outcomes + y
        first_choice = system.width + cells + (f * outcomes + y) * guesses
        joint = problem.prior * problem.authorized[:, y]
        for guess in range(guesses):
            weights = joint * problem.distortion_cost[:, guess] / problem.prior
            switch = float((problem.prior * weights).sum())
            columns = np.concatenate([np.arange(size) * symbols + f, [cost_at, first_choice + guess]])
            lines.append((columns, np.concatenate([weights, [-1.0, switch]])))
            limits.append((-np.inf, switch))
        lines.append((np.arange(first_choice, first_choice + guesses), np.ones(guesses)))
        limits.append((1.0, 1.0))
    lines.append((np.arange(system.width, system.width + cells), np.ones(cells)))
    limits.append((-np.inf, allowed))
    row_index = np.concatenate([np.full(columns.size, i) for i, (columns, _) in enumerate(lines)])
    choices = coo_array(
        (np.concatenate([v for _, v in lines]), (row_index, np.concatenate([c for c, _ in lines]))),
        shape=(len(lines), width),
    ).tocsr()

    def wide(matrix: csr_array) -> csr_array:
        return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))

    solution = milp(
        np.append(system.objective, np.zeros(width - system.width)),
        constraints=[
            LinearConstraint(wide(system.matrix), -np.inf, 0.0),
            LinearConstraint(wide(system.margins), problem.prior, problem.prior),
            LinearConstraint(choices, [low for low, _ in limits], [high for _, high in limits]),
        ],
        integrality=np.append(np.zeros(system.width + cells), np.ones(cells * guesses)),
        bounds=None,
        options={"mip_rel_gap": 1e-9},
    )
    if not solution.success:
        if solution.status == INFEASIBLE:
            raise NotConvergedError(f"no release of {symbols} symbols keeps the distortion asked for; try more symbols")
        raise NotConvergedError("the mixed-integer program of the finite case was not solved; try fewer symbols")
    # the solver keeps its switches to a millionth only; with the chosen rules fixed the rest is a linear program
    choice = solution.x[system.width + cells :].reshape(symbols, outcomes, guesses)
    rules = np.unique(choice.argmax(axis=2), axis=0).astype(np.int64)
    return _linear_program(problem, allowed, rules)


class _AdversarySystem:
    """The part both programs share: every adversary's loss at every (symbol, side value) lies below every guess."""

    def __init__(self, problem: FiniteProblem, symbols: int) -> None:
        size, guesses = problem.loss_cost.shape
        counts = [channel.shape[1] for channel in problem.adversaries]
        first_u = size * symbols
        self.width = first_u + symbols * sum(counts) + 1
        rows: list[Ints] = []
        columns: list[Ints] = []
        values: list[Floats] = []
        row, offset = 0, first_u
        for channel in problem.adversaries:
            outcomes = channel.shape[1]
            total = symbols * outcomes * guesses
            f, z, g = (axis.ravel() for axis in np.indices((symbols, outcomes, guesses)))
            lines = row + np.arange(total)
            for x in range(size):
                rows.append(lines)
                columns.append(x * symbols + f)
                values.append(-channel[x, z] * problem.loss_cost[x, g])
            rows.append(lines)
            columns.append(offset + f * outcomes + z)
            values.append(np.ones(total))
            row += total
            # the worst loss lies below the sum over this adversary's cells
            cells = np.arange(offset, offset + symbols * outcomes)
            rows.append(np.full(cells.size + 1, row))
            columns.append(np.append(cells, self.width - 1))
            values.append(np.append(-np.ones(cells.size), 1.0))
            row += 1
            offset += symbols * outcomes
        self.rows = row
        self.matrix = coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(row, self.width)
        ).tocsr()
        x_index = np.repeat(np.arange(size), symbols)
        self.margins = coo_array(
            (np.ones(size * symbols), (x_index, np.arange(size * symbols))), shape=(size, self.width)
        ).tocsr()
        self.objective = np.zeros(self.width)
        self.objective[-1] = -1.0


def _to_release(joint: Floats) -> Floats:
    joint = np.clip(joint, 0.0, None)
    joint = joint[:, joint.sum(axis=0) > 1e-12]
    release: Floats = joint / joint.sum(axis=1, keepdims=True)
    return release


def _evaluated(problem: FiniteProblem, release: Floats, *, exact: bool) -> FiniteOptimum:
    losses = tuple(float(loss) for loss in problem.losses_of(release))
    return FiniteOptimum(
        release=release, distortion=problem.distortion_of(release), adversary_losses=losses, exact=exact
    )


def useful_rules(channel: Floats, cost: Floats, *, most: int = RULE_LIMIT) -> tuple[Rules, bool]:
    """Rules y ↦ guess worth a symbol, and whether they are all of them.

    For two private values only threshold rules in the likelihood ratio can be best. Otherwise every rule is listed
    while they are at ``most`` so many; beyond that, those that are best for one of many posteriors.
    """
    size, guesses = cost.shape
    outcomes = channel.shape[1]
    if guesses**outcomes <= most and not (size == 2 and outcomes > 3):
        return np.array(list(itertools.product(range(guesses), repeat=outcomes)), dtype=np.int64), True
    if size == 2:
        # the best guess changes only where two guesses tie, so between neighbouring ties one posterior tells the rule
        joint_costs = cost[None, :, :] * channel.T[:, :, None]
        ties = [0.0, 1.0]
        for a, b in itertools.combinations(range(guesses), 2):
            gap = joint_costs[:, :, a] - joint_costs[:, :, b]
            slope = gap[:, 1] - gap[:, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                ties += [t for t in -gap[:, 0] / slope if 0 < t < 1]
        points = np.unique(ties)
        middle = (points[1:] + points[:-1]) / 2
        posteriors = np.stack([1 - middle, middle], axis=1)
        exact = True
    else:
        posteriors = np.random.default_rng(0).dirichlet(np.full(size, 0.5), size=20_000)
        exact = False
    costs = np.einsum("tx,xy,xg->tyg", posteriors, channel, cost)
    rules, used = np.unique(costs.argmin(axis=2), axis=0, return_counts=True)
    if len(rules) > most:
        rules = rules[np.argsort(-used, kind="stable")[:most]]
        exact = False
    # a symbol for each guess, whatever y says, keeps every distortion within reach
    constant = np.repeat(np.arange(guesses)[:, None], outcomes, axis=1)
    rules = np.unique(np.vstack([rules, constant]), axis=0)
    return rules.astype(np.int64), exact
