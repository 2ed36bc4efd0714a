"""Sanitized candidates: real mechanisms at rising distortions, found again by a seed, and every refusal said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from aegis.candidates.sanitizers.mechanism import CategoryMechanism, NumberMechanism
from aegis.candidates.sanitizers.number_column import FLOOR_SHARE
from aegis.evaluation.sanitizing import MOST_CHOSEN, Sanitizers, choose_private, find_sanitizers


def people(rows: int = 1500) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(0)
    wealth, age = rng.normal(size=rows), rng.normal(size=rows)
    return {
        "income": 40 + 10 * wealth + 3 * rng.normal(size=rows),
        "ill": np.where(age + 0.7 * rng.normal(size=rows) > 0, "yes", "no").astype(object),
        "age": np.round(45 + 12 * age),
        "flat": np.round(60 + 15 * wealth + 8 * rng.normal(size=rows)),
        "job": rng.choice(["a", "b", "c"], rows).astype(object),
    }


def find(columns: dict[str, NDArray[Any]], private: Sequence[str], *, shares: Sequence[float] = (0.8,)) -> Sanitizers:
    return find_sanitizers(columns, private=private, adversary=("job",), shares=shares, seed=3)


def guessed_right(column: NDArray[Any], symbols: NDArray[Any]) -> float:
    """Share of records whose category is the commonest one of their symbol."""
    commonest = [np.unique(column[symbols == one].astype(str), return_counts=True)[1].max() for one in set(symbols)]
    return float(sum(commonest)) / len(column)


def test_a_number_is_released_within_the_distortion_asked_for_and_audited() -> None:
    columns = people()
    found = find(columns, ["income"], shares=(0.4, 0.8))
    assert set(found.authorized) == {"age", "flat", "ill", "job"}
    assert found.adversary == ("job",)
    assert not found.notes
    assert list(found.by_share) == [0.4, 0.8]
    for share, (one,) in found.fitted.items():
        assert found.by_share[share] == (one.mechanism,)
        assert isinstance(one.mechanism, NumberMechanism)
        parts = one.mechanism.mixture.components
        widths: list[float] = [getattr(part, "std", getattr(part, "blur", np.inf)) for part in parts]
        assert min(widths) >= FLOOR_SHARE * 0.9 * columns["income"].std()
        assert 0.4 * one.distortion <= one.reconstruction.loss <= one.distortion
        assert "exact" in one.audit.adversaries[0].by_attacker, "who knows the mechanism attacks as well"
        assert one.determined <= 0.01


def test_a_category_says_less_the_more_distortion_it_has() -> None:
    columns = people()
    found = find(columns, ["ill", "income"], shares=(0.1, 0.4, 0.8))
    assert found.private == ("ill", "income")
    assert list(found.by_share) == [0.4, 0.8]
    assert any("ill is not sanitized at 10 %: no release keeps posterior at most 0.98" in note for note in found.notes)
    says = []
    for mechanism, _ in found.by_share.values():
        assert isinstance(mechanism, CategoryMechanism)
        symbols = mechanism.apply(columns["ill"], rng=np.random.default_rng(1))["ill_released"]
        says.append(guessed_right(columns["ill"], symbols))
    assert says[0] > says[1] + 0.02


def test_columns_that_are_told_by_what_all_releases_say_together_are_no_candidate() -> None:
    """Each release alone leaves doubt about nearly every record; two releases of nearly the same column do not."""
    columns = people()
    odd = np.random.default_rng(5).random(1500) < 0.004
    columns["still"] = np.where(odd, np.where(columns["ill"] == "yes", "no", "yes"), columns["ill"]).astype(object)
    without = {name: values for name, values in columns.items() if name != "still"}
    assert list(find(without, ["ill"], shares=(0.3,)).by_share) == [0.3]
    together = find(columns, ["ill", "still"], shares=(0.3,))
    assert not together.by_share
    assert any(note.startswith("nothing is sanitized at 30 %: with all releases in sight") for note in together.notes)


def test_the_same_seed_finds_the_same_mechanisms() -> None:
    columns = people()
    one, two = (find(columns, ["ill"]).by_share[0.8][0] for _ in range(2))
    assert isinstance(one, CategoryMechanism)
    assert isinstance(two, CategoryMechanism)
    np.testing.assert_array_equal(one.release, two.release)


def test_nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("jax", "sklearn"):
        monkeypatch.setitem(sys.modules, extra, None)  # importing it fails from here on
    assert find(people(), ["income", "ill"]).by_share[0.8]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.array(["x"] * 500, dtype=object), "constant"),
        (np.array([None, "x", "y", "y"] * 125, dtype=object), "misses values"),
        (np.array([f"v{i % 13}" for i in range(500)], dtype=object), "13 categories"),
        (np.array(["rare"] * 3 + ["x", "y"] * 250, dtype=object)[:500], "fewer than 20"),
    ],
)
def test_what_cannot_be_sanitized_is_said_with_its_reason(column: NDArray[Any], reason: str) -> None:
    columns = {**people(500), "secret": column}
    found = find(columns, ["secret"])
    assert not found.by_share
    (note,) = found.notes
    assert note.startswith("secret is not sanitized")
    assert reason in note
    assert choose_private(columns, ["secret", "ill"]) == ["ill"]


def test_a_refused_column_leaves_the_others_and_no_value_is_told() -> None:
    columns = people()
    columns["canary"] = np.array(["canary-value", None] * 750, dtype=object)
    found = find(columns, ["canary", "ill"])
    assert found.private == ("ill",)
    assert "canary" not in found.authorized, "side information that misses values"
    assert not any("canary-value" in note for note in found.notes)


def test_a_copy_is_no_side_information() -> None:
    columns = people()
    columns["twin"] = np.where(columns["ill"] == "yes", "1", "0").astype(object)
    found = find(columns, ["ill"])
    assert "twin" not in found.authorized
    assert found.by_share


def test_few_rows_are_refused() -> None:
    found = find(people(200), ["ill"])
    assert not found.by_share
    assert "300 rows" in found.notes[0]


def test_all_that_are_named_are_tried_and_few_are_chosen() -> None:
    columns = people()
    named = ["ill", "job", "income"]
    found = find(columns, named)
    assert found.private
    for name in set(named) - set(found.private):
        assert any(note.startswith(f"{name} is not sanitized") for note in found.notes), "left out, and said why"
    assert [one.column for one in found.by_share[0.8]] == list(found.private)
    assert choose_private(columns, named) == named[:MOST_CHOSEN]
