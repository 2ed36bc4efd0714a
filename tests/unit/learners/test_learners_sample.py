"""A sample of rows: drawn alike by seed, every column as codes, a label that can be learnt, and nothing shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.counts.collect import count_joints
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import DataError, InputError, LabelError, MeasureError
from aegis.learners.sample import Sample, draw_sample

ROWS = 600


def table(rows: int = ROWS, **more: Any) -> pa.Table:
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "age": rng.integers(18, 80, rows),
        "town": rng.choice(["north", "south", "west"], rows),
        "person": np.arange(rows),
        "label": rng.choice(["no", "yes"], rows, p=[0.7, 0.3]),
    }
    return pa.table({**columns, **more})


def opened(data: pa.Table, label: str = "label") -> Dataset:
    return open_dataset(data, roles=Roles(label=label, identifying=("person",)))


def drawn(data: pa.Table, **options: Any) -> Sample:
    return draw_sample(opened(data), label="label", **options)


def rows_of(sample: Sample) -> list[tuple[Any, ...]]:
    columns = [sample.histograms[name].domain.values[sample.codes[name]].tolist() for name in sorted(sample.codes)]
    return list(zip(*columns, sample.label_domain.values[sample.label_codes].tolist(), strict=True))


def test_a_small_table_is_taken_whole_and_identifying_columns_are_left_out() -> None:
    sample = drawn(table())
    assert sample.rows == sample.table_rows == ROWS
    assert set(sample.codes) == {"age", "town"}
    assert sorted(rows_of(sample)) == sorted(
        zip(*(table()[c].to_pylist() for c in ("age", "town", "label")), strict=True)
    )


def test_the_order_of_the_rows_changes_nothing_and_the_seed_does() -> None:
    shuffled = table().take(np.random.default_rng(1).permutation(ROWS))
    assert rows_of(drawn(table())) == rows_of(drawn(shuffled))
    assert rows_of(drawn(table())) != rows_of(drawn(table(), seed=1))


def test_every_beginning_of_the_sample_is_a_sample_even_where_rows_repeat() -> None:
    data = pa.table({"a": [0] * 900 + [1] * 100, "label": (["x"] * 450 + ["y"] * 450) + ["x"] * 100})
    sample = draw_sample(open_dataset(data), label="label")
    beginning = sample.codes["a"][:200]
    assert 8 <= beginning.sum() <= 34  # 20 expected; rows that are alike do not stand together


def test_at_most_so_many_rows_are_kept() -> None:
    sample = drawn(table(), most_rows=100)
    assert (sample.rows, sample.table_rows) == (100, ROWS)


def test_a_counted_table_lends_its_domains_and_counts() -> None:
    data = opened(table())
    counted = count_joints(data, label="label")
    histograms = {name: joint.histogram() for name, joint in counted.joints.items()}
    sample = draw_sample(data, label="label", histograms=histograms, most_rows=50)
    assert sample.rows == 50
    assert sample.histograms["age"].rows == ROWS
    assert sample.histograms["age"].domain is counted.joints["age"].attribute


def test_rows_without_a_label_are_left_out_and_counted() -> None:
    labels = [None, *(["no", "yes", "yes"] * 200)[: ROWS - 1]]
    sample = drawn(table(label=pa.array(labels)))
    assert (sample.rows, sample.rows_without_label) == (ROWS - 1, 1)
    assert sample.notes == ("1 rows without a label are left out",)


def test_few_labelled_rows_are_noted_and_very_few_refused() -> None:
    assert drawn(table(150)).notes == ("only 150 rows have a label: intervals are wide",)
    assert drawn(table(), most_rows=100).notes == ("models learn from only 100 rows: intervals are wide",)
    with pytest.raises(InputError, match="29 rows have a label and at least 30"):
        drawn(table(29))


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (["one"] * ROWS, "the same value in every row"),
        ([f"p{i}" for i in range(ROWS)], "another value in every row"),
        (list(range(1_000, 1_000 + ROWS)), "another value in every row"),
        ([None] * ROWS, "missing in every row"),
    ],
)
def test_a_label_that_tells_nothing_is_refused(labels: list[Any], reason: str) -> None:
    kind = pa.string() if labels[0] is None or isinstance(labels[0], str) else pa.int64()
    with pytest.raises(LabelError, match=reason):
        drawn(table(label=pa.array(labels, kind)))


def test_numbers_that_differ_in_every_row_are_a_label_where_chance_makes_them_differ() -> None:
    rng = np.random.default_rng(0)
    prices = np.round(rng.lognormal(12, 1, ROWS) * 1_000).astype(np.int64)
    assert len(np.unique(prices)) == ROWS
    assert drawn(table(label=prices)).target().classes == 0
    assert drawn(table(label=rng.normal(size=ROWS))).target().classes == 0


def test_a_label_is_classes_or_numbers_by_its_kind_and_as_the_goal_asks() -> None:
    few, many = np.arange(ROWS) % 5, np.arange(ROWS) % 90
    assert drawn(table()).target().classes == 2
    assert drawn(table(label=few)).target().classes == 5
    assert drawn(table(label=few)).target("r2").classes == 0
    assert drawn(table(label=many)).target().classes == 0
    with pytest.raises(LabelError, match="at most 50 classes"):
        drawn(table(label=many)).target("accuracy")
    with pytest.raises(LabelError, match="needs a label of numbers"):
        drawn(table()).target("mae")
    with pytest.raises(MeasureError, match="no goal called 'acuracy'; did you mean 'accuracy'"):
        drawn(table()).target("acuracy")


def test_dates_are_numbers_of_days() -> None:
    days = np.datetime64("2020-01-01") + (np.arange(ROWS) % 100)
    sample = drawn(table(label=pa.array(days)))
    assert sample.label_numbers is not None
    assert np.ptp(sample.label_numbers) == 99
    assert sample.target().classes == 0


def test_a_label_in_bins_is_a_label_of_classes() -> None:
    data = opened(table(label=np.random.default_rng(3).normal(size=ROWS)))
    bins = count_joints(data, label="label", label_bins=4).label_histogram.domain
    assert draw_sample(data, label="label", label_domain=bins).target().classes == 4


def test_a_table_without_a_usable_column_is_refused() -> None:
    with pytest.raises(DataError, match="no usable column"):
        draw_sample(opened(table().select(["person", "label"])), label="label")
    with pytest.raises(LabelError, match="there is no column 'labl'"):
        draw_sample(opened(table()), label="labl")


def test_no_value_is_shown() -> None:
    sample = drawn(table(town=["canary"] * 300 + ["bird"] * 300))
    shown = repr(sample) + repr(sample.target()) + repr(sample.histograms["town"].domain)
    assert "canary" not in shown
    assert "yes" not in shown


def test_columns_that_never_vary_are_refused() -> None:
    with pytest.raises(DataError, match="no column beside the label can be learnt from"):
        drawn(table(age=np.full(ROWS, 40), town=["north"] * ROWS))
    assert drawn(table(age=np.full(ROWS, 40))).rows == ROWS  # one that varies is enough
    assert drawn(table(age=np.full(ROWS, 40), town=[None, *["north"] * (ROWS - 1)])).rows == ROWS
