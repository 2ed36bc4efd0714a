"""Algorithm 1 of the paper by the name of a case, and the programs of its section 4.2, on its own worked examples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from aegis.commands.advise import PAPER_CASES, REFERENCES, Advise
from aegis.commands.advise import PAPER_MEASURES as OFFERED_MEASURES
from aegis.counts.joint import Histogram, Joint
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MeasureError, OptionError, SummaryError
from aegis.masking.configuration import Configuration
from aegis.measures.deviation import Averaging, attribute_weights, deviation
from aegis.measures.measure import find_attribute_measure
from aegis.ranking.attribute_values import Reference
from aegis.ranking.paper import CASES, PAPER_MEASURES
from aegis.ranking.rank import rank
from aegis.ranking.ranking import Ranking
from aegis.reconstruction.rebuilt_joints import randomised

# Example 6 of the paper: eight ages, of which two masked values are left, and health in five degrees.
AGES = [10, 17, 43, 55, 60, 65, 75, 80]
AGE_COUNTS = np.array([4, 12, 4, 30, 20, 10, 10, 10])
YOUNG_OLD = {"age": {"bucketize": {"edges": [46]}}}
MASKED = np.array([[0, 0, 1, 7, 12], [15, 25, 29, 9, 2]])
# Figure 1 of the draft: six people, and how they are.
DRAFT_AGES = [21, 25, 30, 42, 48, 55]
DRAFT_JOINT = np.eye(3, dtype=np.int64)[[0, 0, 1, 2, 2, 0]]
DRAFT_MASKS: dict[str, dict[str, Any]] = {
    "tens": {"age": {"bucketize": {"width": 10}}},
    "halves": {"age": {"bucketize": {"edges": [40]}}},
}


def _summary(joints: dict[str, Any], ages: list[int], masks: dict[str, Any]) -> Summary:
    labels = next(iter(joints.values())).shape[1]
    label = Domain.of(Kind.INTEGER, np.arange(labels))
    counted = {
        name: Joint(attribute=Domain.of(Kind.INTEGER, np.array(ages)), label=label, counts=counts)
        for name, counts in joints.items()
    }
    histogram = Histogram(domain=label, counts=next(iter(joints.values())).sum(axis=0))
    chosen = [Configuration.of(name, by_column) for name, by_column in masks.items()]
    return masked_counts(name="t", label="y", label_histogram=histogram, joints=counted, configurations=chosen)


def _example_6() -> Summary:
    """A joint of whole numbers that has the example's histogram and masked joint."""
    joint = np.zeros((8, 5), dtype=np.int64)
    for values, group in ((range(3), 0), (range(3, 8), 1)):
        labels = np.repeat(np.arange(5), MASKED[group])
        ages = np.repeat(list(values), AGE_COUNTS[list(values)])
        np.add.at(joint, (ages, labels), 1)
    return _summary({"age": joint}, AGES, {"young or old": YOUNG_OLD, "as it is": {}})


def _places(ranking: Ranking) -> dict[str, float]:
    return {place.configuration: float(place.deviation or 0.0) for place in ranking.ranking}


def test_the_options_offer_what_there_is() -> None:
    assert tuple(CASES) == PAPER_CASES
    assert OFFERED_MEASURES == PAPER_MEASURES
    assert set(REFERENCES) == set(Reference) - {Reference.UNAVAILABLE}


@pytest.mark.parametrize("measure", PAPER_MEASURES)
def test_case_1_is_the_fit_of_example_6_rounded_at_random(measure: str) -> None:
    """The fit gives each age its group's shares; what is ranked by is what rounding makes of it."""
    summary = _example_6()
    shares = MASKED / MASKED.sum(axis=1, keepdims=True)
    fractional = AGE_COUNTS[:, None] * shares[[0, 0, 0, 1, 1, 1, 1, 1]]
    rho = find_attribute_measure(measure)
    rng = np.random.default_rng(5)
    drawn = [float(rho(randomised(fractional, rng=rng).astype(float))) for _ in range(400)]
    found = [_places(rank(summary, paper="I", measure=measure, seed=seed))["young or old"] for seed in range(40)]
    expected = np.abs(np.array(drawn) - float(rho(MASKED)))
    assert expected.min() <= np.mean(found) <= expected.max()
    assert np.mean(found) == pytest.approx(expected.mean(), rel=0.35)
    assert _places(rank(summary, paper="I", measure=measure))["as it is"] == 0.0


def test_case_2_does_not_look_at_histogram_or_joint() -> None:
    summary = _example_6()
    least = reduced(summary, level=Level.NONE)
    assert _places(rank(summary, paper="II", seed=3)) == _places(rank(least, paper="II", seed=3))
    assert _places(rank(summary, paper="I", seed=3)) == _places(
        rank(reduced(summary, level=Level.ONE_D), paper="I", seed=3)
    )


def test_the_paper_averages_over_masked_attributes_and_the_draft_sums_over_all() -> None:
    summary = _summary(
        {"age": DRAFT_JOINT, "height": DRAFT_JOINT[::-1].copy()},
        DRAFT_AGES,
        {"one": DRAFT_MASKS["halves"], "both": {**DRAFT_MASKS["halves"], "height": "suppress"}},
    )
    g3 = find_attribute_measure("g3")
    halves, nothing = float(g3(np.array([[2, 1, 0], [1, 0, 2]]))), float(g3(np.array([[3, 1, 2]])))
    draft = _places(rank(summary, paper="draft-2"))
    assert draft["one"] == pytest.approx(halves)  # every age has one person, so g3 of the ages is 0
    assert draft["both"] == pytest.approx(halves + nothing)
    case_1 = {place.configuration: place for place in rank(summary, paper="I").ranking}
    for name, masked in (("one", 1), ("both", 2)):
        lost = sum(attribute.deviation or 0.0 for attribute in case_1[name].attributes)
        assert case_1[name].deviation == pytest.approx(lost / masked)


def test_the_cases_of_the_draft_on_its_example() -> None:
    """Case 1 sees no difference, case 2 does, and case 3 takes the worst for the best."""
    summary = _summary({"age": DRAFT_JOINT}, DRAFT_AGES, DRAFT_MASKS)
    first, second, third = (
        _places(rank(summary, paper=case, measure="mutual-information")) for case in ("draft-1", "draft-2", "draft-3")
    )
    assert first == pytest.approx({"tens": 0.0, "halves": 0.0}, abs=1e-6)
    assert second["tens"] == pytest.approx(0.0, abs=1e-9)
    assert second["halves"] > 0.1
    assert third["halves"] < third["tens"]


@pytest.mark.parametrize("averaging", list(Averaging))
def test_weights_add_up_to_the_deviation(averaging: Averaging) -> None:
    rng = np.random.default_rng(0)
    lost, masked = rng.random((6, 4)), rng.random((6, 4)) < 0.5
    weights = attribute_weights(averaging, masked)
    np.testing.assert_allclose((weights * lost).sum(axis=1), deviation(lost, averaging=averaging, masked=masked))


@pytest.mark.parametrize(
    ("reference", "squared"),
    [("nearest-l2", 256.87), ("nearest-l2-integer", 260.0), ("per-configuration", 279.36)],
)
def test_the_programs_solve_example_6(reference: str, squared: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program compares with is as near to equal cells as the example's optimum; the fit is further away."""
    seen: list[float] = []
    measure = find_attribute_measure("mutual-information")

    def watched(counts: Any, *rest: Any, **named: Any) -> Any:
        if np.shape(counts) == (8, 5):
            seen.append(float(((counts - 2.5) ** 2).sum()))
        return measure.function(counts, *rest, **named)

    watching = dataclasses.replace(measure, function=watched)
    monkeypatch.setattr("aegis.ranking.rank.find_attribute_measure", lambda _: watching)
    told = reduced(_summary_of_one_mask(), level=Level.ONE_D)
    rank(told, measure="mutual-information", reference=reference, rounding="none")
    assert any(distance == pytest.approx(squared, abs=0.01) for distance in seen)


def _summary_of_one_mask() -> Summary:
    summary = _example_6()
    return dataclasses.replace(summary, configurations=summary.configurations[:1])


@pytest.mark.parametrize("reference", [name for name in REFERENCES if name.startswith("nearest")])
def test_every_program_ranks(reference: str) -> None:
    ranking = rank(_example_6(), measure="mutual-information", reference=reference)
    assert ranking.reference == reference
    places = _places(ranking)
    assert places["as it is"] == pytest.approx(0.0, abs=1e-6)
    assert places["young or old"] > 0.01  # nearest in a norm is not the fit, so it does see a difference


def test_a_column_too_large_for_a_program_is_named() -> None:
    many = np.ones((700, 2), dtype=np.int64)
    summary = _summary({"age": many}, list(range(700)), {"no age": {"age": "suppress"}})
    with pytest.raises(SummaryError, match=r"age: the exact problem is for up to 600 cells.*proportional fitting"):
        rank(summary, measure="g3", reference="nearest-l1")


def test_summaries_that_tell_too_little_for_a_case_are_refused() -> None:
    summary = _example_6()
    with pytest.raises(MeasureError, match="case I of the paper needs a summary of level 1d"):
        rank(reduced(summary, level=Level.NONE), paper="I")
    with pytest.raises(MeasureError, match="case draft-2 of the paper needs a summary of level 2d"):
        rank(reduced(summary, level=Level.ONE_D), paper="draft-2")
    with pytest.raises(MeasureError, match="opaque"):
        rank(reduced(summary, level=Level.NONE, opaque=True), paper="II")
    with pytest.raises(MeasureError, match="ranges of age; use case II"):
        rank(reduced(summary, level=Level.ONE_D, ranges=2), paper="I")
    with pytest.raises(MeasureError, match="no case called 'IV'"):
        rank(summary, paper="IV")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"reference": "pooled"}, "--paper fixes what losses are compared with.*leave out --reference"),
        ({"measure": "g3", "reference": "pooled"}, "--paper fixes.*leave out --reference"),
        ({"rounding": "none"}, "--paper fixes.*leave out --rounding"),
        ({"fast": True}, "from counts alone anyhow; leave out --fast"),
        ({"measure": "lambda"}, "ranks by g3, mutual-information or chi-square"),
        ({"goal": "auc"}, "leave out --goal"),
        ({"rows": 100}, "leave out --rows"),
    ],
)
def test_what_the_paper_fixes_cannot_be_given_beside_it(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        Advise("table.csv", label="y", paper="I", **given)


def test_the_ranking_says_how_it_was_made() -> None:
    assert "rounding at random" in rank(_example_6(), paper="I").notes[0]
    assert "rounding" not in rank(_example_6(), paper="draft-1").notes[0]
    assert rank(_example_6(), paper="I").measure == "g3"
