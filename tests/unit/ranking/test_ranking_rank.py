"""The ranking: what the theory says must hold, on real counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc

from aegis.counts.joint import Histogram, Joint
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MeasureError
from aegis.masking.configuration import Configuration
from aegis.measures.measure import AttributeMeasure, measures_of
from aegis.ranking.rank import rank
from aegis.ranking.ranking import AttributeLoss, reasons

LABEL = Domain.of(Kind.TEXT, ["ill", "well"])


def _joint(counts: np.ndarray[Any, Any]) -> Joint:
    return Joint(attribute=Domain.of(Kind.INTEGER, np.arange(len(counts))), label=LABEL, counts=counts)


def _summary(configurations: Mapping[str, Mapping[str, Any]], *, seed: int = 0, rows: int = 4_000) -> Summary:
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.4
    a = np.clip(np.round(rng.normal(20 + 8 * y, 8)), 0, 49).astype(int)
    b = rng.integers(0, 30, rows)
    c = np.where(rng.random(rows) < 0.8, y, ~y).astype(int)
    joints = {}
    for name, values, size in (("a", a, 50), ("b", b, 30), ("c", c, 2)):
        counts = np.zeros((size, 2), dtype=np.int64)
        np.add.at(counts, (values, y.astype(int)), 1)
        joints[name] = _joint(counts)
    label = Histogram(domain=LABEL, counts=joints["a"].counts.sum(axis=0))
    chosen = [Configuration.of(name, masks) for name, masks in configurations.items()]
    return masked_counts(name="t", label="y", label_histogram=label, joints=joints, configurations=chosen)


MANY: dict[str, dict[str, Any]] = {
    "raw": {},
    "fives": {"a": {"bucketize": {"width": 5}}},
    "tens": {"a": {"bucketize": {"width": 10}}},
    "twenties": {"a": {"bucketize": {"width": 20}}},
    "no-a": {"a": "suppress"},
    "no-b": {"b": "suppress"},
    "no-c": {"c": "suppress"},
    "nothing": {"a": "suppress", "b": "suppress", "c": "suppress"},
    "noisy": {"c": {"randomize": {"keep": 0.5}}},
}


@pytest.mark.parametrize("measure", list(measures_of(AttributeMeasure)))
def test_the_ranking_is_sorted_by_deviation(measure: str) -> None:
    ranking = rank(_summary(MANY), measure=measure).ranking
    deviations = [one.deviation for one in ranking]
    assert deviations == sorted(deviations)  # type: ignore[type-var]
    assert [one.rank for one in ranking] == sorted(one.rank for one in ranking)


@pytest.mark.parametrize("measure", [name for name, m in measures_of(AttributeMeasure).items() if m.monotone])
def test_monotone_measures_never_gain_and_refinement_ranks_first(measure: str) -> None:
    places = {one.configuration: one for one in rank(_summary(MANY), measure=measure).ranking}
    assert all(one.deviation is not None and one.deviation >= -1e-12 for one in places.values())
    assert places["raw"].deviation == pytest.approx(0, abs=1e-12)
    assert places["raw"].rank <= places["tens"].rank <= places["twenties"].rank <= places["no-a"].rank
    assert places["nothing"].rank == max(one.rank for one in places.values())
    assert places["nothing"].retained == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("measure", [name for name, m in measures_of(AttributeMeasure).items() if m.monotone])
@pytest.mark.parametrize("told", [Level.ONE_D, Level.NONE])
def test_a_publisher_ranks_as_the_provider_does(measure: str, told: Level) -> None:
    full = _summary({name: masks for name, masks in MANY.items() if name != "noisy"})
    provider = rank(full, measure=measure)
    publisher = rank(reduced(full, level=told), measure=measure)
    assert publisher.reference == "pooled"
    assert [(o.rank, o.configuration) for o in publisher.ranking] == [
        (o.rank, o.configuration) for o in provider.ranking
    ]


def test_level_2d_gives_the_very_same_answer() -> None:
    full = _summary(MANY)
    assert rank(full) == rank(reduced(full, level=Level.TWO_D))


def test_opaque_summaries_rank_and_say_that_losses_have_no_size() -> None:
    full = _summary({name: masks for name, masks in MANY.items() if name != "noisy"})
    opaque = rank(reduced(full, level=Level.NONE, opaque=True), measure="mutual-information")
    known = rank(full, measure="mutual-information")
    assert [one.configuration for one in opaque.ranking] == [one.configuration for one in known.ranking]
    assert opaque.reference == "unavailable"
    assert all(one.deviation is None and one.retained is None for one in opaque.ranking)
    assert any("opaque" in note for note in opaque.notes)
    with pytest.raises(MeasureError, match="opaque"):
        rank(reduced(full, level=Level.NONE, opaque=True), reference="pooled")


def test_the_papers_reference_says_nothing_without_its_rounding() -> None:
    summary = _summary({name: masks for name, masks in MANY.items() if name != "noisy"})
    unrounded = rank(summary, measure="mutual-information", reference="per-configuration", rounding="none")
    assert all(one.deviation == pytest.approx(0, abs=1e-9) for one in unrounded.ranking)
    rounded = rank(summary, measure="mutual-information", reference="per-configuration")
    assert any(one.deviation is not None and one.deviation > 1e-4 for one in rounded.ranking)


def test_ties_share_a_place_and_are_like_the_best() -> None:
    ranking = rank(_summary({"one": {}, "two": {}, "three": {"c": "suppress"}})).ranking
    assert [(one.rank, one.configuration) for one in ranking[:2]] == [(1, "one"), (1, "two")]
    assert ranking[2].rank == 3
    assert ranking[0].like_best
    assert ranking[1].like_best
    assert not ranking[2].like_best


def test_differences_that_the_rows_cannot_show_are_said_to_be_none() -> None:
    near = {"tens": {"a": {"bucketize": {"width": 10}}}, "elevens": {"a": {"bucketize": {"width": 11}}}}
    assert all(one.like_best for one in rank(_summary(near, rows=200)).ranking)
    far: dict[str, dict[str, Any]] = {"tens": {"a": {"bucketize": {"width": 10}}}, "none": {"c": "suppress"}}
    assert [one.like_best for one in rank(_summary(far, rows=2_000)).ranking] == [True, False]


def test_intervals_cover_the_spread_of_new_samples() -> None:
    """The interval of a configuration must cover what other tables of the same kind give, most of the time."""
    configurations = {"tens": {"a": {"bucketize": {"width": 10}}}}
    found = [rank(_summary(configurations, seed=s), measure="g3").ranking[0] for s in range(30)]
    centre = float(np.mean([one.utility or 0.0 for one in found]))
    covered = np.mean([abs((one.utility or 0.0) - centre) <= (one.interval[1] - one.interval[0]) / 2 for one in found])
    assert covered >= 0.9


def test_reasons_name_the_attribute_that_costs_most() -> None:
    ranking = rank(_summary({"no-c": {"c": "suppress"}}), measure="mutual-information").ranking
    assert ranking[0].reasons[0].startswith("keeps ")
    assert "c (suppressed)" in ranking[0].reasons[1]


def test_chi_square_comes_with_its_freedom_and_p_value() -> None:
    found = rank(_summary({"no-c": {"c": "suppress"}}), measure="chi-square")
    tests = {one["name"]: one for one in found.to_json()["ranking"][0]["attributes"]}
    assert tests["c"]["degrees_of_freedom"] == 0
    assert tests["c"]["p_value"] == 1
    assert tests["a"]["degrees_of_freedom"] > 0
    assert tests["a"]["p_value"] == pytest.approx(chdtrc(tests["a"]["degrees_of_freedom"], tests["a"]["masked"]))
    other = rank(_summary({"no-c": {"c": "suppress"}}), measure="g3").to_json()["ranking"][0]["attributes"][0]
    assert "p_value" not in other


def test_a_masked_label_is_measured_as_masked() -> None:
    summary = _summary({"label": {"y": "suppress"}, "raw": {}})
    places = {one.configuration: one for one in rank(summary, measure="mutual-information").ranking}
    assert places["label"].utility == 0
    assert (places["raw"].utility or 0.0) > 0.1
    assert places["label"].reasons[-1].startswith("y itself is masked (suppressed); behind the best on ")
    assert not any("itself" in reason for reason in places["raw"].reasons)
    alone = rank(reduced(summary, level=Level.NONE, opaque=True), measure="mutual-information").ranking[-1]
    assert alone.reasons[-1].startswith("y itself is masked (m")


def test_equal_seeds_give_equal_answers() -> None:
    assert rank(_summary(MANY), seed=5) == rank(_summary(MANY), seed=5)


def test_unknown_names_are_said_with_what_there_is() -> None:
    with pytest.raises(MeasureError, match="did you mean 'mutual-information'"):
        rank(_summary(MANY), measure="mutual-infomation")
    with pytest.raises(MeasureError, match="auto, exact, pooled"):
        rank(_summary(MANY), reference="guess")
    with pytest.raises(MeasureError, match="use pooled"):
        rank(reduced(_summary(MANY), level=Level.ONE_D), reference="exact")


def test_a_loss_spread_over_many_attributes_names_one() -> None:
    cards = [
        AttributeLoss(name=f"a{i}", mask="suppressed", original=1.0, masked=0.0, deviation=1.0, standard_error=0.0)
        for i in range(40)
    ]
    assert reasons(cards, [0.0] * 40, retained=0.5, label="y")[-1] == "loses on a0 (suppressed; 2 %)"


def test_a_loss_that_no_attribute_has_alone_is_not_denied() -> None:
    kept = AttributeLoss(name="a", mask="suppressed", original=0.0, masked=0.0, deviation=0.0, standard_error=0.0)
    assert reasons([kept], [0.0], retained=0.4, label="y")[-1].startswith("no attribute loses anything by itself; ")
    assert reasons([kept], [0.0], retained=1.0, label="y")[-1] == "no attribute loses anything"


def test_an_attribute_that_is_left_as_it_is_loses_nothing_where_models_judge() -> None:
    merged: dict[str, dict[str, Any]] = {
        "raw": {},
        "merged": {"a": {"bucketize": {"width": 25}}, "b": "suppress"},
        "no-c": {"c": "suppress"},
    }
    summary = _summary(merged, rows=120)
    by_counts = {place.configuration: place for place in rank(summary, measure="leave-one-out-information").ranking}
    assert "(unchanged" in by_counts["raw"].reasons[-1], "merging rare values makes counts clearer"
    raced = rank(summary, measure="leave-one-out-information", compared_with="merged").ranking
    found = {place.configuration: place.reasons[-1] for place in raced}
    assert found["raw"] == "no attribute loses anything"
    assert found["no-c"] == "behind the best on c (suppressed)"
