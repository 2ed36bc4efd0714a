"""Proposition 1 and the plain releases, against brute force and against samples."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.sanitizers.components import Component, Erasure, Modulo, Noise
from aegis.candidates.sanitizers.gaussian import (
    GaussianProblem,
    coalition_problem,
    gaussian_problem,
    paper_problem,
    problem_from_json,
    proposition_1,
)
from aegis.candidates.sanitizers.mixtures import Library, best_mixture, erasure_losses, plain_library, plain_noise
from aegis.errors import SanitizerError

VARIANCES = st.floats(0.3, 20.0)


@st.composite
def problems(draw: st.DrawFn) -> GaussianProblem:
    size = draw(st.integers(3, 6))
    seed = draw(st.integers(0, 2**31))
    root = np.random.default_rng(seed).standard_normal((size, size + 1))
    return gaussian_problem(root @ root.T + 0.1 * np.eye(size))


@given(problem=problems(), share=st.floats(0.01, 1.5))
def test_proposition_1_is_the_conditional_variance_under_its_noise(problem: GaussianProblem, share: float) -> None:
    result = proposition_1(problem, distortion=share * problem.max_distortion)
    if math.isinf(result.noise_std):
        assert np.allclose(result.adversary_losses, problem.saturation_losses)
        return
    # the covariance with F as a further coordinate, conditioned by plain linear algebra
    size = problem.mean.size
    wide = np.zeros((size + 1, size + 1))
    wide[:size, :size] = problem.covariance
    wide[size, :size] = wide[:size, size] = problem.covariance[0]
    wide[size, size] = problem.private_variance + result.noise_std**2

    def left(party: tuple[int, ...]) -> float:
        seen = [*party, size]
        return float(wide[0, 0] - wide[0, seen] @ np.linalg.solve(wide[np.ix_(seen, seen)], wide[seen, 0]))

    assert left(problem.authorized) == pytest.approx(result.distortion, rel=1e-6)
    for party, loss in zip(problem.adversaries, result.adversary_losses, strict=True):
        assert left(party) == pytest.approx(loss, rel=1e-6)


@given(problem=problems(), share=st.floats(0.05, 0.95))
def test_proposition_1_is_the_papers_formula(problem: GaussianProblem, share: float) -> None:
    distortion = share * problem.max_distortion
    variance, v_y = problem.private_variance, problem.max_distortion
    rho_y = 1 - v_y / variance
    for v_z, loss in zip(
        problem.saturation_losses, proposition_1(problem, distortion=distortion).adversary_losses, strict=True
    ):
        rho_z = 1 - v_z / variance
        q = (rho_z - rho_y) / (variance * (1 - rho_z) * (1 - rho_y))
        assert loss == pytest.approx(distortion / (1 + q * distortion), rel=1e-9)


def test_paper_saturation_and_corners() -> None:
    problem = paper_problem()
    assert problem.max_distortion == pytest.approx(5.76)
    assert np.allclose(problem.saturation_losses, [15.8064, 9.24])
    assert proposition_1(problem, distortion=0).worst == 0
    assert proposition_1(problem, distortion=99).worst == pytest.approx(9.24)


def test_a_coalition_knows_more_than_its_members() -> None:
    problem = coalition_problem()
    assert problem.authorized == (1, 2)
    assert problem.max_distortion == pytest.approx(2.0)
    assert np.allclose(problem.saturation_losses, 9.0)
    # a release that the coalition can use within 1 leaves each member with more
    assert proposition_1(problem, distortion=1.0).worst > 1.5


@pytest.mark.parametrize(
    ("component", "variance"),
    [
        (Modulo(period=8.0), 5.76),
        (Modulo(period=3.0, blur=1.1), 2.0),
        (Modulo(period=12.0, blur=4.0), 9.24),
        (Modulo(period=math.inf, blur=3.0), 1.5),
        (Noise(std=1.3), 4.0),
        (Erasure(), 3.0),
    ],
)
def test_component_figures_match_samples(component: Component, variance: float) -> None:
    rng = np.random.default_rng(5)
    scores = 3.0 * rng.standard_normal(200_000)
    values = scores + math.sqrt(variance) * rng.standard_normal(scores.size)
    errors = values - component.posterior_mean(component.release(values, rng), scores, variance)
    assert (errors**2).mean() == pytest.approx(component.loss(variance), rel=0.02)
    assert abs(errors.mean()) < 0.03
    # the pinning adversary catches at least what the mean adversary catches
    assert component.pinned(variance, 0.2) >= (np.abs(errors) <= 0.2).mean() - 0.005


@settings(max_examples=25, deadline=None)
@given(period=st.floats(0.8, 20.0), share=st.floats(0.05, 0.9), variance=VARIANCES, epsilon=st.floats(0.05, 1.5))
def test_pinning_is_the_best_window_of_a_fine_grid(
    period: float, share: float, variance: float, epsilon: float
) -> None:
    blur = share * period
    step = min(blur, math.sqrt(variance), epsilon) / 60
    grid = np.arange(-8 * math.sqrt(variance), 8 * math.sqrt(variance), step)
    density = np.exp(-(grid**2) / (2 * variance)) * step / math.sqrt(2 * math.pi * variance)
    phases = (np.arange(60) + 0.5) / 60 * period
    window = round(2 * epsilon / step)
    total = 0.0
    for phase in phases:
        inside = np.abs((grid - phase + period / 2) % period - period / 2) <= blur / 2
        running = np.cumsum(np.append(0.0, density * inside))
        total += (running[window:] - running[:-window]).max() / blur * period / 60
    assert Modulo(period=period, blur=blur).pinned(variance, epsilon) == pytest.approx(min(total, 1.0), abs=0.03)


@settings(max_examples=30, deadline=None)
@given(variance=VARIANCES, period=st.floats(0.5, 30.0), share=st.just(0.0) | st.floats(0.01, 0.9))
def test_a_release_never_hurts_its_reader_and_more_side_information_never_does(
    variance: float, period: float, share: float
) -> None:
    component = Modulo(period=period, blur=share * period)
    assert -1e-9 <= component.loss(variance) <= variance * (1 + 1e-6)
    assert component.loss(variance / 2) <= component.loss(variance) * (1 + 1e-6) + 1e-12


@pytest.fixture(scope="module")
def paper_library() -> Library:
    problem = paper_problem()
    return plain_library(
        authorized_variance=problem.max_distortion,
        adversary_variances=tuple(problem.saturation_losses),
        epsilon=0.1 * problem.private_std,
    )


def test_mixtures_reach_the_published_gains(paper_library: Library) -> None:
    problem = paper_problem()
    free, capped, erased = [], [], []
    for i in range(1, 31):
        target = problem.max_distortion * i / 30
        reference = plain_noise(paper_library, distortion=target)
        theory = proposition_1(problem, distortion=target)
        assert reference.worst == pytest.approx(theory.worst)
        best = best_mixture(paper_library, distortion=target)
        under_cap = best_mixture(paper_library, distortion=target, caps=reference.pinned_shares)
        assert best.distortion <= target * (1 + 1e-6)
        assert max(np.subtract(under_cap.pinned_shares, reference.pinned_shares)) <= 1e-6
        free.append(best.worst / theory.worst)
        capped.append(under_cap.worst / theory.worst)
        erased.append(min(erasure_losses(paper_library, distortion=target)) / theory.worst)
    assert np.mean(free) >= 2.6
    assert np.mean(capped) >= 1.3
    assert np.mean(erased) == pytest.approx(1.30, abs=0.02)
    assert min(*free, *capped) >= 1 - 1e-6


def test_a_mixture_does_what_its_program_says(paper_library: Library) -> None:
    problem = paper_problem()
    reference = plain_noise(paper_library, distortion=0.6)
    best = best_mixture(paper_library, distortion=0.6, caps=reference.pinned_shares)
    rng = np.random.default_rng(3)
    samples = problem.sample(300_000, rng=rng)
    released = best.mixture.release(samples[:, 0], rng=rng)
    for party, expected in [(problem.authorized, 0.6), *zip(problem.adversaries, best.adversary_losses, strict=True)]:
        scores, variance = problem.score(samples, party), problem.conditional_variance(party)
        errors = samples[:, 0] - best.mixture.posterior_mean(released, scores, variance)
        assert (errors**2).mean() == pytest.approx(expected, rel=0.03)


def test_a_cap_that_nothing_meets_is_refused(paper_library: Library) -> None:
    with pytest.raises(SanitizerError, match="cap on exposure"):
        best_mixture(paper_library, distortion=0.1, caps=[0.01, 0.01])


@pytest.mark.parametrize(
    ("covariance", "match"),
    [
        ([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "positive definite"),
        ([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]], "symmetric"),
        ([[1.0, math.nan, 0.0], [math.nan, 1.0, 0.0], [0.0, 0.0, 1.0]], "not a number"),
        ([[1.0]], "square matrix"),
        ([[1.0, 1.0, 0.1], [1.0, 1.0, 0.1], [0.1, 0.1, 1.0]], "positive definite"),
        ([[1.0, 0.5], [0.5, 1.0]], "no adversary"),
    ],
)
def test_bad_covariances_are_refused_with_a_sentence(covariance: list[list[float]], match: str) -> None:
    with pytest.raises(SanitizerError, match=match):
        gaussian_problem(covariance)


@pytest.mark.parametrize("distortion", [-1.0, math.nan, math.inf])
def test_bad_distortions_are_refused(distortion: float) -> None:
    with pytest.raises(SanitizerError, match="positive number"):
        proposition_1(paper_problem(), distortion=distortion)


def test_a_covariance_file_is_checked() -> None:
    problem = problem_from_json({"covariance": [[2, 1, 1], [1, 2, 0], [1, 0, 2]]}, coalition=True)
    assert problem.adversaries == ((1,), (2,))
    documents: list[dict[str, object]] = [{"cov": []}, {"covariance": [[1, "a"], [0, 1]]}, {"covariance": "x"}]
    for document in documents:
        with pytest.raises(SanitizerError):
            problem_from_json(document)


def test_theory_needs_no_jax() -> None:
    code = (
        "import sys; from aegis.candidates.sanitizers import gaussian, finite, mixtures;"
        "sys.exit('jax' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
