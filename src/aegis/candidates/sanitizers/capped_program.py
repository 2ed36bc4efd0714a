"""The best release under caps, as a linear program whose symbols are generated as they are needed.

A symbol matters to an authorised group only through the guess it makes there for each cell of what the group knows: its
rule. One symbol for each rule is enough, because losses and caps survive merging. There are too many rules to list, so
the program starts with some, and its prices say what a further symbol would be worth. Symbols are added while one is
worth anything; a mixed-integer program over *all* rules then bounds what is still missing, so that ``bound`` is proved:
no release under the same caps and law leaves the worst adversary more.

The adversaries' losses are concave in a symbol, and enter as tangents, added where the solution overshoots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import coo_array, csr_array

from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.cones import Cone, cone_of
from aegis.candidates.sanitizers.costs import Cost, bayes
from aegis.candidates.sanitizers.law import Law
from aegis.candidates.sanitizers.pricing import Prices, best_symbol, most_a_symbol_is_worth, symbol_values
from aegis.errors import NotConvergedError, SanitizerError

Floats = NDArray[np.float64]
_POOL = 600  # symbols that are tried without a program
_ADDED = 6  # symbols a round
_ROUNDS = 40
_GAIN = 2e-4  # a symbol worth less than this share of the loss ends the search
_TIGHT = 3e-4  # a tangent that lies closer than this share of the loss is close enough
_REFINING = 24  # times that tangents are added where no symbol will be
_KEPT = 40  # symbols that stay although the solution does not use them
_FORBIDDING = 1e3  # what a unit of distortion beyond the limit costs


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedOptimum:
    """A release ``release[x, f] = P(f | x)`` under caps, its figures under the law, and what is proved about it.

    ``bound`` is the most that any release under the same caps and distortions could leave the worst adversary;
    ``prices`` and ``value`` are those of the last program, from which it can be sharpened (`with_bound`).
    """

    release: Floats
    distortions: tuple[float, ...]
    adversary_losses: tuple[float, ...]
    bound: float
    value: float
    prices: Prices | None = field(default=None, repr=False, compare=False)

    @property
    def worst(self) -> float:
        """The loss of the adversary that knows most."""
        return min(self.adversary_losses)

    @property
    def gap(self) -> float:
        """The share of the bound that is not reached."""
        return max(0.0, 1 - self.worst / self.bound) if self.bound > 0 else 0.0

    @property
    def exact(self) -> bool:
        """Whether nothing better exists, up to rounding."""
        return self.gap <= 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CappedProblem:
    """A law, what errors cost each side, how much each authorised group may err, and the caps."""

    law: Law
    authorized_costs: tuple[Cost, ...]
    adversary_cost: Cost
    distortions: tuple[float, ...]
    caps: Caps

    def __post_init__(self) -> None:
        if not self.law.adversaries:
            raise SanitizerError("there is no adversary to protect against; name the side information of at least one")
        if len(self.distortions) != len(self.law.authorized) or len(self.authorized_costs) != len(self.law.authorized):
            raise SanitizerError("give each authorised group its own distortion and its own cost")
        if min(self.distortions) < 0:
            raise SanitizerError("a distortion is zero or more")

    @property
    def silent_distortions(self) -> tuple[float, ...]:
        """What each group errs by without a release; allowing more changes nothing."""
        return tuple(
            float(bayes(cost, table.T).sum())
            for cost, table in zip(self.authorized_costs, self.law.authorized, strict=True)
        )

    @property
    def silent_losses(self) -> tuple[float, ...]:
        """What each adversary is left with when nothing is released."""
        return tuple(float(bayes(self.adversary_cost, table.T).sum()) for table in self.law.adversaries)

    def distortions_of(self, release: Floats) -> tuple[float, ...]:
        """What each group errs by with a release."""
        return tuple(
            released_loss(table, release, cost)
            for cost, table in zip(self.authorized_costs, self.law.authorized, strict=True)
        )

    def losses_of(self, release: Floats) -> tuple[float, ...]:
        """What each adversary is left with after a release."""
        return tuple(released_loss(table, release, self.adversary_cost) for table in self.law.adversaries)


def released_loss(table: Floats, release: Floats, cost: Cost) -> float:
    """The smallest expected cost of guessing from a cell and a symbol; ``table[x, cell]`` are joint shares.

    The joint shares need not add up to 1: the loss of part of a law is linear in it.
    """
    return float(bayes(cost, table.T[:, None, :] * release.T[None, :, :]).sum())


def solve(problem: CappedProblem, *, seed: int = 0) -> CappedOptimum:
    """The release that leaves the worst adversary most; caps that nothing satisfies raise, and say how far they are.

    Its bound is that of silence until `with_bound` sharpens it.
    """
    optimum = solve_or_none(problem, seed=seed)
    if optimum is None:
        raise SanitizerError(_how_far(problem, seed))
    return optimum


def with_bound(problem: CappedProblem, optimum: CappedOptimum, *, seconds: float = 10.0) -> CappedOptimum:
    """The optimum with the bound over all rules, as good as ``seconds`` of a mixed-integer program make it."""
    if optimum.prices is None:
        return optimum
    cone = cone_of(problem.law, problem.caps)
    missing = most_a_symbol_is_worth(problem, cone, optimum.prices, seconds=seconds)
    bound = min(optimum.value + max(missing, 0.0), optimum.bound)
    return replace(optimum, bound=max(bound, optimum.worst))


def solve_or_none(problem: CappedProblem, *, seed: int = 0) -> CappedOptimum | None:
    """As `solve`, and None where nothing satisfies the caps within the distortions."""
    optimum, missed = _searched(problem, seed=seed)
    return optimum if _met(problem, missed) else None


def refined(problem: CappedProblem, release: Floats) -> CappedOptimum | None:
    """The best release whose symbols are used by the same rules as those of ``release``; None where none is feasible.

    What a search of another kind found becomes exact: caps and distortions hold, and the probabilities are the best.
    """
    cone = cone_of(problem.law, problem.caps)
    symbols = release.T[release.max(axis=0) > 1e-6]
    symbols = cone.drawn_in(symbols / (symbols @ problem.law.prior)[:, None])
    limits = [min(asked, left) for asked, left in zip(problem.distortions, problem.silent_distortions, strict=True)]
    master = _Master(problem, cone, limits)
    master.add(np.vstack([symbols, np.ones((1, problem.law.size))]))
    master.solve(max(1e-12, *problem.silent_losses), once=False, rounds=_REFINING)
    return _found(problem, master) if _met(problem, master.missed) else None


def _met(problem: CappedProblem, missed: Sequence[float]) -> bool:
    return max(missed) <= 1e-6 * max(1e-12, *problem.silent_distortions)


def _searched(problem: CappedProblem, *, seed: int, feasible: bool = False) -> tuple[CappedOptimum, list[float]]:
    """The best release, and by how much each group's distortion cannot be met.

    ``feasible`` asks only whether the distortions can be met: the search ends as soon as they are.
    """
    silent = problem.silent_distortions
    limits = [min(asked, left) for asked, left in zip(problem.distortions, silent, strict=True)]
    master = _Master(problem, cone_of(problem.law, problem.caps), limits)
    pool = _pool(problem.law, master.cone, np.random.default_rng(seed))
    master.add(_spread(pool, problem))
    scale = max(1e-12, *problem.silent_losses)
    for _ in range(_ROUNDS):
        master.solve(scale, once=feasible)
        if feasible and _met(problem, master.missed):
            break
        prices = master.prices()
        worth = symbol_values(problem, prices, pool)
        order = np.argsort(-worth, kind="stable")[:60]
        made: list[Floats] = []
        seen: set[bytes] = set()
        for place in order:
            rule = _rule_key(problem, pool[place])
            if rule in seen:
                continue
            seen.add(rule)
            symbol, value = best_symbol(problem, master.cone, prices, pool[place])
            if value > _GAIN * scale:
                made.append(symbol)
            if len(seen) >= _ADDED:
                break
        if not made:
            break
        pool = np.vstack([pool, made])
        master.drop_unused()
        master.add(np.array(made))
    return _found(problem, master), master.missed


def _found(problem: CappedProblem, master: _Master) -> CappedOptimum:
    release = master.release()
    losses = problem.losses_of(release)
    return CappedOptimum(
        release=release,
        distortions=problem.distortions_of(release),
        adversary_losses=losses,
        bound=max(min(problem.silent_losses), min(losses)),
        value=master.value,
        prices=master.prices(),
    )


def _rule_key(problem: CappedProblem, symbol: Floats) -> bytes:
    rules = [
        cost.best(table.T * symbol)
        for cost, table in zip(problem.authorized_costs, problem.law.authorized, strict=True)
    ]
    return b"".join(np.round(rule, 6).tobytes() for rule in rules)


def _pool(law: Law, cone: Cone, rng: np.random.Generator) -> Floats:
    """Symbols of many shapes inside the cone: single values, pairs, all but one, and mixtures."""
    size = law.size
    singles = np.eye(size)
    pairs = (singles[:, None, :] + singles[None, :, :]).reshape(-1, size)[: 4 * _POOL]
    drawn = rng.dirichlet(np.full(size, 0.3), size=_POOL) / law.prior
    even = rng.dirichlet(np.full(size, 2.0), size=_POOL // 3) / law.prior
    rough = np.vstack([singles, np.ones((1, size)), pairs, 1.0 - singles, drawn, even])
    rough = rough[rough.max(axis=1) > 0]
    rough = rough / (rough @ law.prior)[:, None]
    held = cone.drawn_in(rough)
    return np.asarray(held / (held @ law.prior)[:, None])


def _spread(pool: Floats, problem: CappedProblem) -> Floats:
    """One symbol for each of the first rules in the pool."""
    chosen: dict[bytes, Floats] = {}
    for symbol in pool:
        chosen.setdefault(_rule_key(problem, symbol), symbol)
        if len(chosen) >= max(30, 2 * problem.law.size):
            break
    return np.array(list(chosen.values()))


class _Master:
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
        self.rule_costs = [costs for costs, kept in zip(self.rule_costs, used, strict=True) if kept]
        self.cuts = [lines for lines, kept in zip(self.cuts, used, strict=True) if kept]

    def solve(self, scale: float, *, once: bool, rounds: int = 12) -> None:
        """Solve, tighten where a loss lies above what an adversary has, and solve again."""
        for _ in range(rounds):
            self._solved()
            if once:
                return
            symbols = self.symbols()
            true = self.tables[None] * symbols[:, None, :]
            costs = self.problem.adversary_cost.best(true)
            over = self._losses() - (true * costs).sum(axis=2)
            if over.clip(0).sum() <= _TIGHT * scale:
                return
            for f, cell in zip(*np.nonzero(over > _TIGHT * scale / (4 * over.size)), strict=True):
                self.cuts[f].append((int(cell), self.tables[cell] * costs[f, cell]))

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
            objective[first_slack + a] = _FORBIDDING * heaviest / max(silent, 1e-12)
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
        table = np.clip(self.symbols().T, 0.0, None)
        table = table[:, table.max(axis=0) > 1e-9]
        shapes = np.round(table / table.sum(axis=0), 7)
        inverse = np.unique(shapes, axis=1, return_inverse=True)[1].ravel()
        merged = np.zeros((self.size, int(inverse.max()) + 1))
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


def nearest_distortions(problem: CappedProblem, *, seed: int = 0) -> tuple[float, ...]:
    """The distortions nearest to those asked for that the caps allow, a thousandth above."""
    missed = _searched(problem, seed=seed, feasible=True)[1]
    return tuple(1.001 * (limit + over) for limit, over in zip(problem.distortions, missed, strict=True))


def _how_far(problem: CappedProblem, seed: int) -> str:
    """The nearest feasible distortion, and the nearest feasible value of each cap at the distortion asked for."""
    within = ", ".join(f"{value:.4g}" for value in problem.distortions)
    ways = [f"a distortion of {', '.join(f'{value:.4g}' for value in nearest_distortions(problem, seed=seed))}"]
    for name, words in (
        ("posterior", "a posterior of"),
        ("leakage", "a leakage of"),
        ("local_dp", "a local differential privacy of"),
    ):
        if getattr(problem.caps, name) is not None:
            loosest = _nearest_cap(problem, name, seed)
            ways.append(
                f"{words} {loosest:.4g}" if loosest is not None else f"no value of the cap on {words[2:-3]} alone"
            )
    return (
        f"no release keeps {problem.caps.describe()} within a distortion of {within}; each of these alone would do: "
        f"{'; '.join(ways)}"
    )


def _nearest_cap(problem: CappedProblem, name: str, seed: int) -> float | None:
    """The tightest value of one cap, the others as they are, under which the distortions can be met."""
    near, far = 0.0, 1.0
    for step in range(7):
        share = 1.0 if step == 0 else (near + far) / 2
        caps = problem.caps.looser(name, share)
        trial = CappedProblem(
            law=problem.law,
            authorized_costs=problem.authorized_costs,
            adversary_cost=problem.adversary_cost,
            distortions=problem.distortions,
            caps=caps,
        )
        fits = _met(problem, _searched(trial, seed=seed, feasible=True)[1])
        if step == 0 and not fits:
            return None
        near, far = (near, share) if fits else (share, far)
    value = getattr(problem.caps.looser(name, far), name)
    return float(value)
