"""The linear programs over the symbols that are known so far: their solutions, and the prices of what they lack.

One keeps a symbol by its rule, the guess that each group makes of it in each of its cells, and finds the probabilities
that are best for the rules; the adversaries' losses enter as tangents. The other mixes symbols as they are: all losses
are exact there, of parties that believe what a symbol tells them, and thousands of symbols are cheap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import coo_array, csr_array

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.capped_problem import CappedProblem, symbol_losses
from aegis.candidates.sanitizers.law import Cone, without_rounded_zeros
from aegis.candidates.sanitizers.pricing import Prices
from aegis.errors import NotConvergedError

_TIGHT = 3e-4  # a tangent that lies closer than this share of the loss is close enough
_KEPT = 40  # symbols that stay although the solution does not use them
_FORBIDDING = 1e3  # what a unit of distortion beyond the limit costs


class Master(ABC):
    """A linear program whose last variables are the worst loss and each group's distortion beyond its limit.

    Its first inequalities keep the distortion of each group, then the worst loss below that of each adversary.
    """

    def __init__(self, problem: CappedProblem) -> None:
        self.problem = problem
        self._groups, self._adversaries = len(problem.law.authorized), len(problem.law.adversaries)
        self._solution: OptimizeResult | None = None

    @abstractmethod
    def add(self, symbols: Floats) -> None:
        """Let the program use these symbols too, one a row."""

    @abstractmethod
    def solve(self, *, once: bool = False, rounds: int = 12) -> bool:
        """Solve; whether every loss in the program is one that the adversary has."""

    @abstractmethod
    def symbols(self) -> Floats:
        """The symbols of the solution, one a row, each as likely as it is drawn."""

    def drop_unused(self) -> None:
        """Forget symbols that the solution does not use, where they cost much."""
        return

    def _optimize(self, matrix: Floats | csr_array, sums: Floats | csr_array) -> None:
        problem = self.problem
        objective = np.zeros(matrix.shape[1])
        objective[-self._groups - 1] = -1.0
        objective[-self._groups :] = [
            _FORBIDDING * problem.scale / max(silent, 1e-12) for silent in problem.silent_distortions
        ]
        solution = linprog(
            objective,
            A_ub=matrix,
            b_ub=np.append(problem.limits, np.zeros(matrix.shape[0] - self._groups)),
            A_eq=sums,
            b_eq=np.ones(problem.law.size),
            bounds=(0, None),
            method="highs",
        )
        if not solution.success:
            raise NotConvergedError("the linear program under caps was not solved; try a slightly larger distortion")
        self._solution = solution

    @property
    def solution(self) -> OptimizeResult:
        assert self._solution is not None, "solve first"
        return self._solution

    @property
    def value(self) -> float:
        """The worst loss, less what distortion beyond the limits costs."""
        return -float(self.solution.fun)

    @property
    def missed(self) -> list[float]:
        """Distortion beyond the limit, by group."""
        return [float(slack) for slack in self.solution.x[-self._groups :]]

    def prices(self) -> Prices:
        marginals = np.asarray(self.solution.ineqlin.marginals)
        return Prices(
            distortions=-marginals[: self._groups],
            adversaries=-marginals[self._groups : self._groups + self._adversaries],
            values=np.asarray(self.solution.eqlin.marginals),
        )

    def release(self) -> Floats:
        """The channel, without symbols that are never drawn; symbols with one posterior are one."""
        table = np.clip(self.symbols().T, 0.0, None)
        table = table[:, table.max(axis=0) > 1e-9]
        shapes = np.round(table / table.sum(axis=0), 7)
        inverse = np.unique(shapes, axis=1, return_inverse=True)[1].ravel()
        merged = np.zeros((len(table), int(inverse.max()) + 1))
        np.add.at(merged.T, inverse, table.T)
        return without_rounded_zeros(merged / merged.sum(axis=1, keepdims=True), self.problem.caps.local_dp)


class MixtureMaster(Master):
    """Symbols mixed as they are: a weight for each."""

    def __init__(self, problem: CappedProblem) -> None:
        super().__init__(problem)
        self._pool = np.zeros((0, problem.law.size))
        self._losses = np.zeros((self._groups + self._adversaries, 0))  # of the groups, then of the adversaries

    def add(self, symbols: Floats) -> None:
        law = self.problem.law
        losses = [symbol_losses(table, symbols, self.problem.cost) for table in (*law.authorized, *law.adversaries)]
        self._pool = np.vstack([self._pool, symbols])
        self._losses = np.hstack([self._losses, losses])

    def solve(self, *, once: bool = False, rounds: int = 12) -> bool:
        groups = self._groups
        parties, count = self._losses.shape
        matrix = np.zeros((parties, count + 1 + groups))
        matrix[:groups, :count] = self._losses[:groups]
        matrix[:groups, count + 1 :] = -np.eye(groups)
        matrix[groups:, :count] = -self._losses[groups:]
        matrix[groups:, count] = 1.0
        self._optimize(matrix, np.hstack([self._pool.T, np.zeros((self.problem.law.size, 1 + groups))]))
        return True

    def symbols(self) -> Floats:
        return np.asarray(self._pool * self.solution.x[: len(self._pool), None])


class RuleMaster(Master):
    """Symbols by their rules: for each its probabilities r[x], a number below them all, and a loss for each cell."""

    def __init__(self, problem: CappedProblem, cone: Cone) -> None:
        super().__init__(problem)
        self.cone = cone
        self.size = problem.law.size
        self.cells = [table.shape[1] for table in problem.law.adversaries]
        self.tables = np.hstack(problem.law.adversaries).T  # one row for each (adversary, cell)
        self.width = self.size + 1 + len(self.tables)
        self.rule_costs: list[Floats] = []  # by group, then value
        self.cuts: list[list[tuple[int, Floats]]] = []

    @property
    def count(self) -> int:
        return len(self.rule_costs)

    def add(self, symbols: Floats) -> None:
        cost, every_cell = self.problem.cost, range(len(self.tables))
        for symbol in symbols:
            self.rule_costs.append(
                np.array([(table * cost.best(table.T * symbol).T).sum(axis=1) for table in self.problem.law.authorized])
            )
            at_symbol = cost.best(self.tables * symbol)
            at_silence = cost.best(self.tables)
            lines = [(cell, self.tables[cell] * at_symbol[cell]) for cell in every_cell]
            lines += [(cell, self.tables[cell] * at_silence[cell]) for cell in every_cell]
            tangents = cost.tangents()
            if len(tangents) <= 4:
                lines += [(cell, self.tables[cell] * tangent) for cell in every_cell for tangent in tangents]
            self.cuts.append(lines)

    def drop_unused(self) -> None:
        if self.count <= _KEPT:
            return
        used = self.symbols().max(axis=1) > 1e-9
        self.rule_costs = [costs for costs, is_used in zip(self.rule_costs, used, strict=True) if is_used]
        self.cuts = [lines for lines, is_used in zip(self.cuts, used, strict=True) if is_used]

    def solve(self, *, once: bool = False, rounds: int = 12) -> bool:
        """Solve, tighten where a loss lies above what an adversary has, and solve again (not with ``once``)."""
        scale = self.problem.scale
        for _ in range(rounds):
            self._optimize(*self._constraints())
            if once:
                return True
            true = self.tables[None] * self.symbols()[:, None, :]
            costs = self.problem.cost.best(true)
            over = self._variables()[:, self.size + 1 :] - (true * costs).sum(axis=2)
            if over.clip(0).sum() <= _TIGHT * scale:
                return True
            for symbol, cell in zip(*np.nonzero(over > _TIGHT * scale / (4 * over.size)), strict=True):
                self.cuts[symbol].append((int(cell), self.tables[cell] * costs[symbol, cell]))
        return False

    def _constraints(self) -> tuple[csr_array, csr_array]:
        """The inequalities, and that the probabilities of every value add up to 1."""
        size, count, groups = self.size, self.count, self._groups
        total = count * self.width
        width = total + 1 + groups
        rows, columns, values = [], [], []
        row = 0

        def put(r: Ints, c: Ints, v: Floats) -> None:
            rows.append(r)
            columns.append(c)
            values.append(v)

        # distortion of each group, then the worst loss below each adversary's
        starts = np.arange(count) * self.width
        within = (starts[:, None] + np.arange(size)).ravel()
        for group in range(groups):
            put(np.full(within.size, group), within, np.concatenate([costs[group] for costs in self.rule_costs]))
            put(np.array([group]), np.array([total + 1 + group]), np.array([-1.0]))
        row, offset = groups, size + 1
        for outcomes in self.cells:
            cells = (starts[:, None] + offset + np.arange(outcomes)).ravel()
            put(np.full(cells.size + 1, row), np.append(cells, total), np.append(-np.ones(cells.size), 1.0))
            row, offset = row + 1, offset + outcomes
        for start, lines in zip(starts, self.cuts, strict=True):
            at, vectors = np.array([cell for cell, _ in lines]), np.array([vector for _, vector in lines])
            index = row + np.arange(len(lines))
            put(index, start + size + 1 + at, np.ones(len(lines)))
            put(np.repeat(index, size), np.tile(start + np.arange(size), len(lines)), -vectors.ravel())
            row += len(lines)
        caps = len(self.cone.values)
        # the number below all r[x], where a cap speaks of it
        floors = size if caps and np.abs(self.cone.least).max() > 0 else 0
        for start in starts:
            if caps:
                index = row + np.arange(caps)
                put(np.repeat(index, size), np.tile(start + np.arange(size), caps), self.cone.values.ravel())
                put(index, np.full(caps, start + size), self.cone.least)
            if floors:
                index = row + caps + np.arange(size)
                put(index, np.full(size, start + size), np.ones(size))
                put(index, start + np.arange(size), -np.ones(size))
            row += caps + floors
        return (
            _sparse(rows, columns, values, (row, width)),
            _sparse([np.tile(np.arange(size), count)], [within], [np.ones(within.size)], (size, width)),
        )

    def _variables(self) -> Floats:
        return np.asarray(self.solution.x[: self.count * self.width]).reshape(self.count, self.width)

    def symbols(self) -> Floats:
        return self._variables()[:, : self.size]


def _sparse(
    rows: Sequence[Ints], columns: Sequence[Ints], values: Sequence[Floats], shape: tuple[int, int]
) -> csr_array:
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(entries, shape=shape).tocsr()
