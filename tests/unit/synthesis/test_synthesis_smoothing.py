"""What neighbours say: where in a bin the numbers of each label lie, how many there are, which cells are empty."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from aegis.candidates.synthesis.attribute import Attribute, NumberCells
from aegis.candidates.synthesis.binning import beside, smoothed, standing_together
from aegis.candidates.synthesis.declared import DeclaredRange
from aegis.candidates.synthesis.finding import Finder
from aegis.candidates.synthesis.measuring import Account, Measurer, Promise, SeededNoise
from aegis.candidates.synthesis.pool import denoised
from aegis.counts.cells import Steps
from aegis.counts.marginals import CodedColumn, CodesCounter
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Column


def binned(edges: list[float], *, cells: int, zero_first: bool = False) -> Attribute:
    """Bins of so many equal cells each; the first may be the number zero alone."""
    bins: list[Any] = []
    for low, high in pairwise(edges):
        sides = np.linspace(low, high, cells + 1)
        bins.append(NumberCells(low=sides[:-1], high=sides[1:], chance=np.full((cells, 1), 1 / cells)))
    starts = edges[:-1]
    if zero_first:
        bins.insert(0, NumberCells(low=np.zeros(1), high=np.full(1, 1e-300), chance=np.ones((1, 1))))
        bins[1].low[0] = 1e-300
        starts = [0.0, 1e-300, *edges[1:-1]]
    column = CodedColumn(name="x", kind=Kind.REAL, cells=Steps(starts=tuple(starts)))
    codes = np.append(np.arange(len(bins)), 0)  # nothing is missing
    return Attribute(column=column, groups=codes, values=tuple(bins), origin="declared")


def test_numbers_lie_towards_the_fuller_side_and_every_bin_keeps_its_count() -> None:
    attribute = binned([0.0, 1.0, 2.0, 3.0, 4.0], cells=8)
    counts = np.array([[400.0, 5.0], [60.0, 60.0], [0.0, 300.0], [0.0, 500.0]])
    shaped = smoothed(attribute, counts)
    for cells in shaped.values:
        assert cells.chance.shape == (8, 2)
        assert cells.chance.sum(axis=0) == pytest.approx(1.0)
        assert (cells.chance >= 0).all()
    second = shaped.values[1].chance
    assert second[:4, 0].sum() > 0.75  # the first label comes from the left
    assert second[4:, 1].sum() > 0.75  # the second one from the right


def test_drawn_numbers_follow_their_own_label() -> None:
    counts = np.array([[400.0, 5.0], [60.0, 60.0], [0.0, 300.0], [0.0, 500.0]])
    shaped = smoothed(binned([0.0, 1.0, 2.0, 3.0, 4.0], cells=8), counts)
    codes, strata = np.ones(400, dtype=np.int64), np.repeat([0, 1], 200)
    numbers = np.array(shaped.drawn(codes, np.random.default_rng(0), strata=strata).to_pylist())
    assert ((numbers >= 1.0) & (numbers < 2.0)).all()
    assert numbers[:200].mean() < 1.4 < 1.6 < numbers[200:].mean()


def test_a_number_that_many_records_have_draws_nothing_towards_it() -> None:
    counts = np.array([[5000.0], [50.0], [50.0], [50.0]])
    shaped = smoothed(binned([0.0, 1.0, 2.0, 3.0], cells=8, zero_first=True), counts)
    assert shaped.values[1].chance == pytest.approx(1 / 8, rel=0.01)


def test_what_neighbours_expect_of_a_bin_has_no_part_of_its_own_noise() -> None:
    attribute = binned([0.0, 1.0, 3.0, 4.0, 5.0], cells=4)
    counts = np.array([[10.0], [24.0], [14.0], [16.0]])
    expected = beside(attribute, counts)
    assert expected is not None
    assert expected[:, 0] == pytest.approx([12.0, 24.0, 14.4, 14.0], rel=0.01)  # two wide: twice the mean of both sides
    moved = counts.copy()
    moved[1] += 1000.0
    again = beside(attribute, moved)
    assert again is not None
    assert again[1] == expected[1]
    assert beside(binned([0.0, 1.0, 2.0], cells=4), counts[:2]) is None


def test_of_two_expectations_the_nearer_one_is_taken() -> None:
    rng = np.random.default_rng(1)
    truth = np.linspace(10.0, 200.0, 40)[:, None] * np.ones((1, 2))
    noisy = truth + 20.0 * rng.standard_normal(truth.shape)
    far = np.full_like(truth, 100.0)
    errors = [np.abs(denoised(noisy, *given, sigma=20.0) - truth).mean() for given in ((far,), (far, truth))]
    assert errors[1] < 0.5 * errors[0]


def test_cells_that_hold_little_each_are_not_empty_together_and_noise_hardly_ever_is() -> None:
    rng = np.random.default_rng(0)
    held = 1.2 + rng.standard_normal((200, 24))
    assert np.mean([(standing_together(row, alone=2.0) > 3.0) | (row >= 2.0) for row in held]) > 0.8
    empty = rng.standard_normal((200, 64))
    assert np.mean([standing_together(row, alone=2.0) > 3.0 for row in empty]) < 0.05


def widest(seed: int) -> float:
    """The widest bin of 3,500 records spread over 48 cells, under a noise that is about as large as a cell."""
    rng = np.random.default_rng(seed)
    values = np.round(np.linspace(1.0, 4.0, 301), 2)
    account = Account.of(Promise(epsilon=1.0, delta=1e-6), finds_values=False)
    finder = Finder(
        counter=CodesCounter({"x": (Domain.of(Kind.REAL, values), rng.integers(0, 301, 3500))}),
        measurer=Measurer(account, SeededNoise(rng)),
        rho=0.0002,
        delta=0.0,
        least=136.0,
    )
    declared = DeclaredRange(low=0.0, high=4.0, decimals=2, missing=False)
    attribute = finder.attribute(Column(name="x", kind=Kind.REAL), declared, None, now=False)
    assert isinstance(attribute, Attribute)
    return float(max(cells.high[-1] - max(cells.low[0], 1.0) for cells in attribute.values))


def test_a_broad_column_of_few_records_is_cut_though_hardly_a_cell_stands_out() -> None:
    assert np.mean([widest(seed) for seed in range(20)]) < 0.7  # 0.86 where each cell is judged by itself
