"""The best release under caps, as a linear program whose symbols are generated as they are needed.

A symbol matters to an authorised group only through the guess it makes there for each cell of what the group knows: its
rule. One symbol for each rule is enough, because losses and caps survive merging. There are too many rules to list, so
the program starts with some, and its prices say what a further symbol would be worth. Symbols are added while one is
worth anything; a mixed-integer program over *all* rules then bounds what is still missing, so that ``bound`` is proved:
no release under the same caps and law leaves the worst adversary more.

The adversaries' losses are concave in a symbol, and enter as tangents, added where the solution overshoots. Under the
logarithmic loss a rule is a belief, which hardly two symbols share: there the program mixes symbols as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aegis.arrays import Floats
from aegis.candidates.sanitizers.capped_master import Master, MixtureMaster, RuleMaster
from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, MatrixCost
from aegis.candidates.sanitizers.law import Cone, Law, cone_of
from aegis.candidates.sanitizers.pricing import (
    Prices,
    best_symbol,
    most_a_belief_is_worth,
    most_a_symbol_is_worth,
    symbol_values,
)
from aegis.errors import SanitizerError

_POOL = 600  # symbols that are tried without a program
_ADDED = 6  # symbols a round
_ROUNDS = 40
_GAIN = 2e-4  # a symbol worth less than this share of the loss ends the search
_TIGHTENING = 60  # times that tangents are added where no symbol is


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


def solve(problem: CappedProblem) -> CappedOptimum:
    """The release that leaves the worst adversary most; caps that nothing satisfies raise, and say how far they are.

    Its bound is that of silence until `with_bound` sharpens it.
    """
    optimum = solve_or_none(problem)
    if optimum is None:
        raise SanitizerError(how_far(problem, nearest_distortions(problem)))
    return optimum


def with_bound(problem: CappedProblem, optimum: CappedOptimum, *, seconds: float = 10.0) -> CappedOptimum:
    """The optimum with the bound over all rules, as good as ``seconds`` of a mixed-integer program make it.

    Under the logarithmic loss it is one over all symbols, found by division and not by the clock.
    """
    if optimum.prices is None:
        return optimum
    cone = cone_of(problem.law, problem.caps)
    if isinstance(problem.cost, LogCost):
        missing = most_a_belief_is_worth(problem, cone, optimum.prices)
    else:
        missing = most_a_symbol_is_worth(problem, cone, optimum.prices, seconds=seconds)
    bound = min(optimum.value + max(missing, 0.0), optimum.bound)
    return replace(optimum, bound=max(bound, optimum.worst))


def most_any_release_leaves(problem: CappedProblem) -> float:
    """What no release leaves the worst adversary more than, if it keeps these caps and distortions under the estimate.

    Everything else that a release was found under is dropped: the set of laws, events and records that are nearly
    certain. What only fewer releases keep would be no bound of all of them.
    """
    under_estimate = replace(problem, law=replace(problem.law.estimate, events=None, nearly_sure=()))
    optimum = solve_or_none(under_estimate)
    if optimum is None:
        return min(under_estimate.silent_losses)  # nobody errs by more than without a release
    return with_bound(under_estimate, optimum).bound


def solve_or_none(problem: CappedProblem) -> CappedOptimum | None:
    """As `solve`, and None where nothing satisfies the caps within the distortions."""
    optimum, missed = _searched(problem)
    return optimum if problem.met(missed) else None


def _searched(problem: CappedProblem, *, feasible: bool = False) -> tuple[CappedOptimum, list[float]]:
    """The best release, and by how much each group's distortion cannot be met.

    ``feasible`` asks only whether the distortions can be met: the search ends as soon as they are.
    """
    cone = cone_of(problem.law, problem.caps)
    pool = _pool(problem.law, cone, np.random.default_rng(0))
    master: Master
    if isinstance(problem.cost, LogCost):
        master = MixtureMaster(problem)
        master.add(pool)
    else:
        master = RuleMaster(problem, cone)
        master.add(_spread(pool, problem))
    scale = problem.scale
    for _ in range(_ROUNDS):
        tight = master.solve(once=feasible)
        if feasible and problem.met(master.missed):
            break
        prices = master.prices()
        worth = symbol_values(problem, prices, pool)
        order = np.argsort(-worth, kind="stable")[:60]
        added: list[Floats] = []
        seen: set[bytes] = set()
        for place in order:
            rule = _rule_key(problem, pool[place])
            if rule in seen:
                continue
            seen.add(rule)
            symbol, value = best_symbol(problem, cone, prices, pool[place])
            if value > _GAIN * scale:
                added.append(symbol)
            if len(seen) >= _ADDED:
                break
        if not added:
            if feasible or not isinstance(problem.cost, MatrixCost):
                break  # only a matrix has as many tangents as guesses, so that all of them are soon there
            if not tight and master.solve(rounds=_TIGHTENING):
                continue  # what a symbol is worth was read off losses that nobody has
            again = _used_anew(problem, cone, master)
            again.solve(rounds=_TIGHTENING)
            if _worst(problem, again) <= _worst(problem, master) + _GAIN * scale:
                break
            master = again
            continue
        pool = np.vstack([pool, added])
        master.drop_unused()
        master.add(np.array(added))
    return optimum_of(problem, master), master.missed


def _used_anew(problem: CappedProblem, cone: Cone, master: Master) -> Master:
    """The program over the symbols of a solution, each by the rule that is best for it now."""
    again = RuleMaster(problem, cone)
    symbols = master.release().T
    again.add(np.vstack([symbols / (symbols @ problem.law.prior)[:, None], np.ones((1, problem.law.size))]))
    return again


def _worst(problem: CappedProblem, master: Master) -> float:
    """What the solution truly leaves the worst adversary; nothing where it misses a distortion."""
    return min(problem.losses_of(master.release())) if problem.met(master.missed) else -np.inf


def optimum_of(problem: CappedProblem, master: Master) -> CappedOptimum:
    """The solution of a program as a release, with its figures under the law."""
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
    """The guess for each cell of each authorised group, as bytes."""
    rules = (problem.cost.best(table.T * symbol) for table in problem.law.authorized)
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
    inside = cone.drawn_in(rough)
    return np.asarray(inside / (inside @ law.prior)[:, None])


def _spread(pool: Floats, problem: CappedProblem) -> Floats:
    """One symbol for each of the first rules in the pool."""
    chosen: dict[bytes, Floats] = {}
    for symbol in pool:
        chosen.setdefault(_rule_key(problem, symbol), symbol)
        if len(chosen) >= max(30, 2 * problem.law.size):
            break
    return np.array(list(chosen.values()))


def nearest_distortions(problem: CappedProblem) -> tuple[float, ...]:
    """The distortions nearest to those asked for that the caps allow, a thousandth above."""
    missed = _searched(problem, feasible=True)[1]
    return tuple(1.001 * (limit + over) for limit, over in zip(problem.distortions, missed, strict=True))


def how_far(problem: CappedProblem, nearest: Sequence[float]) -> str:
    """The nearest distortions that would do, and the nearest feasible value of each cap at those asked for."""
    within = ", ".join(f"{value:.4g}" for value in problem.distortions)
    vain: list[str] = []
    ways = [f"a distortion of about {', '.join(f'{value:.4g}' for value in nearest)}"]
    for name, words in (
        ("posterior", "a posterior of"),
        ("leakage", "a leakage of"),
        ("local_dp", "a local differential privacy of"),
    ):
        if getattr(problem.caps, name) is not None:
            loosest = _nearest_cap(problem, name)
            if loosest is None:
                vain.append(words[2:-3])
            else:
                ways.append(f"{words} about {loosest:.4g}")
    which = f"{ways[0]} would do" if len(ways) == 1 else f"each of these alone would do: {'; '.join(ways)}"
    none = f"; no other cap on {' or '.join(vain)} alone would" if vain else ""
    return f"no release keeps {problem.caps.describe()} within a distortion of {within}; {which}{none}"


def _nearest_cap(problem: CappedProblem, name: str) -> float | None:
    """The tightest value of one cap, the others as they are, under which the distortions can be met."""
    near, far = 0.0, 1.0
    for step in range(7):
        share = 1.0 if step == 0 else (near + far) / 2
        trial = replace(problem, caps=problem.caps.looser(name, share))
        fits = problem.met(_searched(trial, feasible=True)[1])
        if step == 0 and not fits:
            return None
        near, far = (near, share) if fits else (share, far)
    value = getattr(problem.caps.looser(name, far), name)
    return float(value)
