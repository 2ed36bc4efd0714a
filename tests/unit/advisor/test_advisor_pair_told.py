"""Many small tables looked at together say what each says alone."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from aegis.advisor.pair_prediction import _told
from aegis.utility.leave_one_out import leave_one_out_accuracy, leave_one_out_information


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(2, 4), st.integers(0, 2**31)), min_size=1, max_size=8))
def test_tables_together_say_what_each_says_alone(shapes: list[tuple[int, int, int]]) -> None:
    tables = [
        np.random.default_rng(seed).poisson(2.5, size=(rows, labels)).astype(float) + np.eye(rows, labels)
        for rows, labels, seed in shapes
    ]
    told = _told(tables)
    for i, table in enumerate(tables):
        assert told[0, i] == pytest.approx(float(leave_one_out_information(table)), abs=1e-12)
        assert told[2, i] == pytest.approx(float(leave_one_out_accuracy(table)), abs=1e-12)
        assert told[1, i] >= 0
