"""Further rows of rare labels: of these labels alone, once each, and nothing is learnt from them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.counts.joint import Histogram
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.learners.candidate import MaskedCandidate, MaskTables, Part
from aegis.learners.features import Split
from aegis.learners.race import race
from aegis.learners.sample import AT_RANDOM, Drawing, Sample, draw_sample
from aegis.learners.schedule import Schedule, parts
from aegis.masking.configuration import Configuration

ROWS, SAMPLED = 12_000, 4_000


def label_of(counts: list[int], kind: Kind = Kind.INTEGER) -> Histogram:
    return Histogram(domain=Domain.of(kind, np.arange(len(counts))), counts=np.array(counts, dtype=float))


def table(rare: float = 0.05, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, rows)
    chance = rare * 2 / (1 + np.exp(-(age - 50) / 6))
    ill = np.where(rng.random(rows) < chance, "yes", "no").astype(object)
    ill[rng.random(rows) < 0.02] = None
    return pa.table({"age": age, "number": np.arange(rows), "ill": pa.array(ill, pa.string())})


def drawn(data: pa.Table, **options: Any) -> Sample:
    label = data["ill"].drop_null().to_numpy(zero_copy_only=False)
    values, counts = np.unique(label.astype(str), return_counts=True)
    counted = Histogram(domain=Domain.of(Kind.TEXT, values), counts=counts.astype(float))
    opened = open_dataset(data, roles=Roles(label="ill"))
    return draw_sample(opened, label="ill", most_rows=SAMPLED, rare_labels_of=counted, **options)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([95_000, 5_000], [15_000, 5_000]),  # all of the rare ones, and what they leave room for at random
        ([990_000, 10_000], [13_860, 6_140]),  # more than enough of them: seven rows in ten are drawn at random
        ([500_000, 400_000, 100_000], [7_000, 6_500, 6_500]),
    ],
)
def test_rare_labels_come_to_the_commonest_as_far_as_the_table_and_the_sample_go(
    counts: list[int], expected: list[int]
) -> None:
    drawing = Drawing.of(label_of(counts), most_rows=20_000)
    assert drawing is not None
    assert drawing.wanted.sum() <= 20_000
    assert drawing.at_random.sum() >= AT_RANDOM * 20_000 - 1
    assert drawing.wanted == pytest.approx(expected, rel=1e-3)
    assert drawing.at_random / drawing.at_random.sum() == pytest.approx(np.array(counts) / sum(counts), abs=1e-3)


@pytest.mark.parametrize(
    "label",
    [
        label_of([60_000, 40_000]),  # nothing would be gained
        label_of([9_000, 1_000]),  # all rows are in the sample
        label_of([100_000]),
        label_of([95_000, 5_000], Kind.REAL),  # an engine may not find a fraction again
    ],
)
def test_rows_are_drawn_at_random_where_labels_would_gain_nothing(label: Histogram) -> None:
    assert Drawing.of(label, most_rows=20_000) is None


def test_further_rows_are_of_the_rare_label_and_no_row_comes_twice() -> None:
    data = table()
    sample = drawn(data)
    values = sample.label_domain.values[sample.label_codes]
    assert sample.rows + sample.further == len(values) <= SAMPLED
    assert set(values[sample.rows :]) == {"yes"}
    share = np.mean(np.array(data["ill"].drop_null().to_pylist()) == "yes")
    assert np.mean(values[: sample.rows] == "yes") == pytest.approx(share, abs=0.001)
    assert Counter(values)["yes"] > 2 * share * SAMPLED
    numbers = sample.histograms["number"].domain.values[sample.codes["number"]]
    assert len(set(numbers.tolist())) == len(numbers)
    assert (values == np.array(data["ill"].to_pylist(), dtype=object)[numbers]).all()
    assert sample.rows_without_label > 0
    assert "further" not in "".join(sample.notes)  # whether they are used is for the goal to say


def test_equal_seeds_draw_equal_rows() -> None:
    first, again, other = drawn(table(), seed=1), drawn(table(), seed=1), drawn(table(), seed=2)
    assert (first.codes["number"] == again.codes["number"]).all()
    assert first.codes["number"].tolist() != other.codes["number"].tolist()


def test_further_rows_are_tested_once_and_never_learnt_from() -> None:
    sample = drawn(table())
    further = sample.rows + np.arange(sample.further)
    made = parts(sample.target(), sample.rows, folds=4, repeats=2, seed=0, further=further)
    assert all(part.training.max() < sample.rows for part in made)
    tested = np.bincount(np.concatenate([part.testing for part in made]))
    assert (tested == 2).all()
    assert len(tested) == sample.rows + sample.further
    plain = parts(sample.target(), sample.rows, folds=4, repeats=2, seed=0)
    assert all((one.training == other.training).all() for one, other in zip(made, plain, strict=True))


def configurations(tables: MaskTables) -> list[MaskedCandidate]:
    masks: dict[str, dict[str, Any]] = {
        "blind": {"age": "suppress", "number": "suppress"},
        "fine": {"age": {"bucketize": {"width": 5}}, "number": "suppress"},
        "coarse": {"age": {"bucketize": {"width": 40}}, "number": "suppress"},
    }
    return [MaskedCandidate(Configuration.of(name, each), tables) for name, each in masks.items()]


@pytest.mark.parametrize("goal", ["balanced-accuracy", "auc"])
def test_they_make_what_is_measured_surer_and_not_another(goal: str) -> None:
    data = table()
    with_them = MaskTables(drawn(data))
    opened = open_dataset(data, roles=Roles(label="ill"))
    without = MaskTables(draw_sample(opened, label="ill", most_rows=SAMPLED))
    surer, plain = (race(configurations(tables), tables, goal=goal, seed=0) for tables in (with_them, without))
    assert surer.further_rows == with_them.sample.further > 0 == plain.further_rows
    assert any("nothing is learnt from them" in note for note in surer.notes)
    assert [surer.guessing, plain.guessing] == pytest.approx([0.5, 0.5])
    assert surer.best.name == plain.best.name == "fine"
    assert surer.unmasked.half_width < 0.8 * plain.unmasked.half_width
    assert surer.unmasked.performance == pytest.approx(plain.unmasked.performance, abs=plain.unmasked.half_width)
    assert type(surer).from_json(surer.to_json()) == surer


def test_goals_that_count_rows_do_not_use_them() -> None:
    tables = MaskTables(drawn(table()))
    seen: list[int] = []

    class Watched(MaskedCandidate):
        def split(self, part: Part, *, draw: int) -> Split:
            seen.append(int(max(part.training.max(), part.testing.max())))
            return super().split(part, draw=draw)

    candidate = Watched(Configuration.of("age", {"number": "suppress"}), tables)
    result = race([candidate], tables, goal="accuracy", schedule=Schedule(cells=10_000), seed=0)
    assert max(seen) < tables.sample.rows
    assert result.further_rows == 0
    commonest = float(tables.sample.target().at(np.arange(tables.sample.rows)).shares().max())
    assert result.guessing == pytest.approx(commonest, abs=1e-9)
