"""Anonymizers as scikit-learn knows estimators: cloned, fitted to data frames, in pipelines."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.released_features import ReleasedFeatures
from aegis.candidates.clusters.anonymizer import Anonymizer
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError

pandas = pytest.importorskip("pandas")


def people(rows: int = 300) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, rows).astype(float)
    town = rng.integers(0, 4, rows)
    ill = (rng.random(rows) < 1 / (1 + np.exp(-(age - 40) / 4))).astype(int)
    age[:20] = np.nan
    return pandas.DataFrame({"age": age, "town": [f"t{t}" for t in town]}), ill


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_every_anonymizer_is_cloned_with_its_parameters(name: str) -> None:
    made = ANONYMIZERS[name].anonymizer(k=5, seed=3)
    copy = clone(made)
    assert type(copy) is type(made)
    assert copy.get_params() == made.get_params()
    assert copy.set_params(k=7).get_params()["k"] == 7
    with pytest.raises(AnonymizerError, match="has no parameter"):
        copy.set_params(nonsense=1)
    with pytest.raises(AnonymizerError, match="at least 1"):
        copy.set_params(k=0)
    assert copy.get_params()["k"] == 7


def test_a_data_frame_is_recoded_and_new_rows_fall_into_its_boxes() -> None:
    frame, ill = people()
    recoding = LocalRecoding(k=5).fit(frame, ill)
    released = recoding.transform()
    assert list(released) == ["age", "town"]
    classes: dict[tuple[str, ...], int] = {}
    for row in zip(*(released[name] for name in released), strict=True):
        classes[row] = classes.get(row, 0) + 1
    assert min(classes.values()) >= 5
    assert recoding.result_.smallest_class == min(classes.values())
    assert np.bincount(recoding.labels_).min() >= 5
    again = recoding.transform(frame.iloc[:50])
    assert again["age"].tolist() == released["age"][:50].tolist()
    with pytest.raises(AnonymizerError, match="other columns"):
        recoding.transform(frame[["town"]])


def test_a_pipeline_from_rows_to_a_model_is_cross_validated() -> None:
    frame, ill = people()
    model = make_pipeline(LocalRecoding(k=5), ReleasedFeatures(knots=3), LogisticRegression(max_iter=500))
    assert cross_val_score(model, frame, ill, cv=3).mean() > 0.75


def test_what_columns_cannot_say_is_refused() -> None:
    frame, ill = people(40)
    with pytest.raises(AnonymizerError, match="sensitive"):
        LocalRecoding(k=5, l=2).fit(frame, ill)
    with pytest.raises(PolicyNotSatisfiedError):
        LocalRecoding(k=50).fit(frame, ill)
    with pytest.raises(AnonymizerError, match="rows and columns"):
        LocalRecoding(k=5).fit(ill)


def made(name: str) -> Anonymizer:
    """An anonymizer that is counted in rounds where it searches, so that it takes no time and gives equal classes."""
    method = ANONYMIZERS[name]
    return method.anonymizer(k=5, **({"rounds": 20} if "rounds" in method.uses else {}))


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_every_anonymizer_is_fitted_to_a_data_frame(name: str) -> None:
    frame, ill = people(120)
    frame["age"] = frame["age"].fillna(40.0)
    fitted = made(name).fit(frame, ill)
    released = fitted.transform()
    assert list(released) == ["age", "town"]
    classes = Counter(released.itertuples(index=False))
    assert min(classes.values()) >= 5
    assert len(fitted.labels_) == 120
    assert fitted.result_.smallest_class >= 5
    again = clone(fitted).fit_transform(frame, ill)
    pandas.testing.assert_frame_equal(again, released)
    other = frame.iloc[:7].assign(town="elsewhere")
    assert fitted.transform(other).shape == (7, 2)
    with pytest.raises(AnonymizerError, match="other columns"):
        fitted.transform(frame[["town", "age"]])


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_every_anonymizer_stands_in_a_pipeline(name: str) -> None:
    frame, ill = people(120)
    frame["age"] = frame["age"].fillna(40.0)
    model = Pipeline(
        [("classes", made(name)), ("features", ReleasedFeatures(knots=2)), ("model", LogisticRegression(max_iter=500))]
    )
    assert model.get_params()["classes__k"] == 5
    model.set_params(classes__k=6).fit(frame, ill)
    assert model.predict(frame.iloc[:20]).shape == (20,)
    assert model.named_steps["classes"].result_.smallest_class >= 6


@pytest.mark.parametrize("name", [*ANONYMIZERS, "boxes"])
def test_every_anonymizer_ends_a_pipeline(name: str) -> None:
    frame, ill = people(120)
    frame["age"] = frame["age"].fillna(40.0)
    anonymizer = LocalRecoding(k=5) if name == "boxes" else made(name)
    with pytest.raises(NotFittedError):
        check_is_fitted(anonymizer)
    released = Pipeline([("classes", anonymizer)]).fit(frame, ill).transform(frame)
    assert {column: len(values) for column, values in released.items()} == {"age": 120, "town": 120}


def test_a_column_of_other_values_is_refused() -> None:
    frame, _ = people(60)
    fitted = made("mdav").fit(frame.fillna(40.0))
    with pytest.raises(AnonymizerError, match="same kind of values"):
        fitted.transform(frame.assign(age="old"))


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_what_is_published_of_a_frame_is_a_frame_of_its_kind(name: str) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame, ill = people(120)
    frame = frame.iloc[20:].set_index(np.arange(1000, 1100))  # k-member and others know no missing numbers
    fitted = made(name).fit(frame, ill[20:])
    released = fitted.transform()
    assert isinstance(released, pandas.DataFrame)
    assert released.index.tolist() == frame.index.tolist()
    pandas.testing.assert_frame_equal(fitted.transform(frame), released)  # the fitted rows, not others like them
    assert isinstance(fitted.transform(frame.iloc[:7]), pandas.DataFrame)
    columns = frame.to_dict(orient="list")
    for table in (polars.DataFrame(columns), pyarrow.table(columns)):
        again = clone(fitted).fit(table, ill[20:]).transform()
        assert type(again) is type(table)
        assert again.to_pandas().to_numpy().tolist() == released.to_numpy().tolist()


def test_records_take_the_place_of_a_frame_that_was_fitted_before() -> None:
    frame, ill = people(120)
    recoding = LocalRecoding(k=5).fit(frame, ill)
    records = Records.from_columns({"n": list(range(40))}, quasi_identifiers=["n"])
    assert list(recoding.fit(records).transform()) == ["n"]


def test_a_label_of_another_length_is_told() -> None:
    with pytest.raises(AnonymizerError, match="one value for each of the 4 records"):
        LocalRecoding(k=2).fit({"age": [1, 2, 3, 4]}, ["yes", "no"])


@pytest.mark.parametrize("name", list(ANONYMIZERS))
def test_published_columns_have_their_names_and_the_output_that_was_set(name: str) -> None:
    frame, _ = people()
    frame = frame.fillna({"age": 40.0})
    quick = {"rounds": 2} if name == "mo-obam" else {}
    made = ANONYMIZERS[name].anonymizer(k=5, seed=3, **quick)
    with pytest.raises(AnonymizerError, match="not been fitted"):
        made.get_feature_names_out()
    made.fit(frame)
    assert made.get_feature_names_out().tolist() == ["age", "town"]
    assert made.get_feature_names_out(["age", "town"]).tolist() == ["age", "town"]
    with pytest.raises(AnonymizerError, match="not the columns"):
        made.get_feature_names_out(["town", "age"])
    with pytest.raises(AnonymizerError, match="no output 'excel'"):
        made.set_output(transform="excel")
    asked = clone(made).set_output(transform="pandas").fit({name: frame[name].to_numpy() for name in frame})
    released = asked.transform()
    assert isinstance(released, pandas.DataFrame)
    assert list(released) == ["age", "town"]
    assert isinstance(clone(asked).fit(frame.to_numpy()).transform(), pandas.DataFrame)
    assert asked.set_output(transform="default").transform().keys() == {"age", "town"}
    assert asked.fit(frame.to_numpy()).get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    steps = make_pipeline(clone(made)).set_output(transform="polars").fit(frame)
    assert type(steps.transform(frame)).__module__.startswith("polars")
    assert steps.get_feature_names_out().tolist() == ["age", "town"]
