from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from aegis.errors import MeasureError
from aegis.measures.deviation import deviation, is_borrowed, losses, retained_share
from aegis.measures.measure import AttributeMeasure, find_attribute_measure, measures_of

stacks = arrays(np.int64, (3, 6, 2), elements=st.integers(0, 9)).filter(lambda c: (c.sum(axis=(1, 2)) > 0).all())
MONOTONE = [name for name, measure in measures_of(AttributeMeasure).items() if measure.monotone]


@pytest.mark.parametrize("name", MONOTONE)
@given(stack=stacks)
@settings(max_examples=30, deadline=None)
def test_for_monotone_measures_a_loss_is_the_absolute_difference(name: str, stack: NDArray[np.int64]) -> None:
    measure = find_attribute_measure(name)
    original, masked = measure(stack), measure(stack.reshape(3, 3, 2, 2).sum(axis=2))
    plain, absolute = losses(measure, original, masked), losses(measure, original, masked, absolute=True)
    np.testing.assert_allclose(plain, absolute, atol=1e-9)
    np.testing.assert_allclose(deviation(absolute), np.abs(original - masked).mean(), atol=1e-12)


@pytest.mark.parametrize("name", list(measures_of(AttributeMeasure)))
def test_keeping_everything_is_one_and_blanking_everything_is_nought(name: str) -> None:
    measure = find_attribute_measure(name)
    joint = np.array([[40, 2, 3], [1, 30, 4], [0, 2, 20], [0, 0, 9]])
    original = measure(np.stack([joint, joint[::-1]]))
    label = joint.sum(axis=0)
    blank = measure(np.stack([label[None, :], label[None, :]]))
    assert retained_share(measure, original, original, label=label) == pytest.approx(1.0)
    assert retained_share(measure, original, blank, label=label) == pytest.approx(0.0)
    halfway = (original + blank) / 2
    assert retained_share(measure, original, halfway, label=label) == pytest.approx(0.5)


def test_a_gain_is_a_negative_loss_and_a_borrowed_share() -> None:
    measure = find_attribute_measure("leave-one-out-information")
    identifier = np.eye(2, dtype=np.int64)[np.arange(40) % 2]
    halves = identifier.reshape(20, 2, 2).sum(axis=0)  # merged by a hidden rule that knows the label
    original, masked = measure(identifier)[None], measure(halves)[None]
    assert losses(measure, original, masked)[0] < 0
    share = retained_share(measure, original, masked, label=identifier.sum(axis=0))
    assert np.isposinf(share)
    assert is_borrowed(share)
    assert not is_borrowed(np.array(1.0 + 1e-12))


def test_nothing_to_lose_is_nothing_lost() -> None:
    measure = find_attribute_measure("mutual-information")
    nothing = np.zeros(2)
    assert retained_share(measure, nothing, nothing, label=np.array([5, 5])) == 1.0


def test_the_three_averages() -> None:
    of_attributes = np.array([[0.2, 0.0, 0.4], [0.0, 0.0, 0.0]])
    masked = np.array([[True, False, True], [False, False, False]])
    np.testing.assert_allclose(deviation(of_attributes), [0.2, 0.0])
    np.testing.assert_allclose(deviation(of_attributes, averaging="sum"), [0.6, 0.0])
    np.testing.assert_allclose(deviation(of_attributes, averaging="masked-mean", masked=masked), [0.3, 0.0])
    with pytest.raises(MeasureError, match="which are masked"):
        deviation(of_attributes, averaging="masked-mean")
    with pytest.raises(MeasureError, match="no averaging called 'median'"):
        deviation(of_attributes, averaging="median")


def test_bootstrap_replicates_are_carried_along() -> None:
    measure = find_attribute_measure("g3")
    rng = np.random.default_rng(0)
    original, masked = rng.random((7, 4)) / 4, rng.random((7, 4)) / 4 + 0.25
    label = rng.integers(20, 30, size=(7, 3))
    together = retained_share(measure, original, masked, label=label)
    one_by_one = [retained_share(measure, o, m, label=y) for o, m, y in zip(original, masked, label, strict=True)]
    np.testing.assert_allclose(together, one_by_one)
