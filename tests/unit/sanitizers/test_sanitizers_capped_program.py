"""The program under caps: as good as a list of all rules, caps that hold, bounds that are bounds."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, MatrixCost, SquaredCost, bayes, zero_one
from aegis.candidates.sanitizers.capped_program import solve, solve_or_none, with_bound
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.law import Law, cone_of, estimated_law, exact_law, interval
from aegis.candidates.sanitizers.proof import figures_over_set, law_free_figures, proved_loss
from aegis.errors import SanitizerError

Floats = NDArray[np.float64]


def some_law(size: int, seed: int, *, adversaries: int = 1, groups: int = 1) -> Law:
    rng = np.random.default_rng(seed)
    known = [0.6 * np.eye(size) + 0.4 * rng.dirichlet(np.ones(size), size) for _ in range(groups)]
    others = [0.1 * np.eye(size) + 0.9 * rng.dirichlet(np.ones(size), size) for _ in range(adversaries)]
    return exact_law(rng.dirichlet(np.full(size, 4.0)), known, others)


def posed(law: Law, share: float, caps: Caps) -> CappedProblem:
    groups = len(law.authorized)
    open_problem = CappedProblem(
        law=law,
        cost=zero_one(law.size),
        distortions=(1.0,) * groups,
        caps=caps,
    )
    return CappedProblem(
        law=law,
        cost=open_problem.cost,
        distortions=tuple(share * left for left in open_problem.silent_distortions),
        caps=caps,
    )


def listed_optimum(problem: CappedProblem) -> float:
    """An independent reference for two values and one group: every rule has a symbol, every row is written out."""
    law = problem.law
    known, others = law.authorized[0], law.adversaries
    rules = list(itertools.product(range(2), repeat=known.shape[1]))
    count, cells = len(rules), sum(table.shape[1] for table in others)
    width = count * (2 + cells) + 1
    rows, limits = [], []
    budget = np.zeros(width)
    for f, rule in enumerate(rules):
        for x in range(2):
            budget[2 * f + x] = sum(known[x, y] for y in range(known.shape[1]) if rule[y] != x)
    rows.append(budget)
    limits.append(problem.distortions[0])
    first = 0
    for table in others:
        worst = np.zeros(width)
        worst[-1] = 1.0
        for f, z in itertools.product(range(count), range(table.shape[1])):
            at = 2 * count + f * cells + first + z
            worst[at] = -1.0
            for guess in range(2):
                row = np.zeros(width)
                row[at], row[2 * f + 1 - guess] = 1.0, -table[1 - guess, z]
                rows.append(row)
                limits.append(0.0)
            share = table[:, z] / table[:, z].sum()
            for x in range(2):
                row = np.zeros(width)
                if problem.caps.posterior is not None:
                    cap = max(problem.caps.posterior, (1 + float(share[x])) / 2)
                    row[2 * f + x], row[2 * f + 1 - x] = share[x] * (1 - cap), -cap * share[1 - x]
                elif problem.caps.leakage is not None:
                    row[[2 * f, 2 * f + 1]] = -math.exp(problem.caps.leakage) * share
                    row[2 * f + x] += 1.0
                elif problem.caps.local_dp is not None:
                    row[2 * f + x], row[2 * f + 1 - x] = 1.0, -math.exp(problem.caps.local_dp)
                rows.append(row)
                limits.append(0.0)
        rows.append(worst)
        limits.append(0.0)
        first += table.shape[1]
    sums = np.zeros((2, width))
    for x in range(2):
        sums[x, np.arange(count) * 2 + x] = 1.0
    found = linprog(-np.eye(width)[-1], A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=np.ones(2), bounds=(0, None))
    return -float(found.fun)


@pytest.mark.parametrize("caps", [Caps(), Caps(posterior=0.96), Caps(leakage=0.8), Caps(local_dp=2.5)])
@pytest.mark.parametrize("seed", [0, 1])
def test_symbols_made_on_demand_reach_the_list_of_all_rules(caps: Caps, seed: int) -> None:
    problem = posed(some_law(2, seed, adversaries=2), 0.8, caps)
    found = with_bound(problem, solve(problem))
    assert found.worst == pytest.approx(listed_optimum(problem), rel=2e-3)
    assert found.worst <= found.bound <= found.worst * 1.003
    assert found.exact
    assert found.distortions[0] <= problem.distortions[0] + 1e-7


@pytest.mark.parametrize("caps", [Caps(posterior=0.9, leakage=1.4), Caps(local_dp=3.0)])
def test_caps_hold_for_several_groups_and_adversaries(caps: Caps) -> None:
    law = some_law(4, 3, adversaries=2, groups=2)
    problem = posed(law, 0.85, caps)
    found = with_bound(problem, solve(problem), seconds=2.0)
    assert np.allclose(found.release.sum(axis=1), 1.0)
    assert all(mine <= asked + 1e-6 for mine, asked in zip(found.distortions, problem.distortions, strict=True))
    posterior, leakage, exceeded = figures_over_set(law, found.release, caps)
    if caps.posterior is not None:
        assert posterior <= caps.posterior + 1e-6
        assert exceeded == 0.0
        assert leakage is not None
        assert leakage <= 1.4 + 1e-6
    else:
        epsilon = law_free_figures(found.release)[1]
        assert epsilon is not None
        assert epsilon <= 3.0 + 1e-5
    free = solve(posed(law, 0.85, Caps()))
    assert found.worst <= free.worst + 1e-3, "caps cost something or nothing"
    assert found.worst <= found.bound


def test_a_looser_limit_is_never_worse_and_more_side_information_never_better() -> None:
    law = some_law(3, 5)
    losses = [solve(posed(law, 0.6 + 0.1 * step, Caps(posterior=0.95))).worst for step in range(3)]
    assert losses == sorted(losses)
    together = some_law(3, 5, adversaries=3)
    assert solve(posed(together, 0.6, Caps(posterior=0.95))).worst <= losses[0] + 1e-3


def test_what_cannot_be_says_how_far_it_is() -> None:
    problem = posed(some_law(3, 2), 0.3, Caps(posterior=0.8))
    with pytest.raises(SanitizerError, match=r"no release keeps posterior at most 0\.8") as refused:
        solve(problem)
    ways = str(refused.value).split("would do")[1]
    distortion, posterior = (float(found) for found in re.findall(r" of (?:about )?([0-9.]+)(?:;|$)", ways))
    law = problem.law

    def at(distortion: float, posterior: float) -> bool:
        asked = CappedProblem(
            law=law,
            cost=problem.cost,
            distortions=(distortion,),
            caps=Caps(posterior=posterior),
        )
        return solve_or_none(asked) is not None

    assert at(distortion, 0.8)
    assert not at(0.98 * distortion, 0.8)
    assert at(problem.distortions[0], posterior + 1e-3)
    assert not at(problem.distortions[0], posterior - 0.02)


def test_caps_hold_for_every_law_of_the_box_and_few_rows_make_it_wide() -> None:
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 3000)
    cells = (codes + rng.integers(0, 3, 3000)) % 3
    caps = Caps(posterior=0.85)
    widths = []
    for rows in (300, 3000):
        law = estimated_law(codes[:rows], [codes[:rows]], [cells[:rows]], size=3, confidence=0.95)
        assert (law.lows[0] <= law.estimate.lows[0]).all()
        assert (law.estimate.lows[0] <= law.highs[0]).all()
        widths.append(float((law.highs[0] - law.lows[0]).mean()))
        symbols = cone_of(law, caps).drawn_in(rng.dirichlet(np.full(3, 0.2), 40))
        for _ in range(40):
            drawn = rng.uniform(law.lows[0], law.highs[0])
            share = drawn / drawn.sum(axis=0)
            if not ((share >= law.lows[0]) & (share <= law.highs[0])).all():
                continue  # the box holds unnormalised corners too
            joint = symbols[:, :, None] * share[None]
            posterior = joint / joint.sum(axis=1, keepdims=True)
            assert (posterior <= np.maximum(0.85, (1 + law.highs[0]) / 2) + 1e-6).all()
    assert widths[0] > 2 * widths[1]
    low, high = interval(np.array([0.0, 20.0]), np.array([20.0, 20.0]), doubt=0.01)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] < 0.3
    assert low[1] > 0.7


def test_numbers_logarithms_and_any_matrix_are_costs() -> None:
    law = some_law(4, 11)
    means = np.array([0.0, 1.0, 2.0, 5.0])
    for cost in (SquaredCost(means, np.full(4, 0.1)), MatrixCost(np.abs(means[:, None] - means)), LogCost(4)):
        silent = float(bayes(cost, law.authorized[0].T).sum())
        problem = CappedProblem(
            law=law,
            cost=cost,
            distortions=(0.7 * silent,),
            caps=Caps(posterior=0.97),
        )
        found = with_bound(problem, solve(problem), seconds=0.3)
        assert found.distortions[0] <= 0.7 * silent * 1.0001
        assert found.distortions[0] <= found.worst <= found.bound * 1.0001
        rng = np.random.default_rng(0)
        weights = rng.dirichlet(np.ones(4), 50)
        smallest = bayes(cost, weights)
        assert (weights @ cost.tangents().T >= smallest[:, None] - 1e-9).all(), "a tangent lies above"
        assert ((weights @ cost.floors().T).min(axis=1) <= smallest + 1e-9).all(), "a floor lies below"


def test_whatever_an_adversary_knows_it_keeps_its_share_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        release = rng.dirichlet(np.ones(4), 3)
        kept, epsilon = law_free_figures(release)
        assert epsilon is not None
        assert kept >= math.exp(-epsilon) - 1e-12
        joint = rng.dirichlet(np.full(3, 0.4), 6).T / 6  # any side information at all
        for cost in (zero_one(3), MatrixCost(rng.random((3, 5))), LogCost(3)):
            without = float(bayes(cost, joint.T).sum())
            with_it = float(bayes(cost, joint.T[:, None, :] * release.T[None]).sum())
            assert with_it >= kept * without - 1e-5
    assert law_free_figures(np.eye(2)) == (0.0, None)


def test_the_proved_loss_fails_as_seldom_as_it_says() -> None:
    rng = np.random.default_rng(3)
    prior, rows = 0.3, 400
    table = np.array([[0.8, 0.2], [0.3, 0.7]])
    true = float(np.minimum((1 - prior) * table[0], prior * table[1]).sum())
    failed = 0
    for _ in range(300):
        x = (rng.random(rows) < prior).astype(int)
        z = (rng.random(rows) < table[x, 1]).astype(int)
        joint = np.zeros((2, 2))
        np.add.at(joint, (x, z), 1 / rows)
        seen = float(np.minimum(joint[0], joint[1]).sum())
        failed += proved_loss(seen, largest=1.0, rows=rows, doubt=0.1) > true
    assert failed <= 30
    assert proved_loss(0.2, largest=1.0, rows=100, doubt=0.05) < proved_loss(0.2, largest=1.0, rows=10_000, doubt=0.05)
    assert proved_loss(0.0, largest=1.0, rows=100, doubt=0.05) == 0.0


@pytest.mark.parametrize(
    ("given", "words"),
    [({"posterior": 0.0}, "above 0"), ({"leakage": -1.0}, "positive"), ({"local_dp": math.inf}, "positive")],
)
def test_a_cap_that_is_none_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SanitizerError, match=words):
        Caps(**given)


def test_the_search_goes_on_until_losses_are_those_that_adversaries_have() -> None:
    """Six values: the losses of the last program were above the true ones, and its symbols were used by old rules."""
    rng = np.random.default_rng(4)
    law = exact_law(rng.dirichlet(np.full(6, 3.0)), [rng.dirichlet(np.full(4, 0.5), 6)], [rng.dirichlet(np.ones(8), 6)])
    found = solve(posed(law, 0.5, Caps(local_dp=4.0)))
    assert found.worst == pytest.approx(found.value, rel=1e-6)
    assert found.worst == pytest.approx(0.341221, abs=1e-5), "what the mixed-integer program bounds it by"
