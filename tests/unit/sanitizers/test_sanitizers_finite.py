"""The finite programs, against enumeration of posteriors and of releases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from aegis.candidates.sanitizers.finite import FiniteProblem, bayes_loss, binary_problem, finite_problem, optimum
from aegis.errors import SanitizerError

QS = st.floats(0.05, 0.45)
BINARY = st.builds(
    lambda p, qy, qz: binary_problem(p=p, qy=qy, qz=qz), st.floats(0.1, 0.9), QS, st.lists(QS, min_size=1, max_size=2)
)


def posterior_program(problem: FiniteProblem, distortion: float) -> float:
    """The optimum for a binary X by another route: a program over the breakpoints of the posterior."""
    points = {0.0, 1.0}
    for channel in (problem.authorized, *problem.adversaries):
        for low, high in channel.T:
            points.add(low / (low + high))
    grid = np.array(sorted(points))
    posteriors = np.stack([1 - grid, grid], axis=1)
    wrong = 1.0 - np.eye(2)
    costs = np.array([bayes_loss(t, problem.authorized, wrong) for t in posteriors])
    losses = np.array([[bayes_loss(t, z, wrong) for z in problem.adversaries] for t in posteriors])
    count, adversaries = losses.shape
    rows = np.vstack([np.append(costs, 0.0), np.hstack([-losses.T, np.ones((adversaries, 1))])])
    solution = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=rows,
        b_ub=np.append(min(distortion, problem.max_distortion), np.zeros(adversaries)),
        A_eq=np.vstack([np.append(np.ones(count), 0.0), np.append(grid, 0.0)]),
        b_eq=[1.0, problem.prior[1]],
    )
    return float(-solution.fun)


@settings(max_examples=40, deadline=None)
@given(problem=BINARY, share=st.floats(0.02, 1.2))
def test_the_rule_program_equals_the_posterior_program(problem: FiniteProblem, share: float) -> None:
    distortion = share * problem.max_distortion
    best = optimum(problem, distortion=distortion)
    assert best.exact
    assert best.worst == pytest.approx(posterior_program(problem, distortion), abs=1e-7)
    assert best.distortion <= min(distortion, problem.max_distortion) + 1e-7


@settings(max_examples=15, deadline=None)
@given(problem=BINARY, share=st.floats(0.05, 1.0))
def test_two_symbols_beat_every_release_on_a_grid(problem: FiniteProblem, share: float) -> None:
    distortion = share * problem.max_distortion
    best = optimum(problem, distortion=distortion, symbols=2)
    s0, s1 = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81)))
    releases = np.stack([np.stack([s0, 1 - s0], -1), np.stack([1 - s1, s1], -1)], axis=1)

    def loss(channel: np.ndarray) -> np.ndarray:
        joint = np.einsum("x,rxf,xs->rxfs", problem.prior, releases, channel)
        return np.asarray(joint.min(axis=1).sum(axis=(1, 2)))

    worst = np.min([loss(z) for z in problem.adversaries], axis=0)
    feasible = loss(problem.authorized) <= distortion + 1e-12
    assert best.worst >= worst[feasible].max() - 2e-6
    assert best.distortion <= distortion + 1e-7
    # and the exact form of the same optimum: one linear program for each pair of reconstruction rules
    assert best.worst <= optimum(problem, distortion=distortion).worst + 1e-7


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), share=st.floats(0.1, 0.9), size=st.integers(2, 3))
def test_any_alphabet_and_any_cost(seed: int, share: float, size: int) -> None:
    rng = np.random.default_rng(seed)
    problem = finite_problem(
        prior=rng.dirichlet(np.ones(size) * 3),
        authorized=rng.dirichlet(np.ones(3) * 0.5, size=size),
        adversaries=[rng.dirichlet(np.ones(2), size=size) for _ in range(2)],
        distortion_cost=rng.random((size, size)) * (1 - np.eye(size)),
        loss_cost=rng.random((size, 4)),
    )
    distortion = share * problem.max_distortion
    best = optimum(problem, distortion=distortion)
    assert best.distortion <= distortion + 1e-7
    few = optimum(problem, distortion=distortion, symbols=size)
    assert few.worst <= best.worst + 1e-6
    # no random release that meets the distortion does better
    releases = rng.dirichlet(np.full(5, 0.3), size=(3000, size))
    for release in releases[:300]:
        if problem.distortion_of(release) <= distortion:
            assert problem.losses_of(release).min() <= best.worst + 1e-7


def test_many_side_values_need_threshold_rules_only() -> None:
    rng = np.random.default_rng(1)
    channel = rng.dirichlet(np.ones(14), size=2)
    problem = finite_problem(prior=[0.4, 0.6], authorized=channel, adversaries=[rng.dirichlet(np.ones(5), size=2)])
    best = optimum(problem, distortion=problem.max_distortion / 2)
    assert best.exact
    assert best.worst == pytest.approx(posterior_program(problem, problem.max_distortion / 2), abs=1e-7)


def test_the_papers_binary_setting() -> None:
    problem = binary_problem(p=0.54, qy=0.2, qz=[0.44])
    for i, two, any_size in [(3, 0.02, 0.044), (15, 0.1, 0.22), (20, 0.206667, 0.293333), (25, 0.366667, 0.366667)]:
        target = 0.2 * i / 30
        assert optimum(problem, distortion=target, symbols=2).worst == pytest.approx(two, abs=1e-6)
        best = optimum(problem, distortion=target)
        assert best.worst == pytest.approx(any_size, abs=1e-6)
        assert best.release.shape[1] <= 3


def test_merging_symbols_never_helps_an_adversary() -> None:
    rng = np.random.default_rng(2)
    problem = finite_problem(
        prior=rng.dirichlet(np.ones(4)),
        authorized=rng.dirichlet(np.ones(3), size=4),
        adversaries=[rng.dirichlet(np.ones(3), size=4)],
    )
    release = rng.dirichlet(np.ones(5), size=4)
    for a, b in itertools.combinations(range(5), 2):
        merged = np.delete(release, b, axis=1)
        merged[:, a] += release[:, b]
        assert problem.losses_of(merged)[0] >= problem.losses_of(release)[0] - 1e-12


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"p": 0.0, "qy": 0.2, "qz": [0.4]}, "constant"),
        ({"p": 0.5, "qy": 0.0, "qz": [0.4]}, "equals the private column"),
        ({"p": 0.5, "qy": 0.2, "qz": [1.0]}, "equals the private column"),
        ({"p": 0.5, "qy": 0.2, "qz": []}, "no adversary"),
    ],
)
def test_bad_binary_problems_are_refused(arguments: dict[str, float], match: str) -> None:
    with pytest.raises(SanitizerError, match=match):
        binary_problem(**arguments)  # type: ignore[arg-type]


def test_bad_finite_problems_are_refused() -> None:
    with pytest.raises(SanitizerError, match="add up to 1"):
        finite_problem(prior=[0.5, 0.4], authorized=np.eye(2), adversaries=[np.eye(2)])
    with pytest.raises(SanitizerError, match="side channel"):
        finite_problem(prior=[0.5, 0.5], authorized=np.ones((2, 2)), adversaries=[np.eye(2)])
    with pytest.raises(SanitizerError, match="at least one symbol"):
        optimum(binary_problem(p=0.5, qy=0.2, qz=[0.4]), distortion=0.1, symbols=0)
