"""A time limit holds from the first second: every stage looks at it, and k and l hold all the same."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aegis.candidates.clusters import budget
from aegis.candidates.clusters import mo_obam as mo_obam_module
from aegis.candidates.clusters.budget import nearest
from aegis.candidates.clusters.first_partition import divide, repair, sweep
from aegis.candidates.clusters.lower_bound import nearest_bound
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.neighbourhood_search import neighbours_of
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import Units, place, units_of

OVER = -1.0  # long ago on every clock
ROWS = 4_500  # above what is merged pair by pair, so that the table is divided from above


@pytest.fixture(scope="module")
def records() -> Records:
    rng = np.random.default_rng(5)
    return Records.from_arrays(
        numeric=np.column_stack([np.arange(ROWS), rng.integers(0, 90, ROWS)]).astype(float),
        categorical=rng.integers(0, 40, (ROWS, 1)),
        sensitive=rng.integers(0, 4, (ROWS, 1)),
    )


@pytest.fixture(scope="module")
def units(records: Records) -> Units:
    return units_of(records, collapse(records), scale="raw", whole_tuples=False)


def test_what_is_nearest_does_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).normal(size=(500, 3))
    whole = nearest(points, count=4)
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: 0.0))
    parts = nearest(points, count=4, deadline=1.0)
    assert whole is not None
    assert parts is not None
    assert (whole[1] == parts[1]).all()
    assert np.array_equal(whole[0], parts[0])


def test_who_is_near_is_given_up_as_soon_as_it_will_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ticks a second a look: 32 points in one second are 16 seconds for all."""
    points = np.random.default_rng(1).normal(size=(512, 3))
    clock = itertools.count()
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    assert nearest(points, count=4, deadline=6.0) is None
    assert next(clock) == 2, "after the first part, not at the deadline"


def test_every_stage_looks_at_the_deadline(records: Records, units: Units) -> None:
    tuples = collapse(records)
    assert nearest_bound(tuples, np.ones(2), k=5, most_classes=None, deadline=OVER) == 0.0
    assert neighbours_of(tuples, np.ones(2), count=5, whole_tuples=False, deadline=OVER) is None
    assert set(divide(units, k=5, classes=900, deadline=OVER).tolist()) == {0}
    alone = 500  # classes of one record, beside one of all the others that can spare some
    state = place(units, np.maximum(np.arange(ROWS, dtype=np.int64) - (ROWS - alone - 1), 0), capacity=alone + 1)
    assert sweep(units, state, k=1, l=1, deadline=OVER) == 0
    before = state.label.copy()
    lacking = repair(units, state, k=3, l=1, deadline=OVER)
    moved = np.unique(state.label[before != state.label])
    assert len(lacking) > 0
    assert moved.max() < 64, "one portion of classes, then it stops"


def test_without_time_the_promises_hold_and_progress_is_reported(records: Records) -> None:
    told: list[Any] = []
    done = MOOBAM(k=5, l=2, seconds=0.0, bound_share=0.0).fit(
        records, progress=lambda done, total, what: told.append((done, total, what))
    )
    assert done.result_.smallest_class >= 5
    assert "a first partition" in told[1][2]
    assert all(total == 100 for _, total, _ in told)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told), "the bar never goes back"
    assert done.result_.lower_bound == 0.0


def test_every_long_step_of_the_first_partition_says_how_far_it_is(units: Units) -> None:
    words: list[str] = []
    labels = divide(units, k=5, classes=900, say=words.append)
    state = place(units, labels, capacity=int(labels.max()) + 1)
    sweep(units, state, k=5, l=1, say=words.append)
    repair(units, state, k=5, l=1, say=words.append)
    assert any("64 classes" in word for word in words)
    assert any("sweep 1" in word for word in words)
    assert any("filled up" in word for word in words)


def test_counted_rounds_know_no_deadline(records: Records) -> None:
    found = [MOOBAM(k=5, seconds=0.0, rounds=20, bound_share=0.0, random_state=1).fit(records) for _ in range(2)]
    assert (found[0].labels_ == found[1].labels_).all()
    assert found[0].result_.classes > 100


def test_a_limit_is_for_the_search_and_not_for_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that had compiled nothing the first fit was over before its search began."""
    asked: list[str] = []

    def clock() -> float:
        asked.append("clock")
        return time.perf_counter()

    monkeypatch.setattr(mo_obam_module, "load_loops", lambda: asked.append("loops"))
    monkeypatch.setattr(mo_obam_module, "time", SimpleNamespace(perf_counter=clock, monotonic=time.monotonic))
    records = Records.from_arrays(numeric=np.arange(60.0))
    MOOBAM(k=5, seconds=0.2, random_state=0).fit(records)
    assert asked[:2] == ["loops", "clock"]
    asked.clear()
    MOOBAM(k=5, rounds=2, random_state=0).fit(records)
    assert "loops" not in asked  # rounds take as long as they take


def test_the_loops_are_those_of_a_fit() -> None:
    """What is loaded before the clock starts is what a fit calls: nothing is compiled after it.

    In a process of its own, as the other tests of this one have compiled what they call.
    """
    program = f"""
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from aegis.candidates.clusters.mo_obam import MOOBAM, load_loops
from aegis.candidates.clusters.records import Records

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("aegis.")]
    loops = [loop for module in modules for loop in vars(module).values() if isinstance(loop, Dispatcher)]
    return {{(loop.py_func.__module__, loop.py_func.__name__): len(loop.signatures) for loop in loops}}

load_loops()
before = compiled()
rng = np.random.default_rng(1)
for rows, classes in ((300, None), (300, 9), ({ROWS}, None)):
    records = Records.from_arrays(
        numeric=np.column_stack([np.arange(rows), rng.integers(18, 90, rows)]).astype(float),
        categorical=rng.integers(0, 9, (rows, 2)),
        sensitive=rng.integers(0, 4, (rows, 1)),
    )
    model = MOOBAM(k=4, l=2, classes=classes, trade_off=0.5, label_weight=1.0, seconds=0.3, random_state=0)
    model.fit(records, rng.integers(0, 2, rows).astype(str))
print(sorted(name for name, count in compiled().items() if count != before.get(name, 0)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
