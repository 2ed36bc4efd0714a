"""What every registered learner must keep: a new one is tested by being registered. Laws before examples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target

every = pytest.mark.parametrize("name", list(LEARNERS))
kinds = pytest.mark.parametrize("classes", [2, 3, 12, 0])
TRAINING, TESTING = 700, 300
CATEGORIES = 6

Codes = NDArray[np.int32]


def numbers_of(codes: Codes, size: int) -> CodedColumn:
    return CodedColumn(size=size, numbers=np.arange(size, dtype=np.float64))


def made(classes: int, *, seed: int = 0) -> tuple[list[tuple[CodedColumn, Codes]], Target]:
    """Two ordered columns, one of categories and one with missing values, and a label that three of them tell."""
    rng = np.random.default_rng(seed)
    rows = TRAINING + TESTING
    first, second = (rng.integers(0, 30, rows).astype(np.int32) for _ in range(2))
    town = rng.integers(0, CATEGORIES, rows).astype(np.int32)
    holes = rng.integers(0, 9, rows).astype(np.int32)
    shown = first / 6.0 - second / 12.0 + np.array([0.0, 2.0, -1.0, 0.5, 3.0, -2.0])[town] + rng.normal(0, 0.5, rows)
    if classes:
        edges = np.quantile(shown, np.arange(1, classes) / classes)
        target = Target.of_classes(np.searchsorted(edges, shown), classes)
    else:
        target = Target.of_numbers(shown)
    missing = CodedColumn(size=9, numbers=np.append(np.arange(8.0), np.nan))
    columns = [(numbers_of(first, 30), first), (numbers_of(second, 30), second)]
    return [*columns, (CodedColumn(size=CATEGORIES), town), (missing, holes)], target


def split_of(columns: list[tuple[CodedColumn, Codes]], target: Target, training: NDArray[np.int64]) -> Split:
    testing = np.arange(TRAINING, TRAINING + TESTING)
    return Split(
        columns=tuple(
            SplitColumn(column, training=codes[training], testing=codes[testing]) for column, codes in columns
        ),
        target=target.at(training),
        test_rows=TESTING,
    )


def answers(
    name: str, columns: list[tuple[CodedColumn, Codes]], target: Target, *, seed: int = 3
) -> NDArray[np.float64]:
    return expect(LEARNERS[name], split_of(columns, target, np.arange(TRAINING)), seed=seed)


def quality(expected: NDArray[np.float64], target: Target) -> float:
    wanted = target.at(np.arange(TRAINING, TRAINING + TESTING))
    if target.classes:
        return float((expected.argmax(axis=1) == wanted.labels).mean())
    return float(1.0 - ((expected[:, 0] - wanted.numbers) ** 2).mean() / wanted.numbers.var())


@every
@kinds
def test_answers_are_chances_or_numbers_and_better_than_guessing(name: str, classes: int) -> None:
    columns, target = made(classes)
    expected = answers(name, columns, target)
    assert expected.shape == (TESTING, max(classes, 1))
    assert np.isfinite(expected).all()
    if classes:
        assert (expected >= 0).all()
        np.testing.assert_allclose(expected.sum(axis=1), 1.0, atol=1e-9)
    guessing = float(target.shares().max()) if classes else 0.0
    assert quality(expected, target) > guessing + (0.2 if classes < 12 else 0.1)


@every
@kinds
def test_equal_seeds_give_equal_answers(name: str, classes: int) -> None:
    columns, target = made(classes)
    np.testing.assert_array_equal(answers(name, columns, target), answers(name, columns, target))


@every
@kinds
def test_a_constant_column_changes_nothing(name: str, classes: int) -> None:
    columns, target = made(classes)
    same = (CodedColumn(size=4), np.full(TRAINING + TESTING, 2, dtype=np.int32))
    np.testing.assert_array_equal(answers(name, [*columns, same], target), answers(name, columns, target))


@every
@kinds
def test_the_codes_of_categories_are_names_without_meaning(name: str, classes: int) -> None:
    columns, target = made(classes)
    column, codes = columns[2]
    renamed = np.random.default_rng(1).permutation(CATEGORIES).astype(np.int32)
    others = [*columns[:2], (column, renamed[codes]), columns[3]]
    np.testing.assert_allclose(answers(name, others, target), answers(name, columns, target), atol=1e-6)


@every
@kinds
def test_stretching_a_number_keeps_what_its_order_tells(name: str, classes: int) -> None:
    columns, target = made(classes)
    stretched = (CodedColumn(size=30, numbers=np.arange(30, dtype=np.float64) * 1000.0 - 7.0), columns[0][1])
    others = [stretched, *columns[1:]]
    np.testing.assert_allclose(answers(name, others, target), answers(name, columns, target), atol=1e-6)


@every
@kinds
def test_the_order_of_the_training_rows_hardly_matters(name: str, classes: int) -> None:
    columns, target = made(classes)
    shuffled = np.random.default_rng(2).permutation(TRAINING)
    other = expect(LEARNERS[name], split_of(columns, target, shuffled), seed=3)
    assert abs(quality(other, target) - quality(answers(name, columns, target), target)) < 0.05


@every
@kinds
def test_a_test_row_is_answered_for_alone(name: str, classes: int) -> None:
    columns, target = made(classes)
    whole = split_of(columns, target, np.arange(TRAINING))
    half = Split(
        columns=tuple(
            SplitColumn(each.column, training=each.training, testing=each.testing[::2]) for each in whole.columns
        ),
        target=whole.target,
        test_rows=TESTING // 2,
    )
    learner = LEARNERS[name]
    np.testing.assert_allclose(expect(learner, half, seed=3), expect(learner, whole, seed=3)[::2], atol=1e-12)


@every
def test_a_class_that_no_training_row_has_is_no_trouble(name: str) -> None:
    columns, target = made(3)
    training = np.flatnonzero(target.labels[:TRAINING] != 1)
    expected = expect(LEARNERS[name], split_of(columns, target, training), seed=3)
    assert (expected[:, 1] < 0.05).all()


@every
def test_where_nothing_can_be_learnt_the_shares_are_the_answer(name: str) -> None:
    _, target = made(2)
    same = (CodedColumn(size=4), np.full(TRAINING + TESTING, 2, dtype=np.int32))
    expected = answers(name, [same], target)
    np.testing.assert_allclose(expected, np.tile(target.at(np.arange(TRAINING)).shares(), (TESTING, 1)))


@every
def test_a_number_is_learnt_as_well_far_from_nought(name: str) -> None:
    columns, target = made(0)
    near = Target.of_numbers(np.round(10 * target.numbers))
    far = Target.of_numbers(near.numbers + 2**52)
    np.testing.assert_allclose(answers(name, columns, far) - 2**52, answers(name, columns, near), atol=2.0)
    assert abs(quality(answers(name, columns, far), far) - quality(answers(name, columns, near), near)) < 0.01


@every
def test_one_wild_value_does_not_outweigh_all_other_rows(name: str) -> None:
    """A slip of the pen in a test row, an age of 987654, made an R² of minus hundreds."""
    columns, target = made(0)
    numbers = np.append(np.arange(29.0), 987_654.0)
    first = columns[0][1].copy()
    first[first == 29] = 28
    tidy = [(CodedColumn(size=30, numbers=numbers), first), *columns[1:]]
    first = first.copy()
    first[TRAINING] = 29
    wild = [(CodedColumn(size=30, numbers=numbers), first), *columns[1:]]
    assert quality(answers(name, wild, target), target) > quality(answers(name, tidy, target), target) - 0.1
