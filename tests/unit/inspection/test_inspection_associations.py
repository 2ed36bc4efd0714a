"""Which columns go together: laws of the number, and which pairs are named."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.inspection.findings import associations, cramers_v

RNG = np.random.default_rng(7)
COIN, DIE = RNG.integers(0, 2, 4_000), RNG.integers(0, 6, 4_000)


def test_it_is_the_same_both_ways_and_under_other_names() -> None:
    mixed = (DIE + COIN) % 6
    assert cramers_v(DIE, mixed) == pytest.approx(cramers_v(mixed, DIE))
    assert cramers_v(DIE, mixed) == pytest.approx(cramers_v((5 - DIE), mixed))
    order = RNG.permutation(len(DIE))
    assert cramers_v(DIE, mixed) == pytest.approx(cramers_v(DIE[order], mixed[order]))


def test_it_is_one_where_each_tells_the_other_and_nought_by_chance() -> None:
    assert cramers_v(DIE, (DIE * 5 + 3) % 6) == pytest.approx(1.0)
    assert cramers_v(COIN, DIE) < 0.05
    many = RNG.integers(0, 64, 4_000), RNG.integers(0, 64, 4_000)
    assert cramers_v(*many) < 0.1, "many values go together by chance, which is taken off"


def test_the_strongest_pairs_are_named_and_identifiers_are_not() -> None:
    noisy = np.where(RNG.random(4_000) < 0.8, DIE, RNG.integers(0, 6, 4_000))
    found = associations({"die": DIE, "copy": DIE + 3, "noisy": noisy, "coin": COIN, "row": np.arange(4_000)})
    assert [(each.left, each.right) for each in found] == [("die", "copy"), ("die", "noisy"), ("copy", "noisy")]
    assert found[0].strength == 1.0
    assert associations({"die": DIE, "copy": DIE}, most=0) == ()


def test_common_values_stand_for_a_column_of_very_many() -> None:
    wide = RNG.integers(0, 500, 4_000)
    (found,) = associations({"wide": wide, "parity": (wide % 2)})
    assert 0.3 <= found.strength < 0.9, "the rare values are one, and tell nothing"
    assert associations({"few": np.arange(20) % 2, "rows": np.arange(20) % 2}) == (), "too few rows to say"
