"""Branching on how many classes lie below a value: it lifts a bound that more time for its prices would not lift.

The linear program over the classes found so far proposes prices. It may open half a class here and half a class
there, which no partition can: the number of classes whose centre is at most x is whole. So it is at most c or at least
c + 1, for whatever x and c. Each case is bounded on its own by prices, with a fee for the limit, and the smaller of
the two bounds holds. The case with the smallest bound is split next. Where every such number is whole, the classes of
one mode are counted.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.clusters.centres import Centres, hills

ROUNDS = 25  # of cutting planes for one case
CUTS = 60  # classes added per round
REFRESHES = 8  # rounds of new classes before a case is split
TRIED = 8  # splits whose effect is looked at before one is chosen
CLOSE = 1e-4  # of the bound: a case whose prices are that near their best is split instead of improved


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
        self, limits: tuple[Limit, ...], low: Floats, high: Floats, *, most_fee: float, allowed: Flags
    ) -> Solved | None:
        """The prices within a box that promise the best bound, or None if the solver gives up."""
        matrix, place, cost = self._arrays()
        use = np.flatnonzero(allowed[place[:, 0], place[:, 1]])
        mode, point = place[use].T
        fees = [limit.sign * ((point <= limit.point) & ((limit.mode < 0) | (mode == limit.mode))) for limit in limits]
        tuples, width = matrix.shape[1], len(limits)
        system = hstack([matrix[use], csr_matrix(np.column_stack([np.full(len(use), -1.0), *fees]))]).tocsr()
        aim = np.concatenate(
            [
                self.centres.points.weight,
                [-float(self.most_classes)],
                [float(limit.sign * limit.count) for limit in limits],
            ]
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

    def _arrays(self) -> tuple[Any, Ints, Floats]:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Case:
    """Partitions with certain limits: no one costs less than ``bound``."""

    limits: tuple[Limit, ...]
    prices: Floats
    fees: Floats  # one per limit
    bound: float
    centres: Flags  # those that a partition cheaper than the known one can use at all, (modes, grid points)


@dataclass(slots=True, kw_only=True)
class Branching:
    """The cases of a table, given what a known partition costs: dearer ones are of no interest."""

    centres: Centres
    program: ClassProgram
    most_classes: int
    known: float
    deadline: float

    def bound(self, prices: Floats) -> float:
        """The best bound until the deadline; prices come from the bound without limits."""
        everywhere = np.ones((len(self.centres.modes), len(self.centres.grid)), dtype=np.bool_)
        root = Case(limits=(), prices=prices, fees=np.empty(0), bound=-np.inf, centres=everywhere)
        number = count()  # decides between equal bounds
        root = self._relaxed(root)
        heap = [(root.bound, next(number), root)]
        while heap and time.monotonic() < self.deadline:
            case = heap[0][2]
            halves = self._split(case)
            if halves is None:  # every count is whole, or time is up: this case stays as it is
                break
            children = [self._relaxed(half) for half in halves]
            heapq.heappop(heap)
            for child in children:
                if child.bound < self.known:
                    heapq.heappush(heap, (child.bound, next(number), child))
        return min(heap[0][0], self.known) if heap else self.known

    def _relaxed(self, case: Case) -> Case:
        """Better prices and fees for a case, by cutting planes, and the centres that they rule out."""
        best, prices, fees = case, case.prices, case.fees
        box = 0.1 * max(float(np.abs(prices).mean()), 1e-6)
        top = -np.inf
        for turn in range(ROUNDS):
            if time.monotonic() >= self.deadline:
                break
            savings = self._savings(case, prices, fees)
            most = max(float(savings.max()), 0.0)
            bound = float(self.centres.points.weight @ prices) - self.most_classes * most
            bound += sum(float(fee) * limit.sign * limit.count for fee, limit in zip(fees, case.limits, strict=True))
            improved = bound > top
            if improved:
                top, best = bound, replace(case, prices=prices, fees=fees, bound=max(bound, case.bound))
                reach = most - (self.known - bound)
                best = replace(best, centres=case.centres & (savings >= reach))
            if best.bound >= self.known:
                break
            self._add(prices, savings)
            solved = self._solve(case, case.limits, best.prices, box)
            if solved is None:
                break
            near = solved.ceiling - top
            if not solved.boxed and (near < CLOSE * abs(top) or (turn > 10 and 2 * near < self.known - top)):
                break
            share = (0.3, 0.6, 0.9)[turn % 3]  # part of the way: the proposals of cutting planes overshoot
            prices = best.prices + share * (solved.prices - best.prices)
            fees = best.fees + share * (solved.fees - best.fees)
            if solved.boxed:
                box *= 1.4 if improved else 1.05
            elif not improved:
                box *= 0.9
        return best

    def _savings(self, case: Case, prices: Floats, fees: Floats) -> Floats:
        """What a class can save at each centre that is left, fees counted."""
        savings = self.centres.savings(prices) + bonus_of(case.limits, fees, case.centres.shape)
        return np.where(case.centres, savings, -np.inf)

    def _solve(self, case: Case, limits: tuple[Limit, ...], prices: Floats, box: float) -> Solved | None:
        return self.program.solve(limits, prices - box, prices + box, most_fee=self.known, allowed=case.centres)

    def _add(self, prices: Floats, savings: Floats) -> None:
        """The classes that save most, one per hill, each at its hill and at the centre nearest to it."""
        mode, point = np.nonzero(hills(savings) > -np.inf)
        for e in np.argsort(-savings[mode, point], kind="stable")[:CUTS]:
            taken = self.centres.members(prices, int(mode[e]), int(point[e]))
            self.program.add(taken, int(mode[e]), int(point[e]))
            self.program.add(taken, *self.centres.nearest(taken))

    def _split(self, case: Case) -> tuple[Case, Case] | None:
        """The two cases of the split that promises to lift the smaller bound most."""
        box = 0.1 * max(float(np.abs(case.prices).mean()), 1e-6)
        solved = self._refreshed(case, box)
        if solved is None:
            return None
        chosen, promise = None, -np.inf
        for below, above in self._candidates(solved.shares):
            if time.monotonic() >= self.deadline:
                return None
            ceilings = []
            for limit in (below, above):
                half = self._solve(case, _tightened(case, limit).limits, case.prices, box)
                ceilings.append(self.known if half is None else min(half.ceiling, self.known))
            if min(ceilings) + 0.1 * max(ceilings) > promise:
                chosen, promise = (below, above), min(ceilings) + 0.1 * max(ceilings)
        return None if chosen is None else (_tightened(case, chosen[0]), _tightened(case, chosen[1]))

    def _refreshed(self, case: Case, box: float) -> Solved | None:
        """The program solved with the classes that only this case needs, and in a box that is no hindrance."""
        prices, fees, solved = case.prices, case.fees, None
        for _ in range(REFRESHES):
            self._add(prices, self._savings(case, prices, fees))
            solved = self._solve(case, case.limits, case.prices, box)
            if solved is None or (solved.ceiling <= self.known and not solved.boxed):
                break
            prices, fees = solved.prices, solved.fees
            box *= 2
        return solved

    def _candidates(self, shares: Floats) -> list[tuple[Limit, Limit]]:
        ranked = sorted(halves(-1, shares.sum(axis=0), self.centres.grid), key=lambda half: -half[0])
        if not ranked:
            modes = range(len(shares))
            ranked = sorted(
                (h for m in modes for h in halves(m, shares[m], self.centres.grid)), key=lambda half: -half[0]
            )
        return [(below, above) for _, below, above in ranked[:TRIED]]


def halves(mode: int, shares: Floats, grid: Floats) -> Iterator[tuple[float, Limit, Limit]]:
    """For each whole number, where to ask whether more classes lie below: a score and the two answers."""
    used = np.flatnonzero(shares > 1e-7)
    if len(used) == 0:
        return
    below = np.cumsum(shares[used])
    after = np.append(used[1:], len(grid) - 1)
    whole = np.floor(below + 1e-6)
    part = below - whole
    open_part = part * (1 - part) * ((part > 0.02) & (part < 0.98))
    for number in np.unique(whole[open_part > 0]):
        here = np.flatnonzero(whole == number)
        best = here[np.argmax(open_part[here] * (grid[after[here]] - grid[used[here]] + grid[1] - grid[0]))]
        first, last = np.searchsorted(below, [number + 1e-6, number + 1 - 1e-6])
        span = grid[used[min(last, len(used) - 1)]] - grid[used[first]]
        point = int((used[best] + after[best]) // 2)
        at_most = Limit(mode=mode, point=point, sign=-1, count=int(number))
        at_least = Limit(mode=mode, point=point, sign=1, count=int(number) + 1)
        yield float(open_part[best] * span * span), at_most, at_least


def _tightened(case: Case, limit: Limit) -> Case:
    """The case with one more limit; a looser one of the same kind gives way."""
    remaining = [
        (earlier, fee) for earlier, fee in zip(case.limits, case.fees, strict=True) if not limit.replaces(earlier)
    ]
    return replace(
        case,
        limits=(*(earlier for earlier, _ in remaining), limit),
        fees=np.array([*(fee for _, fee in remaining), 0.0]),
    )
