"""Boxes that are cut by what learners expect of the label: they follow the table and not the luck of a few records."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.boxes import expected_labels
from aegis.candidates.boxes.expected_labels import trusted, with_expected_labels
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tuples import box_tuples
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy

MANY = Domain.of(Kind.INTEGER, range(60))
OWN = Growth(expected_labels=False, doubt_nats=0.0)


def table_of(codes: np.ndarray, label: np.ndarray, domain: Domain) -> ClassTable:
    return ClassTable.from_codes(
        columns=("age", "pay"), domains=[MANY, MANY], codes=codes, counts=np.ones(len(codes), dtype=np.int64),
        contents={"label": (domain, label)},
    )  # fmt: skip


def leaning(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, the chance of the label, and the label that was drawn: the chance rises along both columns."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 60, (rows, 2))
    chance = 1 / (1 + np.exp(-(codes.sum(axis=1) - 60) / 15))
    return codes, chance, (rng.random(rows) < chance).astype(np.int64)


def expected_of(
    codes: np.ndarray, label: np.ndarray, domain: Domain, *, draws: int = 1
) -> tuple[ClassTable, np.ndarray]:
    """The table, and the expected labels of its tuples for each of their records."""
    table = table_of(codes, label, domain)
    ready = with_expected_labels(box_tuples(table, ["label"]), ("label",), draws=draws)
    return table, ready.labels / ready.sizes[:, None]


@pytest.mark.parametrize("models", [{}, {"l": {"label": 1}}], ids=["by k", "by models"])
def test_boxes_tell_more_of_the_chance_than_those_cut_by_their_own_labels(models: dict[str, object]) -> None:
    codes, chance, label = leaning(600, 1)
    table = table_of(codes, label, Domain.of(Kind.INTEGER, [0, 1]))
    policy = Policy.from_mapping({"k": 10, **models})

    def lost(growth: Growth) -> float:
        boxes = grow_boxes(table, policy, labels=["label"], growth=growth).boxes
        box = boxes.box_of((MANY, MANY), codes)
        return float(np.var(chance - (np.bincount(box, chance) / np.maximum(np.bincount(box), 1))[box]))

    assert lost(Growth()) < 0.85 * lost(OWN)


def test_a_record_is_told_by_learners_that_did_not_see_it() -> None:
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(range(20), range(20))])
    label = np.random.default_rng(2).integers(0, 2, 400)
    table, expected = expected_of(grid, label, Domain.of(Kind.INTEGER, [0, 1]))
    own = table.contents["label"].values  # every tuple has one record
    assert abs(float(np.corrcoef(own, expected[:, 1])[0, 1])) < 0.2, "labels without reason cannot be foretold"
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_classes_and_numbers_are_expected_alike() -> None:
    codes, _, _ = leaning(500, 3)
    place = codes.sum(axis=1)
    _, shares = expected_of(codes, place // 40, Domain.of(Kind.TEXT, ["few", "more", "most"]))
    assert shares.shape[1] == 3
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    table, numbers = expected_of(codes, place, Domain.of(Kind.INTEGER, range(119)))
    np.testing.assert_allclose(numbers[:, 0], 1.0)
    assert float(np.corrcoef(numbers[:, 1], table.codes.sum(axis=1))[0, 1]) > 0.95


def test_what_several_draws_of_folds_say_together_is_nearer_to_the_chance() -> None:
    def apart(draws: int, seed: int) -> float:
        codes, _, label = leaning(600, seed)
        table, expected = expected_of(codes, label, Domain.of(Kind.INTEGER, [0, 1]), draws=draws)
        chance = 1 / (1 + np.exp(-(table.codes.sum(axis=1) - 60.0) / 15))
        return float(np.mean((expected[:, 1] - chance) ** 2))

    assert all(apart(2, seed) < apart(1, seed) for seed in range(5))


def test_a_sample_tells_of_all_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_labels, "MOST_RECORDS", 300)
    codes, _, label = leaning(900, 4)
    table, expected = expected_of(codes, label, Domain.of(Kind.INTEGER, [0, 1]))
    assert np.isfinite(expected).all()
    assert float(np.corrcoef(expected[:, 1], table.codes.sum(axis=1))[0, 1]) > 0.7


def test_missing_labels_are_left_out() -> None:
    codes, _, label = leaning(500, 5)
    domain = Domain.of(Kind.INTEGER, [0, 1], missing=True)
    label = np.where(np.arange(500) % 5 == 0, 2, label)
    ready = box_tuples(table_of(codes, label, domain), ["label"])
    expected = with_expected_labels(ready, ("label",))
    np.testing.assert_allclose(expected.labels.sum(axis=1), ready.labels.sum(axis=1))


def test_too_few_records_speak_for_themselves() -> None:
    codes, _, label = leaning(99, 6)
    table = table_of(codes, label, Domain.of(Kind.INTEGER, [0, 1]))
    policy = Policy.from_mapping({"k": 5})
    own = grow_boxes(table, policy, labels=["label"], growth=Growth(expected_labels=False)).boxes
    assert grow_boxes(table, policy, labels=["label"]).boxes == own


def test_learners_are_trusted_by_how_well_they_tell_records_that_they_were_not_trained_on() -> None:
    rng = np.random.default_rng(6)
    chance = rng.random(2_000)
    wanted = np.eye(2)[(rng.random(2_000) < chance).astype(int)]
    by_chance = rng.random(2_000)
    answers = np.stack([np.column_stack([1 - said, said]) for said in (chance, by_chance)])
    trust = trusted(answers, wanted)
    assert trust[0] > 0.9
    assert trust.min() >= 0.0
    assert trust.sum() == pytest.approx(1.0)


def test_learners_that_tell_nothing_are_trusted_alike() -> None:
    wanted = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(trusted(np.ones((3, 3, 1)), wanted), 1 / 3)
    np.testing.assert_allclose(trusted(-np.stack([wanted, wanted]), wanted), 1 / 2)
