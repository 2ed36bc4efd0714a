"""A released table as numbers: intervals, sets, stars and what classes say of the label."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from aegis.candidates.boxes.released_features import ReleasedFeatures
from aegis.errors import AnonymizerError, DataError

AGES = ["[20, 30)", "[30, 40)", "*", "(-inf, 20)", "[40, inf) or missing", None, "25"]


def test_intervals_become_ends_and_how_far_they_lie_above_a_knot() -> None:
    made = ReleasedFeatures(knots=1).fit_transform({"age": AGES})
    low, high, missing, above = made.T
    assert low.tolist()[:2] == [20.0, 30.0]
    assert high.tolist()[:2] == [30.0, 40.0]
    assert low[2] < 20 and high[2] > 40  # noqa: PT018 - a star may be anything
    assert missing.tolist() == [0, 0, 0, 0, 0.5, 1, 0]
    assert low[6] == high[6] == 25
    assert (above >= 0).all()
    assert above[1] >= above[0]


@pytest.mark.parametrize("knot", [22.0, 25.0, 31.0])
def test_a_hinge_is_the_mean_over_the_interval(knot: float) -> None:
    features = ReleasedFeatures(knots=1).fit({"age": ["[20, 30)", str(knot), str(knot)]})
    assert f"age_above_{knot:g}" in features.get_feature_names_out()
    made = features.transform({"age": ["[20, 30)"]})[0, 3]
    points = np.linspace(20, 30, 100_001)
    assert made == pytest.approx(np.maximum(points - knot, 0).mean(), abs=1e-4)


def test_sets_become_one_over_their_size() -> None:
    town = ["{a, b}", "c", "*", '{"x, y", c}', None]
    made = ReleasedFeatures().fit_transform({"town": town})
    assert made.sum(axis=1) == pytest.approx(np.ones(5))
    assert sorted(made[0][made[0] > 0].tolist()) == [0.5, 0.5]
    assert sorted(made[3][made[3] > 0].tolist()) == [0.5, 0.5]
    assert (made[2] > 0).sum() == 5
    few = ReleasedFeatures(most_values=1).fit_transform({"town": town})
    assert few.shape == (5, 2)
    assert few.sum(axis=1) == pytest.approx(np.ones(5))


def test_what_a_class_says_of_the_label_comes_from_other_rows() -> None:
    rng = np.random.default_rng(0)
    town = [f"t{i}" for i in rng.integers(0, 300, 600)]
    chance = rng.integers(0, 2, 600)
    features = ReleasedFeatures(of_label=True)
    told = features.fit_transform({"town": town}, chance)[:, -1]
    assert abs(np.corrcoef(told, chance)[0, 1]) < 0.3  # nothing is to be known
    assert np.corrcoef(features.transform({"town": town})[:, -1], chance)[0, 1] > 0.5  # the same rows, not left out
    unseen = features.transform({"town": ["nowhere"]})[0, -1]
    assert unseen == pytest.approx(np.log(chance.mean() / (1 - chance.mean())))


def test_several_labels_and_numbers() -> None:
    town = {"town": ["a", "a", "a", "b", "b", "b"] * 10}
    three = ReleasedFeatures(of_label=True).fit_transform(town, np.array(["x", "y", "z"] * 20))
    assert three.shape[1] == 2 + 1 + 3
    number = ReleasedFeatures(of_label=True).fit_transform(town, np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0] * 10))
    assert number[0, -1] < 3 < number[3, -1]


def test_it_is_an_estimator_of_scikit_learn() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": ["[20, 30)", "[30, 40)"] * 20, "town": ["{a, b}", "c"] * 20})
    label = np.array([0, 1] * 20)
    model = make_pipeline(ReleasedFeatures(knots=2, of_label=True), LogisticRegression())
    assert clone(model).fit(frame, label).score(frame, label) == 1.0
    features = ReleasedFeatures(knots=2, of_label=True)
    width = features.fit_transform(frame, label).shape[1]
    assert len(features.get_feature_names_out()) == width
    assert clone(features).get_params()["knots"] == 2
    assert not any(name.rsplit("_")[-1] == "c" for name in features.get_feature_names_out())


def test_bad_input_is_said() -> None:
    with pytest.raises(NotFittedError):
        ReleasedFeatures().transform({"age": AGES})
    with pytest.raises(DataError, match="needs the label"):
        ReleasedFeatures(of_label=True).fit({"age": AGES})
    with pytest.raises(DataError, match="other columns"):
        ReleasedFeatures().fit({"age": AGES}).transform({"town": AGES})
    with pytest.raises(AnonymizerError, match="rows and columns"):
        ReleasedFeatures().fit(np.array(["a", "b"]))
