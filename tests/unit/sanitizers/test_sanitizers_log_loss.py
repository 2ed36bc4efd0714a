"""The logarithmic loss: the program against a list of symbols, the bound against all of them, attackers in bits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from aegis.candidates.sanitizers.attackers import bits, fit_table, fit_table_shares, stating
from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, bayes
from aegis.candidates.sanitizers.capped_program import solve, with_bound
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.law import Law, cone_of, exact_law
from aegis.candidates.sanitizers.pricing import Prices, most_a_belief_is_worth, symbol_values
from aegis.candidates.sanitizers.proof import adversary_proofs
from aegis.candidates.sanitizers.symbol_tuning import refined

Floats = NDArray[np.float64]


def some_law(size: int, seed: int) -> Law:
    rng = np.random.default_rng(seed)
    return exact_law(
        rng.dirichlet(np.full(size, 3.0)),
        [rng.dirichlet(np.full(4, 0.5), size)],
        [rng.dirichlet(np.ones(3), size), rng.dirichlet(np.ones(3), size)],
    )


def entropies(table: Floats, symbols: Floats) -> Floats:
    """H(value | cell, symbol) of each symbol, times its share: written here from the definition."""
    joint = table.T[None] * symbols[:, None, :]
    shares = joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300)
    return np.asarray(-(joint * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=(1, 2)))


def by_listing(law: Law, distortion: float, cap: float, steps: int) -> float:
    """The best mixture of every symbol on a grid of posteriors: a linear program with a weight for each."""
    if law.size == 2:
        grid = np.array([[i, steps - i] for i in range(steps + 1)])
    else:
        grid = np.array([[i, j, steps - i - j] for i in range(steps + 1) for j in range(steps + 1 - i)])
    symbols = grid / steps / law.prior
    for table in law.adversaries:
        joint = table.T[None] * symbols[:, None, :]
        posterior = joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300)
        highest = np.maximum(cap, 1 - (1 - (table / table.sum(axis=0)).T) / 2)
        symbols = symbols[(posterior <= highest + 1e-9).all(axis=(1, 2))]
    lost = [entropies(table, symbols) for table in law.adversaries]
    count, adversaries = len(symbols), len(lost)
    rows = np.zeros((1 + adversaries, count + 1))
    rows[0, :count] = entropies(law.authorized[0], symbols)
    rows[1:, :count], rows[1:, count] = -np.array(lost), 1.0
    found = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=rows,
        b_ub=np.append(distortion, np.zeros(adversaries)),
        A_eq=np.hstack([symbols.T, np.zeros((law.size, 1))]),
        b_eq=np.ones(law.size),
        bounds=(0, None),
    )
    assert found.success
    return -float(found.fun)


@pytest.mark.parametrize(
    ("size", "seed", "share", "cap", "steps"),
    [
        (2, 0, 0.5, 1.0, 800),
        (2, 1, 0.3, 1.0, 800),
        (2, 2, 0.95, 0.97, 800),
        (3, 0, 0.7, 0.95, 40),
        (3, 1, 0.3, 1.0, 40),
    ],
)
def test_the_program_in_bits_equals_a_list_of_symbols_and_reaches_its_bound(
    size: int, seed: int, share: float, cap: float, steps: int
) -> None:
    law, cost = some_law(size, seed), LogCost(size)
    silent = float(bayes(cost, law.authorized[0].T).sum())
    problem = CappedProblem(
        law=law,
        cost=cost,
        distortions=(share * silent,),
        caps=Caps(posterior=cap),
    )
    found = with_bound(problem, solve(problem))
    listed = by_listing(law, share * silent, cap, steps)
    assert found.distortions[0] <= share * silent * 1.0001
    assert found.worst == pytest.approx(min(problem.losses_of(found.release)))
    # a list on a grid reaches at most the best, and nearly
    assert listed - 5e-4 <= found.worst <= listed + (2e-4 if size == 2 else 6e-3)
    assert listed <= found.bound
    assert found.gap < 3e-3
    shown = found.release.T / (found.release.T @ law.prior)[:, None]
    assert cone_of(law, problem.caps).inside(shown).all()
    again = refined(problem, found.release)
    assert again is not None
    assert again.worst == pytest.approx(found.worst, rel=1e-3)


@pytest.mark.parametrize("size", [3, 4])
def test_a_release_that_tells_too_little_is_made_to_meet_the_distortion(size: int) -> None:
    law, cost = some_law(size, size), LogCost(size)
    silent = float(bayes(cost, law.authorized[0].T).sum())
    problem = CappedProblem(
        law=law,
        cost=cost,
        distortions=(0.7 * silent,),
        caps=Caps(posterior=0.95),
    )
    best = solve(problem)
    quieter = 0.5 * best.release + 0.5 * (law.prior @ best.release)
    assert problem.distortions_of(quieter)[0] > 0.8 * silent
    found = refined(problem, quieter)
    assert found is not None
    assert found.distortions[0] <= 0.7 * silent * 1.0001
    assert 0.98 * best.worst <= found.worst <= 1.002 * best.worst
    shown = found.release.T / (found.release.T @ law.prior)[:, None]
    assert cone_of(law, problem.caps).inside(shown).all()


def test_no_symbol_is_worth_more_than_the_bound_however_few_simplices_there_are() -> None:
    rng = np.random.default_rng(5)
    for size in (2, 3, 4):
        law, cost = some_law(size, size), LogCost(size)
        problem = CappedProblem(law=law, cost=cost, distortions=(0.1,), caps=Caps(local_dp=1.5))
        cone = cone_of(law, problem.caps)
        prices = Prices(
            distortions=rng.uniform(0.2, 2, 1), adversaries=rng.dirichlet(np.ones(2)), values=rng.uniform(-1, 1, size)
        )
        symbols = cone.drawn_in(rng.dirichlet(np.full(size, 0.7), 3000) / law.prior)
        symbols /= (symbols @ law.prior)[:, None]
        largest = float(symbol_values(problem, prices, symbols).max())
        bounds = [most_a_belief_is_worth(problem, cone, prices, most_halved=most) for most in (0, 50, 5000)]
        assert largest <= bounds[2] + 1e-5
        assert bounds[2] <= bounds[1] + 1e-9
        assert bounds[1] <= bounds[0] + 1e-9
        if size == 2:
            assert bounds[2] <= max(largest, 0.0) + 0.01, "where the symbols are dense, many simplices come close"


def test_the_proved_bits_fail_as_seldom_as_they_say() -> None:
    rng = np.random.default_rng(3)
    cost, rows = LogCost(2), 400
    table = np.array([[0.8, 0.2], [0.3, 0.7]])
    true = float(entropies(np.array([0.7, 0.3])[:, None] * table, np.ones((1, 2)))[0])
    proved = []
    for _ in range(200):
        x = (rng.random(rows) < 0.3).astype(int)
        z = (rng.random(rows) < table[x, 1]).astype(int)
        seen = np.zeros((2, 2))
        np.add.at(seen, (x, z), 1 / rows)
        empirical = float(bayes(cost, seen.T).sum())
        (proof,) = adversary_proofs(
            [true], [empirical], cells=[(2, True)], largest=cost.largest, rows=rows, doubt=0.1, slack=cost.slack
        )
        proved.append(proof.proved_loss)
    assert np.mean(np.array(proved) > true) <= 0.1
    assert np.mean(proved) > 0.5 * true, "it says something"


def test_attackers_that_state_chances_are_scored_in_bits() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 1500)
    shown = np.where(rng.random(1500) < 0.7, codes, rng.integers(0, 3, 1500)).astype(float)[:, None]
    side = rng.standard_normal((1500, 1))
    best = -(0.8 * np.log2(0.8) + 0.2 * np.log2(0.1))
    features = np.hstack([shown, side])
    fitted = {name: stating(name, features[:900], codes[:900], size=3) for name in ("trees", "neighbours")}
    fitted["table"] = fit_table_shares(shown[:900], side[:900], codes[:900], size=3)
    for name, attacker in fitted.items():
        stated = attacker(features[900:])
        assert np.allclose(stated.sum(axis=1), 1.0), name
        assert stated.min() > 0, name
        assert best - 0.15 < bits(stated, codes[900:]).mean() < best + 0.4, name
    guesses = fit_table(shown[:900], side[:900], codes[:900].astype(float))(features[900:])
    assert (guesses == fitted["table"](features[900:]).argmax(axis=1)).all()
