"""The worked example of the draft that preceded the Aegis paper (PUMA), with the slips in it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.digits import StarDigits
from aegis.masking.masks.stars import StarTrailing
from aegis.masking.transition import Partition, transition
from aegis.measures.deviation import deviation, losses
from aegis.measures.information import entropy
from aegis.measures.measure import find_attribute_measure
from aegis.reconstruction.rebuilt_joints import per_configuration, pooled

AGES = np.array([21, 25, 30, 42, 48, 55])
ONES = np.ones(6, dtype=np.int64)  # table 1: every age once
JOINT = np.eye(3, dtype=np.int64)[[0, 0, 1, 2, 2, 0]]  # figure 1: good, good, moderate, poor, poor, good
TABLE_2 = np.array([[2, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 0]])
TABLE_3 = np.array([[3, 1, 0], [1, 0, 1]])
TABLE_4 = np.array([[2, 0, 0], [0, 1, 0], [0, 0, 2], [0, 0, 1]])


def on_ages(mask: Bucketize | StarDigits) -> Partition:
    found = transition(mask, Domain.of(Kind.INTEGER, AGES), ONES)
    assert isinstance(found, Partition)
    return found


TENS, HALVES, STARRED = on_ages(Bucketize(width=10)), on_ages(Bucketize(edges=(40,))), on_ages(StarDigits(digits=1))


def test_table_2_is_right() -> None:
    assert TENS.push(JOINT).tolist() == TABLE_2.tolist()


def test_table_3_contradicts_figure_3_and_table_1() -> None:
    """It counts four people from 20 to 40; the data have three, as the figure shows."""
    assert HALVES.push(JOINT).tolist() == [[2, 1, 0], [1, 0, 2]]
    with pytest.raises(SummaryError, match="histogram and mask contradict each other by 1 records"):
        per_configuration(HALVES, TABLE_3, histogram=ONES)


def test_table_4_contradicts_figure_3_and_table_2() -> None:
    """It has the right sizes, but calls the person of 55 poor; the figure says good."""
    assert STARRED.push(JOINT).tolist() == TABLE_2.tolist()
    assert TABLE_4.sum(axis=1).tolist() == TABLE_2.sum(axis=1).tolist()
    with pytest.raises(SummaryError, match="mask 1 and mask 3 contradict each other by 1 records"):
        pooled({"mask 1": (TENS, TABLE_2), "mask 3": (STARRED, TABLE_4)}, histogram=ONES)


def test_the_masks_as_printed() -> None:
    assert StarTrailing(characters=2).on_values(np.array([21162])).tolist() == ["211**"]  # blur(21162, 2) = 211xx
    # The slip: weight 78 is shown 8x.
    assert StarDigits(digits=1).on_values(np.array([55, 58, 63, 71, 80, 78])).tolist()[-1] == "7*"


def test_g3_is_printed_inverted() -> None:
    """(|D| - violations) / |D| is 1 for a perfect dependency; the error is 0, as in the paper and its source."""
    removed = float(find_attribute_measure("g3")(TABLE_2)) * TABLE_2.sum()
    assert removed == 0.0
    assert (TABLE_2.sum() - removed) / TABLE_2.sum() == 1.0


def test_the_printed_information_does_not_depend_on_the_attribute() -> None:
    """With P(a, y) P(y) in the denominator every attribute scores the label's entropy."""

    def as_printed(counts: NDArray[np.int64]) -> float:
        joint = counts / counts.sum()
        label = np.broadcast_to(joint.sum(axis=0), joint.shape)
        return float(-(joint * np.log2(label)).sum())

    for masked in (TENS.push(JOINT), HALVES.push(JOINT), JOINT.sum(axis=0)[None, :]):
        assert as_printed(masked) == pytest.approx(float(entropy(JOINT.sum(axis=0))))
    assert float(find_attribute_measure("mutual-information")(JOINT.sum(axis=0)[None, :])) == 0.0


@pytest.mark.parametrize("name", ["g3", "mutual-information", "chi-square"])
def test_case_1_sees_no_difference_and_case_2_does(name: str) -> None:
    measure = find_attribute_measure(name)
    for mask in (TENS, HALVES):
        masked = measure(mask.push(JOINT))[None]
        case_1 = measure(per_configuration(mask, mask.push(JOINT), histogram=ONES, start="masked").counts)[None]
        assert float(deviation(losses(measure, case_1, masked), averaging="sum")) == pytest.approx(0.0, abs=1e-6)
    original = measure(JOINT)[None]
    tens, halves = (deviation(losses(measure, original, measure(m.push(JOINT))[None])) for m in (TENS, HALVES))
    assert float(tens) == pytest.approx(0.0, abs=1e-9)
    assert float(halves) > 0.1


@pytest.mark.parametrize("name", ["mutual-information", "chi-square"])
def test_case_3_picks_the_least_informative_configuration(name: str) -> None:
    """Equal cells say nothing, so the deviation is what the masked attribute says: the smallest is the worst mask."""
    measure = find_attribute_measure(name)
    deviations = {}
    for title, mask in (("tens", TENS), ("halves", HALVES)):
        masked = mask.push(JOINT)
        start = per_configuration(mask, masked, histogram=ONES, start="equalised").counts
        change = losses(measure, measure(start)[None], measure(masked)[None], absolute=True)
        deviations[title] = float(deviation(change))
        assert deviations[title] == pytest.approx(float(measure(masked)), abs=1e-6)
    assert deviations["halves"] < deviations["tens"]
    assert float(measure(HALVES.push(JOINT))) < float(measure(TENS.push(JOINT)))
