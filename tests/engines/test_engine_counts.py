"""The same questions to every engine: kinds, joints and classes must be the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aegis.counts import collect
from aegis.counts.addition import count_part
from aegis.counts.answer import ask
from aegis.counts.collect import Limits, count_joints
from aegis.counts.collect_classes import count_classes
from aegis.counts.collect_pairs import count_pairs
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.inspection.profile import profile
from aegis.library.advise import advise
from aegis.library.summarize import summarize
from aegis.releases.row_digest import ROW, Digests, sha256_of_table

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
    table = _table(400)
    here, there = (advise(data, label="y", generate=4, seed=2) for data in (open_dataset(table), engine(table)))
    chosen = [{a.name: a for a in one.attributes} for one in (here.best, there.best)]
    assert here.best.configuration == there.best.configuration
    for name in ("age", "zip", "smoker", "day"):
        assert chosen[0][name] == chosen[1][name]


def test_decimals_of_a_long_table_are_put_into_the_engines_own_bins(
    engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "_FEW_ROWS", 0)
    table = _table().select(["fine", "weight", "y"])
    found = count_joints(engine(table), label="y", limits=Limits(numbers=100, bins=30))
    for name in ("fine", "weight"):
        joint = found.joints[name]
        assert joint.attribute.discretised
        starts, values = joint.attribute.values, np.array(table[name].drop_null().to_pylist())
        assert 25 <= len(starts) <= 31
        by_hand = np.bincount(np.maximum(np.searchsorted(starts, values, side="right") - 1, 0), minlength=len(starts))
        assert joint.counts.sum(axis=1)[: len(starts)].tolist() == by_hand.tolist()


def test_a_part_is_counted_like_the_first_by_every_engine(engine: Opener) -> None:
    whole = _table()
    first, second = whole.slice(0, 2_000), whole.slice(2_000)
    known = summarize(first, label="y", generate=3, limits=Limits(numbers=100, bins=30), race=False)
    here, there = (count_part(data, known) for data in (open_dataset(second), engine(second)))
    assert here.rows == there.rows == 1_000
    for name, joint in here.joints.items():
        assert joint.attribute == there.joints[name].attribute
        assert joint.counts.tolist() == there.joints[name].counts.tolist()


def test_the_hash_of_a_table_is_that_of_its_texts(engine: Opener) -> None:
    table = _table(200).select(["age", "zip", "smoker", "day", "y"])
    wanted = sha256_of_table(open_dataset(table).table)
    assert sha256_of_table(engine(table).table) == wanted
    assert sha256_of_table(engine(table.take(pa.array(range(199, -1, -1)))).table) == wanted, "in any order"
    assert sha256_of_table(open_dataset(table.slice(1)).table) != wanted
    changed = table.set_column(4, "y", pa.array(["well", *table["y"].to_pylist()[1:-1], "?"]))
    assert sha256_of_table(open_dataset(changed).table) != wanted


@pytest.mark.parametrize("rows_by", [("name",), ("name", "age")])
def test_a_ledger_knows_rows_again_in_every_engine(engine: Opener, rows_by: tuple[str, ...]) -> None:
    table = pa.table({"name": ["ann", "bo", None, "bo"], "age": [31, 31, 40, 52]})
    digests = Digests(key=b"k" * 32, rows_by=rows_by, columns=("name", "age"))
    wanted = ask(digests.named(open_dataset(table).table).select(ROW))[ROW].to_pylist()
    assert len(set(wanted)) == 4
    assert sorted(ask(digests.named(engine(table).table).select(ROW))[ROW].to_pylist()) == sorted(wanted)
