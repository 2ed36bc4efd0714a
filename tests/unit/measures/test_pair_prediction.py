"""Many small tables looked at together say what each says alone."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from aegis.measures.leave_one_out import leave_one_out_accuracy, leave_one_out_information
from aegis.measures.pair_prediction import _told


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(2, 4), st.integers(0, 2**31)), min_size=1, max_size=8))
def test_tables_together_say_what_each_says_alone(shapes: list[tuple[int, int, int]]) -> None:
    tables = [
        np.random.default_rng(seed).poisson(2.5, size=(rows, labels)).astype(float) + np.eye(rows, labels)
        for rows, labels, seed in shapes
    ]
    told = _told(tables, balanced=False)
    for i, table in enumerate(tables):
        assert told[0, i] == pytest.approx(float(leave_one_out_information(table)), abs=1e-12)
        assert told[2, i] == pytest.approx(float(leave_one_out_accuracy(table)), abs=1e-12)
        assert told[1, i] >= 0


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(2, 4), st.integers(0, 2**31)), min_size=1, max_size=8))
def test_balanced_every_label_counts_alike(shapes: list[tuple[int, int, int]]) -> None:
    tables = [
        np.random.default_rng(seed).poisson(2.5, size=(rows, labels)).astype(float) + np.eye(rows, labels)
        for rows, labels, seed in shapes
    ]
    told, plain = _told(tables, balanced=True), _told(tables, balanced=False)
    assert np.array_equal(told[:2], plain[:2])  # what is known does not depend on what is decided
    for i, table in enumerate(tables):
        assert told[2, i] == pytest.approx(_balanced_accuracy(table), abs=1e-9)


def _balanced_accuracy(table: np.ndarray) -> float:
    """One record at a time: the share of each label that the other records of its line would tell, averaged."""
    label = table.sum(axis=0)
    shares, there = label / label.sum(), label > 0
    right = np.zeros(len(label))
    for line in table:
        for own in np.flatnonzero(line):
            others = (line - (np.arange(len(line)) == own) + 2 * shares)[there] / shares[there]
            place = int(there[:own].sum())
            right[own] += line[own] * (others[place] > np.delete(others, place).max(initial=-np.inf) + 1e-6)
    return max(float((right[there] / label[there]).mean()), 1 / there.sum())


def test_labels_that_are_equally_common_are_balanced_already() -> None:
    halves = np.random.default_rng(0).poisson(3.0, size=(6, 1)).astype(float) + 1
    table = np.hstack([halves, halves[::-1]])
    assert np.allclose(_told([table], balanced=True), _told([table], balanced=False))
