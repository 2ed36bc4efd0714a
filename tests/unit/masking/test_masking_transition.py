"""Laws of partitions and channels, whatever mask made them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import HierarchyError
from aegis.masking.mask import Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.digits import EraseDigits
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.noise import AddGaussianNoise, AddLaplaceNoise
from aegis.masking.masks.randomize import Randomize, Shuffle
from aegis.masking.masks.round import Round
from aegis.masking.masks.suppress import Suppress
from aegis.masking.masks.tokens import Token
from aegis.masking.transition import Chain, Channel, Partition, compose, transition

DOMAINS = st.builds(
    lambda values, missing: Domain.of(Kind.INTEGER, values, missing=missing),
    st.lists(st.integers(-60, 60), min_size=1, max_size=25),
    st.booleans(),
)
MASKS_: list[Mask] = [
    Identity(),
    Suppress(),
    Token(),
    Round(step=10),
    EraseDigits(digits=1),
    Bucketize(width=7, origin=3),
    Bucketize(quantiles=3),
    Randomize(keep=0.3),
    AddLaplaceNoise(scale=3),
    Shuffle(),
    Chain(links=(Round(step=10), AddLaplaceNoise(scale=3), Bucketize(width=20))),
]


def entropy(counts: Any) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def information(joint: Any) -> float:
    return entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel())


@settings(deadline=None)
@given(data=st.data(), domain=DOMAINS, mask=st.sampled_from(MASKS_))
def test_masking_keeps_the_label_and_adds_no_information(data: st.DataObject, domain: Domain, mask: Mask) -> None:
    joint = data.draw(arrays(np.int64, (domain.size, 3), elements=st.integers(0, 50)).filter(lambda a: a.sum() > 0))
    step = transition(mask, domain, joint.sum(axis=1))
    masked = step.push(joint, axis=0)
    assert masked.sum(axis=0) == pytest.approx(joint.sum(axis=0))
    assert (masked >= 0).all()
    assert information(masked) <= information(joint) + 1e-9
    sideways = step.push(joint.T, axis=1)
    assert sideways == pytest.approx(masked.T)
    assert step.matrix.T @ joint == pytest.approx(masked)


@settings(deadline=None)
@given(domain=DOMAINS, first=st.sampled_from(MASKS_[:10]), second=st.sampled_from([Round(step=4), Suppress()]))
def test_a_chain_is_the_composition_of_its_links(domain: Domain, first: Mask, second: Mask) -> None:
    if (first.kind_after(Kind.INTEGER) is not Kind.INTEGER and isinstance(second, Round)) or first.injective:
        return
    counts = np.arange(1, domain.size + 1)
    one = transition(first, domain, counts)
    two = transition(second, one.target, one.push(counts))
    both = transition(Chain(links=(first, second)), domain, counts)
    assert both.target == two.target
    assert both.matrix == pytest.approx(compose(one, two).matrix)
    assert both.push(counts) == pytest.approx(two.push(one.push(counts)))


@given(domain=DOMAINS, width=st.integers(1, 20), times=st.integers(1, 5))
def test_wider_buckets_that_nest_are_coarser(domain: Domain, width: int, times: int) -> None:
    counts = np.ones(domain.size)
    fine = transition(Bucketize(width=width), domain, counts)
    coarse = transition(Bucketize(width=width * times), domain, counts)
    assert isinstance(fine, Partition)
    assert isinstance(coarse, Partition)
    assert fine.refines(coarse)
    assert Partition.identity(domain).refines(fine)
    if fine.target.size > coarse.target.size:
        assert not coarse.refines(fine)


@given(domain=DOMAINS, number=st.integers(1, 8))
def test_quantile_and_count_buckets_are_no_more_than_asked(domain: Domain, number: int) -> None:
    counts = np.arange(1, domain.size + 1)
    for mask in (Bucketize(quantiles=number), Bucketize(count=number)):
        assert len(transition(mask, domain, counts).target.values) <= number


def test_quantiles_are_about_equally_frequent() -> None:
    domain = Domain.of(Kind.INTEGER, range(1000))
    counts = np.random.default_rng(0).integers(1, 20, size=1000)
    pushed = transition(Bucketize(quantiles=10), domain, counts).push(counts)
    assert len(pushed) == 10
    assert np.abs(pushed / counts.sum() - 0.1).max() < 0.01


def test_a_check_of_the_values_names_the_column_and_counts_what_is_absent() -> None:
    tree = Hierarchy.of([["x", "few", "*"]])
    domain = Domain.of(Kind.TEXT, ["canary", "x"])
    for mask in (Generalize(level=1, hierarchy=tree), Chain(links=(Generalize(level=1, hierarchy=tree), Suppress()))):
        with pytest.raises(HierarchyError, match="column 'city' misses 1 of the column's 2 values"):
            mask.check_domain(domain, column="city")
        mask.check_domain(Domain.of(Kind.TEXT, ["x"]), column="city")


def test_identity_keeps_the_domain_as_it_is() -> None:
    domain = Domain.of(Kind.REAL, [1.0, 2.0], missing=True, discretised=True)
    assert transition(Identity(), domain, np.ones(3)).target is domain


def test_randomised_response_keeps_its_epsilon() -> None:
    domain = Domain.of(Kind.TEXT, list("abcdefg"))
    step = transition(Randomize(epsilon=1.25), domain, np.ones(7))
    ratios = step.matrix[:, None, :] / step.matrix[None, :, :]
    assert ratios.max() == pytest.approx(np.exp(1.25))
    assert transition(Randomize(epsilon=800), domain, np.ones(7)).matrix == pytest.approx(np.eye(7))


@pytest.mark.parametrize("mask", [AddLaplaceNoise(scale=3), AddGaussianNoise(scale=3)])
def test_noise_does_not_pile_up_at_the_least_and_the_greatest_value(mask: Mask) -> None:
    values = [38.9, 41.0, *(50 + number / 10 for number in range(500)), 107.3, 210.7]
    domain = Domain.of(Kind.REAL, values)
    made = transition(mask, domain, np.ones(len(values)))
    assert (made.target.values[0], made.target.values[-1]) == (50.0, 100.0)


def test_noise_has_the_probabilities_of_its_distribution() -> None:
    domain = Domain.of(Kind.INTEGER, [0, 10])
    step = transition(AddLaplaceNoise(scale=2, low=-3, high=12), domain, np.ones(2))
    assert step.target.values.tolist() == list(range(-3, 13))
    # P(outcome 1 | 0) is the mass of Laplace(2) between 0.5 and 1.5, P(-3 | 0) everything below -2.5.
    assert step.matrix[0, 4] == pytest.approx((np.exp(-0.25) - np.exp(-0.75)) / 2)
    assert step.matrix[0, 0] == pytest.approx(np.exp(-1.25) / 2)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [([[0.5, 0.4]], "sum to one"), ([[1.5, -0.5]], "non-negative"), ([[1.0]], "one .* per masked value")],
)
def test_a_channel_is_checked(matrix: list[list[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Channel(matrix=np.array(matrix), target=Domain.of(Kind.INTEGER, [1, 2]))


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_rounding_goes_to_the_nearest_and_halves_up(value: int, step: int) -> None:
    rounded = int(Round(step=step).on_values(np.array([value]))[0])
    assert rounded % step == 0
    assert -step < 2 * (value - rounded) <= step or 2 * (value - rounded) == -step
    assert 2 * (value - rounded) != step, "a half goes up"


def test_decimal_ends_mean_what_they_say() -> None:
    values = np.array([0.3, 0.6, 0.7, 1.1, 2.3, 0.1 + 0.2, 0.29999999999999993])
    assert Bucketize(width=0.1).on_values(values).tolist() == [
        "[0.3, 0.4)", "[0.6, 0.7)", "[0.7, 0.8)", "[1.1, 1.2)", "[2.3, 2.4)", "[0.3, 0.4)", "[0.2, 0.3)",
    ]  # fmt: skip
    assert Round(step=0.1).on_values(np.array([0.15, 0.25, 0.35, 53.54999])).tolist() == [0.2, 0.3, 0.4, 53.5]
