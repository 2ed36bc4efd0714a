"""Sanitized tables for an evaluation: whose columns, in which order, with which noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.counts.collect import count_joints
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.evaluation.sanitizing import find_sanitizers
from aegis.library import evaluate_families
from aegis.library.evaluate_families import SanitizedTables


def made(**roles: Any) -> SanitizedTables:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    table = pa.table(
        {
            "name": [f"n{i}" for i in range(600)],
            "strong": 10.0 * label + rng.normal(size=600),
            "fair": np.where(rng.random(600) < 0.8, label, 1 - label).astype(str),
            "weak": rng.choice(["a", "b", "c"], 600),
            "holes": pa.array([None if i % 7 == 0 else i % 5 for i in range(600)]),
            "y": label,
        }
    )
    dataset = open_dataset(table, roles=Roles(label="y", identifying=("name",), **roles))
    return SanitizedTables.of(dataset, count_joints(dataset, label="y"), quasi=["weak", "fair"], seed=0)


@pytest.fixture
def one_distortion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the choice of columns is looked at."""
    monkeypatch.setattr(evaluate_families, "find_sanitizers", partial(find_sanitizers, shares=(0.8,)))


@pytest.mark.usefixtures("one_distortion")
def test_what_says_most_about_the_label_is_taken_where_nothing_is_named_and_the_note_says_so() -> None:
    tables = made()
    assert tables.sanitizers.private == ("strong", "fair")
    assert tables.sanitizers.adversary == ("weak",)
    assert "none is named as sensitive" in tables.notes[0]
    assert "strong and fair" in tables.notes[0]
    assert "'0'" not in repr(tables) + repr(tables.sanitizers), "values are not shown"


@pytest.mark.usefixtures("one_distortion")
def test_named_quasi_identifiers_are_known_and_not_taken() -> None:
    assert made(quasi_identifying=("strong", "fair")).sanitizers.private == ("weak",)


@pytest.mark.usefixtures("one_distortion")
def test_the_sensitive_columns_are_taken_and_one_that_cannot_be_is_named() -> None:
    tables = made(sensitive=("weak", "holes"))
    assert tables.sanitizers.private == ("weak",)
    assert "weak (named as sensitive)" in tables.notes[0]
    assert "holes is not sanitized: it misses values" in tables.notes
    nothing = made(sensitive=("holes",))
    assert nothing.names == ()
    assert nothing.notes == ("holes is not sanitized: it misses values",)
    assert not list(nothing.drawn(0))


def test_rows_stay_in_order_and_noise_is_drawn_by_the_seed() -> None:
    tables = made(sensitive=("strong",))
    assert tables.names
    assert set(tables.names) <= {"sanitized-10", "sanitized-40", "sanitized-80"}
    assert any("% of the records are determined" in note for note in tables.notes), "audited like any other release"
    one, again, other = (dict(tables.drawn(seed)) for seed in (0, 0, 1))
    for name in tables.names:
        for column in ("name", "fair", "weak", "y"):
            assert one[name][column] == tables.table[column]
        assert one[name]["strong"] == again[name]["strong"]
        assert one[name]["strong"] != other[name]["strong"]
        assert one[name]["strong"] != tables.table["strong"]
