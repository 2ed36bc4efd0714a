"""The linear program over the classes found so far: it proposes prices, and fees for limits on their number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from aegis.candidates.clusters.arrays import Floats
from aegis.candidates.clusters.centres import Centres


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At least (sign 1) or at most (−1) ``count`` classes have a centre up to a grid point, and this mode if not −1."""

    mode: int
    point: int
    sign: int
    count: int

    def replaces(self, other: Limit) -> bool:
        """Whether this limit leaves nothing to the other: same place, same side."""
        return (self.mode, self.point, self.sign) == (other.mode, other.point, other.sign)


def bonus_of(limits: tuple[Limit, ...], fees: Floats, shape: tuple[int, ...]) -> Floats:
    """What the fees add to the savings of a class at each centre."""
    bonus = np.zeros(shape)
    for limit, fee in zip(limits, fees, strict=True):
        rows = slice(None) if limit.mode < 0 else slice(limit.mode, limit.mode + 1)
        bonus[rows, : limit.point + 1] += limit.sign * fee
    return bonus


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Solved:
    """Prices and fees that no known class saves more than the class price by."""

    prices: Floats
    fees: Floats
    ceiling: float  # the best bound that these classes allow
    shares: Floats  # how much of a class is opened at each centre, (modes, grid points)
    boxed: bool  # whether prices would leave the box they were kept in


@dataclass(slots=True, kw_only=True)
class ClassProgram:
    """A pool of classes, each at a centre."""

    centres: Centres
    most_classes: int
    free: bool
    _keys: list[tuple[int, int, int]] = field(default_factory=list)  # mode, point, hash of the members
    _cost: list[float] = field(default_factory=list)
    _fresh: list[Floats] = field(default_factory=list)  # members of classes that are not in the matrix yet
    _known: set[tuple[int, int, int]] = field(default_factory=set)
    _matrix: Any = None
    _slack: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, taken: Floats, mode: int, point: int) -> None:
        """One more class, unless it is there."""
        key = (mode, point, hash(taken.tobytes()))
        if key in self._known:
            return
        self._known.add(key)
        self._keys.append(key)
        self._fresh.append(taken)
        self._cost.append(self.centres.cost(taken, mode, point))

    def solve(
        self,
        limits: tuple[Limit, ...],
        low: Floats,
        high: Floats,
        *,
        most_fee: float,
        allowed: NDArray[np.bool_],
    ) -> Solved | None:
        """The prices within a box that promise the best bound, or None if the solver gives up."""
        matrix, place, cost = self._arrays()
        use = np.flatnonzero(allowed[place[:, 0], place[:, 1]])
        mode, point = place[use].T
        fees = [one.sign * ((point <= one.point) & ((one.mode < 0) | (mode == one.mode))) for one in limits]
        tuples, width = matrix.shape[1], len(limits)
        system = hstack([matrix[use], csr_matrix(np.column_stack([np.full(len(use), -1.0), *fees]))]).tocsr()
        aim = np.concatenate(
            [self.centres.points.weight, [-float(self.most_classes)], [float(one.sign * one.count) for one in limits]]
        )
        lower = np.concatenate([low, np.zeros(1 + width)])
        upper = np.concatenate([high, [0.0 if self.free else np.inf], np.full(width, most_fee)])
        result = linprog(-aim, A_ub=system, b_ub=cost[use], bounds=np.column_stack([lower, upper]), method="highs-ds")
        if result.x is None:
            return None
        shares = np.zeros(allowed.shape)
        np.add.at(shares, (mode, point), -result.ineqlin.marginals)
        pull = np.abs(result.lower.marginals[:tuples]) + np.abs(result.upper.marginals[:tuples])
        self._slack = np.full(len(cost), np.inf)
        self._slack[use] = cost[use] - system @ result.x
        return Solved(
            prices=result.x[:tuples],
            fees=result.x[tuples + 1 :],
            ceiling=float(-result.fun),
            shares=shares,
            boxed=bool(pull.max() > 1e-7),
        )

    def _arrays(self) -> tuple[Any, NDArray[np.int64], Floats]:
        """The pool as arrays; when it has grown too large, those that mattered least in the last solution go."""
        if self._fresh:
            fresh = csr_matrix(np.array(self._fresh))
            self._matrix = fresh if self._matrix is None else vstack([self._matrix, fresh]).tocsr()
            self._fresh = []
        most = 5 * self._matrix.shape[1] + 500
        if len(self._cost) > most and len(self._slack):
            slack = np.concatenate([self._slack, np.zeros(len(self._cost) - len(self._slack))])
            keep = np.sort(np.argsort(slack, kind="stable")[: 3 * most // 5])
            self._matrix = self._matrix[keep]
            self._keys = [self._keys[i] for i in keep]
            self._cost = [self._cost[i] for i in keep]
            self._known = set(self._keys)
            self._slack = slack[keep]
        place = np.array([(mode, point) for mode, point, _ in self._keys], dtype=np.int64)
        return self._matrix, place, np.array(self._cost)
