"""The arithmetic of the promise: conversions that never claim too little, and an account that cannot be overdrawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from aegis.candidates.synthesis.measuring import (
    Account,
    Measured,
    Measurer,
    OpenDPNoise,
    Promise,
    SeededNoise,
    delta_of,
    rho_of,
)
from aegis.errors import GuaranteeError, OptionError


def _gaussian_delta(sigma: float, epsilon: float) -> float:
    """The exact δ of one Gaussian measurement of sensitivity 1 (Balle and Wang 2018)."""
    return float(norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-0.5 / sigma - epsilon * sigma))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 10.0, 50.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_conversion_is_above_the_exact_delta_of_a_gaussian_and_below_the_textbook(
    epsilon: float, delta: float
) -> None:
    rho = rho_of(epsilon, delta)
    assert delta_of(rho, epsilon) <= delta
    assert _gaussian_delta(1 / math.sqrt(2 * rho), epsilon) <= delta * (1 + 1e-9)
    # Bun and Steinke: ρ-zCDP is (ρ + 2 √(ρ ln(1/δ)), δ)-DP, so that ρ would be enough, and ours allows no less.
    textbook = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert rho >= textbook * (1 - 1e-6)


def test_delta_grows_with_rho_and_falls_with_epsilon() -> None:
    deltas = [delta_of(rho, 1.0) for rho in np.linspace(0.001, 0.5, 40)]
    assert deltas == sorted(deltas)
    falling = [delta_of(0.05, epsilon) for epsilon in np.linspace(0.1, 5.0, 40)]
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("wrong", [0.0, -1.0, 101.0, math.nan, math.inf])
def test_an_epsilon_that_promises_nothing_is_refused(wrong: float) -> None:
    with pytest.raises(OptionError, match="epsilon"):
        Promise(epsilon=wrong, delta=1e-6)


@pytest.mark.parametrize("wrong", [0.0, -1e-6, 0.01, 1.0, math.nan])
def test_a_delta_that_promises_nothing_is_refused(wrong: float) -> None:
    with pytest.raises(OptionError, match="delta"):
        Promise(epsilon=1.0, delta=wrong)


def test_an_account_cannot_be_overdrawn() -> None:
    account = Account.of(Promise(epsilon=1.0, delta=1e-6), finds_values=True)
    measurer = Measurer(account, SeededNoise(np.random.default_rng(0)))
    counts = np.zeros(3, dtype=np.int64)
    measurer.counts(counts, rho=0.7 * account.rho, what="first", columns=("a",))
    with pytest.raises(GuaranteeError, match="exceed"):
        measurer.counts(counts, rho=0.4 * account.rho, what="second", columns=("a",))
    assert len(account.measured) == 1, "what was refused is not noted as spent"
    with pytest.raises(GuaranteeError, match="search for values"):
        account.spend(Measured(what="values", columns=("a",), numbers=1, sigma=1.0, rho=0.0, delta=1e-6))


def test_the_whole_budget_with_what_may_be_found_comes_to_the_promise() -> None:
    for finds in (False, True):
        account = Account.of(Promise(epsilon=1.0, delta=1e-6), finds_values=finds)
        assert delta_of(account.rho, 1.0) + account.found_delta <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize("rows_each", [1, 4])
def test_noise_grows_with_what_one_unit_can_move(rows_each: int) -> None:
    account = Account.of(Promise(epsilon=1.0, delta=1e-6, person="who", rows_each=rows_each), finds_values=False)
    measurer = Measurer(account, SeededNoise(np.random.default_rng(0)))
    assert measurer.sigma(0.01) == pytest.approx(rows_each * math.sqrt(50))
    measurer.errors(np.zeros(9), rho=0.01, what="errors")
    entry = account.measured[0]
    assert entry.rho == pytest.approx(rows_each**2 * entry.marginals / (2 * entry.sigma**2))


def test_the_noise_of_opendp_is_whole_and_as_wide_as_stated() -> None:
    noisy = OpenDPNoise().on_counts(np.full(1000, 1000, dtype=np.int64), sigma=20.0)
    assert np.array_equal(noisy, np.round(noisy))
    # Both bounds are more than nine standard deviations of their estimates away.
    assert abs(noisy.mean() - 1000) < 6.0
    assert 15.0 < noisy.std() < 25.0
    assert abs(OpenDPNoise().on_numbers(np.zeros(1000), sigma=5.0).std() - 5.0) < 1.25
