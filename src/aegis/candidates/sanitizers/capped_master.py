"""The linear program over the symbols that are known so far: its solution, and the prices of what it lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import coo_array, csr_array

from aegis.arrays import Floats
from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.cones import Cone
from aegis.candidates.sanitizers.pricing import Prices
from aegis.errors import NotConvergedError

_TIGHT = 3e-4  # a tangent that lies closer than this share of the loss is close enough
_KEPT = 40  # symbols that stay although the solution does not use them
FORBIDDING = 1e3  # what a unit of distortion beyond the limit costs


class Master:
    """The restricted program: variables r[x, f], least[f], u[i, z, f], the worst loss, and distortion beyond limits."""

    def __init__(self, problem: CappedProblem, cone: Cone, limits: Sequence[float]) -> None:
        self.problem, self.cone, self.limits = problem, cone, list(limits)
        self.size = problem.law.size
        self.cells = [table.shape[1] for table in problem.law.adversaries]
        self.tables = np.hstack(problem.law.adversaries).T  # one row for each (adversary, cell)
        self.width = self.size + 1 + len(self.tables)
        self.rule_costs: list[Floats] = []  # by group, then value
        self.cuts: list[list[tuple[int, Floats]]] = []
        self.solution: OptimizeResult | None = None

    @property
    def count(self) -> int:
        return len(self.rule_costs)

    def add(self, symbols: Floats) -> None:
        problem = self.problem
        for symbol in symbols:
            self.rule_costs.append(
                np.array(
                    [
                        (table * cost.best(table.T * symbol).T).sum(axis=1)
                        for cost, table in zip(problem.authorized_costs, problem.law.authorized, strict=True)
                    ]
                )
            )
            at_symbol = problem.adversary_cost.best(self.tables * symbol)
            at_silence = problem.adversary_cost.best(self.tables)
            lines = [(cell, self.tables[cell] * at_symbol[cell]) for cell in range(len(self.tables))]
            lines += [(cell, self.tables[cell] * at_silence[cell]) for cell in range(len(self.tables))]
            tangents = problem.adversary_cost.tangents()
            if len(tangents) <= 4:
                lines += [(cell, self.tables[cell] * t) for cell in range(len(self.tables)) for t in tangents]
            self.cuts.append(lines)

    def drop_unused(self) -> None:
        """Forget symbols that the solution does not use, once there are many."""
        if self.count <= _KEPT:
            return
        used = self.symbols().max(axis=1) > 1e-9
        self.rule_costs = [costs for costs, is_used in zip(self.rule_costs, used, strict=True) if is_used]
        self.cuts = [lines for lines, is_used in zip(self.cuts, used, strict=True) if is_used]

    def solve(self, scale: float, *, once: bool, rounds: int = 12) -> bool:
        """Solve, tighten where a loss lies above what an adversary has, and solve again; whether no loss does now."""
        for _ in range(rounds):
            self._solved()
            if once:
                return True
            symbols = self.symbols()
            true = self.tables[None] * symbols[:, None, :]
            costs = self.problem.adversary_cost.best(true)
            over = self._losses() - (true * costs).sum(axis=2)
            if over.clip(0).sum() <= _TIGHT * scale:
                return True
            for f, cell in zip(*np.nonzero(over > _TIGHT * scale / (4 * over.size)), strict=True):
                self.cuts[f].append((int(cell), self.tables[cell] * costs[f, cell]))
        return False

    def _solved(self) -> None:
        problem, size, count = self.problem, self.size, self.count
        total = count * self.width
        groups, adversaries = len(self.limits), len(self.cells)
        first_slack = total + 1
        rows, columns, values = [], [], []
        row = 0

        def put(r: NDArray[np.int64], c: NDArray[np.int64], v: Floats) -> None:
            rows.append(r)
            columns.append(c)
            values.append(v)

        # distortion of each group, then the worst loss below each adversary's
        starts = np.arange(count) * self.width
        within = (starts[:, None] + np.arange(size)).ravel()
        for a in range(groups):
            put(np.full(within.size, a), within, np.concatenate([costs[a] for costs in self.rule_costs]))
            put(np.array([a]), np.array([first_slack + a]), np.array([-1.0]))
        row, offset = groups, size + 1
        for outcomes in self.cells:
            cells = (starts[:, None] + offset + np.arange(outcomes)).ravel()
            put(np.full(cells.size + 1, row), np.append(cells, total), np.append(-np.ones(cells.size), 1.0))
            row, offset = row + 1, offset + outcomes
        for f, lines in enumerate(self.cuts):
            at, vectors = np.array([cell for cell, _ in lines]), np.array([vector for _, vector in lines])
            index = row + np.arange(len(lines))
            put(index, f * self.width + size + 1 + at, np.ones(len(lines)))
            put(
                np.repeat(index, size),
                np.tile(f * self.width + np.arange(size), len(lines)),
                -vectors.ravel(),
            )
            row += len(lines)
        caps = len(self.cone.values)
        # the number below all r[x], where a cap speaks of it
        floors = size if caps and np.abs(self.cone.least).max() > 0 else 0
        for f in range(count):
            base = f * self.width
            if caps:
                index = row + np.arange(caps)
                put(np.repeat(index, size), np.tile(base + np.arange(size), caps), self.cone.values.ravel())
                put(index, np.full(caps, base + size), self.cone.least)
            if floors:
                index = row + caps + np.arange(size)
                put(index, np.full(size, base + size), np.ones(size))
                put(index, base + np.arange(size), -np.ones(size))
            row += caps + floors
        matrix = _sparse(rows, columns, values, (row, first_slack + groups))
        limits = np.zeros(row)
        limits[:groups] = self.limits
        objective = np.zeros(first_slack + groups)
        objective[total] = -1.0
        heaviest = max(1e-12, *problem.silent_losses)
        for a, silent in enumerate(problem.silent_distortions):
            objective[first_slack + a] = FORBIDDING * heaviest / max(silent, 1e-12)
        sums = _sparse(
            [np.tile(np.arange(size), count)], [within], [np.ones(within.size)], (size, first_slack + groups)
        )
        solution = linprog(
            objective, A_ub=matrix, b_ub=limits, A_eq=sums, b_eq=np.ones(size), bounds=(0, None), method="highs"
        )
        if not solution.success:
            raise NotConvergedError("the linear program under caps was not solved; try a slightly larger distortion")
        self.solution, self._after_groups = solution, groups + adversaries

    def _variables(self) -> Floats:
        assert self.solution is not None
        return np.asarray(self.solution.x[: self.count * self.width]).reshape(self.count, self.width)

    def symbols(self) -> Floats:
        return self._variables()[:, : self.size]

    def _losses(self) -> Floats:
        return self._variables()[:, self.size + 1 :]

    @property
    def value(self) -> float:
        assert self.solution is not None
        return -float(self.solution.fun)

    @property
    def missed(self) -> list[float]:
        """Distortion beyond the limit, by group."""
        assert self.solution is not None
        return [float(slack) for slack in self.solution.x[self.count * self.width + 1 :]]

    def prices(self) -> Prices:
        assert self.solution is not None
        groups = len(self.limits)
        marginals = np.asarray(self.solution.ineqlin.marginals)
        return Prices(
            distortions=-marginals[:groups],
            adversaries=-marginals[groups : self._after_groups],
            values=np.asarray(self.solution.eqlin.marginals),
        )

    def release(self) -> Floats:
        """The channel, without symbols that are never drawn; symbols with one posterior are one."""
        return merged_channel(self.symbols().T)


def merged_channel(table: Floats) -> Floats:
    """Unnormalised symbols (columns) as a channel: those that are never drawn left out, equal ones merged."""
    table = np.clip(table, 0.0, None)
    table = table[:, table.max(axis=0) > 1e-9]
    shapes = np.round(table / table.sum(axis=0), 7)
    inverse = np.unique(shapes, axis=1, return_inverse=True)[1].ravel()
    merged = np.zeros((len(table), int(inverse.max()) + 1))
    np.add.at(merged.T, inverse, table.T)
    release: Floats = merged / merged.sum(axis=1, keepdims=True)
    return release


def _sparse(
    rows: Sequence[NDArray[np.int64]],
    columns: Sequence[NDArray[np.int64]],
    values: Sequence[Floats],
    shape: tuple[int, int],
) -> csr_array:
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(entries, shape=shape).tocsr()
