"""Which attributes of a small table tell something of the label, and that noise does not make others seem to."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.synthesis.attribute import spread_points
from aegis.candidates.synthesis.binning import cut_bins
from aegis.candidates.synthesis.declared import DeclaredValues, PublicDomain
from aegis.candidates.synthesis.measuring import Account, Promise, SeededNoise
from aegis.candidates.synthesis.pool import denoised, evened
from aegis.candidates.synthesis.synthesizer import Model, learn
from aegis.candidates.synthesis.telling import departure
from aegis.counts.marginals import CodesCounter
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Column

ROWS, OTHERS = 900, 15
LETTERS = Domain.of(Kind.TEXT, np.array(["a", "b", "c"]))
LISTED = DeclaredValues(values=("a", "b", "c"), missing=False)
NAMES = ("telling", *(f"x{at}" for at in range(OTHERS)))


def learnt(seed: int) -> tuple[Model, Account]:
    """A label that one attribute tells much of, and fifteen nothing, in 900 rows at ε = 1."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, ROWS)
    codes = {name: rng.integers(0, 3, ROWS) for name in NAMES}
    codes["telling"] = np.where(rng.random(ROWS) < 0.7, label, codes["telling"])
    account = Account.of(Promise(epsilon=1.0, delta=1e-6), finds_values=False)
    columns = {name: (LETTERS, column) for name, column in (*codes.items(), ("y", label))}
    model = learn(
        CodesCounter(columns),
        [Column(name=name, kind=Kind.TEXT) for name in columns],
        label="y",
        account=account,
        noise=SeededNoise(rng),
        public=PublicDomain(columns=dict.fromkeys(columns, LISTED)),
        rng=rng,
    )
    return model, account


def apart(model: Model, place: int) -> float:
    """By how much the shares of an attribute's codes differ between the first two labels, at most."""
    shares = model.singles[place] / model.singles[place].sum(axis=0)
    return float(np.abs(shares[:, 0] - shares[:, 1]).max())


@pytest.mark.parametrize("seed", range(3))
def test_what_tells_of_the_label_is_measured_again_and_noise_makes_no_other_seem_to(seed: int) -> None:
    model, account = learnt(seed)
    again = [entry.columns[0] for entry in account.measured if entry.what == "attribute again"]
    assert "telling" in again
    assert len(again) <= 6
    assert apart(model, 0) > 0.4
    assert np.median([apart(model, place) for place in range(1, 1 + OTHERS)]) < 0.01


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_one_record_moves_a_departure_by_one_at_most(labels: int) -> None:
    rng = np.random.default_rng(labels)
    most = 0.0
    for _ in range(50):
        counts = rng.integers(0, 9, (4, labels))
        shares = rng.dirichlet(np.ones(labels))
        before = departure(counts, shares)
        for place in np.ndindex(counts.shape):
            counts[place] += 1
            most = max(most, abs(departure(counts, shares) - before))
            counts[place] -= 1
    assert 0.9 < most <= 1 + 1e-9


def test_a_departure_is_how_many_records_have_the_wrong_label() -> None:
    even = np.array([0.5, 0.5])
    assert departure(np.array([[10, 10], [30, 30]]), even) == 0.0
    assert departure(np.array([[20, 0], [0, 60]]), even) == pytest.approx(2 * (10 + 30))


def test_the_choice_is_paid_for_and_nothing_is_left() -> None:
    _, account = learnt(0)
    (choice,) = [entry for entry in account.measured if entry.what == "departures from the label's shares"]
    assert choice.marginals == choice.numbers == 1 + OTHERS
    assert choice.rho == pytest.approx(choice.marginals / (2 * choice.sigma**2))
    assert account.spent == pytest.approx(account.rho)
    assert account.spent <= account.rho * (1 + 1e-9)


def test_rows_say_no_more_of_the_label_than_the_model_does() -> None:
    model, _ = learnt(1)
    codes = model.drawn_codes(400, np.random.default_rng(3))
    for place, name in enumerate(NAMES):
        shares = model.singles[place] / model.singles[place].sum(axis=0)
        for label in range(2):
            rows = codes[name][codes["y"] == label]
            counts = np.bincount(rows, minlength=3)
            assert np.abs(counts - shares[:, label] * len(rows)).max() <= 2


def test_evened_codes_change_as_little_as_they_can() -> None:
    rng = np.random.default_rng(0)
    context = np.repeat([0, 1], 100)
    codes = rng.integers(0, 3, 200)
    wanted = np.array([[50.0, 0.0], [25.0, 0.0], [25.0, 0.0]])
    moved = evened(codes, context, wanted, rng)
    assert np.abs(np.bincount(moved[:100], minlength=3) - wanted[:, 0]).max() <= 1
    surplus = np.maximum(np.bincount(codes[:100], minlength=3) - np.bincount(moved[:100], minlength=3), 0).sum()
    assert (moved[:100] != codes[:100]).sum() == surplus
    assert (moved[100:] == codes[100:]).all()  # nothing is wanted of a context without records


def test_points_are_spread_evenly_within_every_stratum() -> None:
    strata = np.array([0, 1, 1, 0, 0, 1, 0, 3])
    points = spread_points(strata, np.random.default_rng(0))
    for stratum in (0, 1, 3):
        own = np.sort(points[strata == stratum])
        assert (np.floor(own * len(own)) == np.arange(len(own))).all()


def test_a_large_difference_stays_as_it_was_measured() -> None:
    rng = np.random.default_rng(0)
    expected = np.full((50, 2), 100.0)
    noisy = expected + rng.standard_normal(expected.shape)
    noisy[0] = [400.0, 0.0]
    clean = denoised(noisy, expected, sigma=1.0)
    assert np.abs(clean[0] - noisy[0]).max() < 0.2
    assert np.abs(clean[1:] - 100.0).mean() < 0.3  # the noise itself is 0.8


def test_bins_are_cut_also_where_a_cell_by_itself_is_hardly_more_than_noise() -> None:
    rng = np.random.default_rng(0)
    truth = np.zeros((64, 2))
    truth[:20, 0], truth[20:, 1] = 30.0, 30.0
    noisy = truth + 40.0 * rng.standard_normal(truth.shape)
    starts = cut_bins(noisy, variance=np.full(64, 2 * 40.0**2), least=100.0, most=48)
    assert min(abs(start - 20) for start in starts) <= 3
