"""The linear program over symbols that are mixed as they are: how much of each, and the prices of what it lacks.

All losses are exact here, of parties that believe what a symbol tells them: they are numbers of a symbol, and the
program weighs symbols. It has a row for each value and each party, so that thousands of symbols are cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import OptimizeResult, linprog

from aegis.arrays import Floats
from aegis.candidates.sanitizers.capped_master import FORBIDDING, merged_channel
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.costs import Cost, bayes
from aegis.candidates.sanitizers.pricing import Prices
from aegis.errors import NotConvergedError


class MixtureMaster:
    """The restricted program: variables are a weight for each symbol, the worst loss, and distortion beyond limits."""

    def __init__(self, problem: CappedProblem, limits: Sequence[float]) -> None:
        self.problem, self.limits = problem, list(limits)
        self.pool = np.zeros((0, problem.law.size))
        self.group_losses = np.zeros((len(self.limits), 0))
        self.adversary_losses = np.zeros((len(problem.law.adversaries), 0))
        self.solution: OptimizeResult | None = None

    def add(self, symbols: Floats) -> None:
        problem = self.problem
        groups = [
            _losses(cost, table, symbols)
            for cost, table in zip(problem.authorized_costs, problem.law.authorized, strict=True)
        ]
        adversaries = [_losses(problem.adversary_cost, table, symbols) for table in problem.law.adversaries]
        self.pool = np.vstack([self.pool, symbols])
        self.group_losses = np.hstack([self.group_losses, groups])
        self.adversary_losses = np.hstack([self.adversary_losses, adversaries])

    def drop_unused(self) -> None:
        """Nothing: a symbol costs a column of a few numbers."""

    def solve(self, scale: float, *, once: bool, rounds: int = 1) -> bool:
        """Solve; all losses are exact, so that once is enough."""
        problem, count = self.problem, len(self.pool)
        groups, adversaries = len(self.limits), len(self.adversary_losses)
        matrix = np.zeros((groups + adversaries, count + 1 + groups))
        matrix[:groups, :count] = self.group_losses
        matrix[:groups, count + 1 :] = -np.eye(groups)
        matrix[groups:, :count] = -self.adversary_losses
        matrix[groups:, count] = 1.0
        objective = np.zeros(count + 1 + groups)
        objective[count] = -1.0
        heaviest = max(1e-12, *problem.silent_losses)
        objective[count + 1 :] = [FORBIDDING * heaviest / max(silent, 1e-12) for silent in problem.silent_distortions]
        solution = linprog(
            objective,
            A_ub=matrix,
            b_ub=np.append(self.limits, np.zeros(adversaries)),
            A_eq=np.hstack([self.pool.T, np.zeros((problem.law.size, 1 + groups))]),
            b_eq=np.ones(problem.law.size),
            bounds=(0, None),
            method="highs",
        )
        if not solution.success:
            raise NotConvergedError("the linear program under caps was not solved; try a slightly larger distortion")
        self.solution = solution
        return True

    def symbols(self) -> Floats:
        assert self.solution is not None
        return np.asarray(self.pool * self.solution.x[: len(self.pool), None])

    @property
    def value(self) -> float:
        assert self.solution is not None
        return -float(self.solution.fun)

    @property
    def missed(self) -> list[float]:
        """Distortion beyond the limit, by group."""
        assert self.solution is not None
        return [float(slack) for slack in self.solution.x[len(self.pool) + 1 :]]

    def prices(self) -> Prices:
        assert self.solution is not None
        marginals, groups = np.asarray(self.solution.ineqlin.marginals), len(self.limits)
        return Prices(
            distortions=-marginals[:groups],
            adversaries=-marginals[groups:],
            values=np.asarray(self.solution.eqlin.marginals),
        )

    def release(self) -> Floats:
        """The channel, without symbols that are never drawn."""
        return merged_channel(self.symbols().T)


def _losses(cost: Cost, table: Floats, symbols: Floats) -> Floats:
    return np.asarray(bayes(cost, symbols[:, None, :] * table.T).sum(axis=1))
