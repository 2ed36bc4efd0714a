"""The same questions to every engine: kinds, joints and classes must be the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.summaries.collect import Limits, count_joints
from aegis.summaries.collect_classes import count_classes
from aegis.summaries.collect_pairs import count_pairs
from aegis.summaries.profile import profile
from aegis.workflows.advise import advise

Opener = Callable[[pa.Table], Dataset]


def _table(rows: int = 3_000) -> pa.Table:
    rng = np.random.default_rng(11)
    missing = rng.random(rows) < 0.05
    day = np.datetime64("2024-01-01") + rng.integers(0, 90, rows).astype("timedelta64[D]")
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 90, rows), pa.int32(), mask=missing),
            "weight": pa.array(np.round(rng.normal(70, 12, rows), 1), mask=rng.random(rows) < 0.1),
            "zip": pa.array([f"{z:05d}" for z in rng.integers(0, 40, rows)], mask=rng.random(rows) < 0.02),
            "smoker": pa.array(rng.random(rows) < 0.3),
            "day": pa.array(day),
            "seen": pa.array(day.astype("datetime64[us]") + rng.integers(0, 5, rows).astype("timedelta64[h]")),
            "fine": pa.array(rng.normal(size=rows)),
            "y": pa.array(np.array(["ill", "well", "ünknown"])[rng.integers(0, 3, rows)]),
        }
    )


def test_kinds_and_profiles_are_the_same(engine: Opener) -> None:
    here, there = profile(open_dataset(_table())), profile(engine(_table()))
    assert [(c.name, c.kind, c.distinct, c.missing) for c in there.columns] == [
        (c.name, c.kind, c.distinct, c.missing) for c in here.columns
    ]


def test_joints_are_the_same_numbers(engine: Opener) -> None:
    limits = Limits(numbers=2_500, bins=50)
    here = count_joints(open_dataset(_table()), label="y", limits=limits)
    there = count_joints(engine(_table()), label="y", limits=limits)
    assert there.rows == here.rows
    for name, joint in here.joints.items():
        other = there.joints[name]
        if joint.attribute.discretised:  # quantiles are approximate, each engine in its own way
            assert other.attribute.discretised
            assert other.counts.sum() == joint.counts.sum()
            assert abs(other.attribute.size - joint.attribute.size) <= 5
        else:
            assert other.attribute == joint.attribute
            assert other.counts.tolist() == joint.counts.tolist()


def test_classes_are_the_same(engine: Opener) -> None:
    columns = ("age", "zip", "smoker")
    here = count_classes(open_dataset(_table()), columns, contents=("y",))
    there = count_classes(engine(_table()), columns, contents=("y",))
    assert sorted(there.sizes.tolist()) == sorted(here.sizes.tolist())
    order = [np.lexsort(table.codes.T) for table in (here, there)]
    assert np.array_equal(here.codes[order[0]], there.codes[order[1]])


def test_pairs_are_the_same_numbers(engine: Opener) -> None:
    table = _table().drop_columns(["fine"])  # its bins are each engine's own
    here, there = open_dataset(table), engine(table)
    one, other = (count_pairs(d, count_joints(d, label="y"), seed=1) for d in (here, there))
    assert set(one.tables) == set(other.tables)
    for key, pair in one.tables.items():
        sizes = [one.groups[name].size for name in key]
        assert pair.dense(*sizes).tolist() == other.tables[key].dense(*sizes).tolist()


def test_the_ranking_is_the_same(engine: Opener) -> None:
    here, there = (advise(data, label="y", generate=8, seed=2) for data in (open_dataset(_table()), engine(_table())))
    chosen = [{a.name: a for a in one.attributes} for one in (here.best, there.best)]
    assert here.best.configuration == there.best.configuration
    for name in ("age", "zip", "smoker", "day"):
        assert chosen[0][name] == chosen[1][name]
