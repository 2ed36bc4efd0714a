"""A class table says the same as counting the rows by hand, whatever was merged or suppressed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.class_table import SUPPRESSED, ClassTable
from aegis.counts.content import Content
from aegis.counts.grouping import group_rows, group_tuples
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.transition import Partition

SIZES = (4, 3, 5)


def domain(size: int, *, missing: bool = False) -> Domain:
    return Domain.of(Kind.INTEGER, np.arange(size - missing), missing=missing)


def partition(rng: np.random.Generator, size: int) -> Partition:
    _, codes = np.unique(rng.integers(0, rng.integers(1, size + 1), size), return_inverse=True)
    return Partition(codes=codes, target=domain(int(codes.max()) + 1))


def table_of(rows: np.ndarray, sensitive: np.ndarray, **more: object) -> ClassTable:
    return ClassTable.from_codes(
        columns=["a", "b", "c"],
        domains=[domain(size) for size in SIZES],
        codes=rows,
        counts=np.ones(len(rows), dtype=np.int64),
        contents={"s": (domain(6, missing=True), sensitive)},
        **more,  # type: ignore[arg-type]
    )


def counted(table: ClassTable) -> dict[tuple[tuple[int, ...], int], int]:
    """Every (tuple, sensitive value) with its count, read off the table."""
    dense = table.contents["s"].dense()
    assert (dense.sum(axis=1) == table.sizes).all()
    return {
        (tuple(table.codes[i].tolist()), v): int(dense[i, v])
        for i, v in zip(*map(np.ndarray.tolist, dense.nonzero()), strict=True)
    }


@st.composite
def rows_and_rng(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 60))
    rows = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    return rows, rng.integers(0, 6, n), rng


@given(rows_and_rng())
def test_a_table_counts_its_rows(drawn: tuple[np.ndarray, np.ndarray, np.random.Generator]) -> None:
    rows, sensitive, _ = drawn
    table = table_of(rows, sensitive)
    expected = Counter((tuple(row), s) for row, s in zip(rows.tolist(), sensitive.tolist(), strict=True))
    assert counted(table) == dict(expected)
    assert table.records == len(rows)
    assert (table.contents["s"].totals == np.bincount(sensitive, minlength=6)).all()


@given(rows_and_rng())
def test_merging_the_table_is_counting_the_masked_rows(
    drawn: tuple[np.ndarray, np.ndarray, np.random.Generator],
) -> None:
    rows, sensitive, rng = drawn
    masks = {name: partition(rng, size) for name, size in zip("abc", SIZES, strict=True) if rng.random() < 0.7}
    masks["s"] = partition(rng, 6)
    masked = rows.copy()
    for position, name in enumerate("abc"):
        if name in masks:
            masked[:, position] = masks[name].codes[rows[:, position]]
    expected = Counter(
        (tuple(r), s) for r, s in zip(masked.tolist(), masks["s"].codes[sensitive].tolist(), strict=True)
    )
    assert counted(table_of(rows, sensitive).merged(masks)) == dict(expected)


@given(rows_and_rng())
def test_suppression_moves_records_and_loses_none(
    drawn: tuple[np.ndarray, np.ndarray, np.random.Generator],
) -> None:
    rows, sensitive, rng = drawn
    table = table_of(rows, sensitive)
    failing = rng.random(table.classes) < 0.4
    later = table.suppress(failing)
    assert later.records == table.records
    assert later.suppressed == table.sizes[failing].sum()
    assert (later.contents["s"].dense().sum(axis=0) == table.contents["s"].totals).all()
    if failing.any():
        assert later.star
        assert (later.codes[-1] == SUPPRESSED).all()
        assert (later.codes[:-1] == table.codes[~failing]).all()
        # The same table comes from rows that are marked as suppressed.
        marked = {tuple(c) for c in table.codes[failing].tolist()}
        mask = np.array([tuple(r) in marked for r in rows.tolist()])
        assert counted(table_of(rows, sensitive, suppressed=mask)) == counted(later)
        # Suppressing in two steps is suppressing at once.
        more = np.append(rng.random(later.classes - 1) < 0.5, False)
        both = failing.copy()
        both[np.flatnonzero(~failing)] = more[:-1]
        assert counted(later.suppress(more)) == counted(table.suppress(both))
        with pytest.raises(SummaryError, match="mask the columns first"):
            later.merged({})
    else:
        assert later is table


def test_the_star_leaves_with_or_without_its_share_of_the_reference() -> None:
    table = table_of(np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1]]), np.array([5, 2, 3])).suppress(np.array([True, False]))
    kept, gone = table.without_star(published=True), table.without_star(published=False)
    assert kept.records == gone.records == 2
    assert kept.contents["s"].totals.tolist() == [0, 0, 1, 1, 0, 1]
    assert gone.contents["s"].totals.tolist() == [0, 0, 1, 1, 0, 0]
    assert gone.without_star(published=True) is gone


def test_everything_together_is_one_class() -> None:
    table = table_of(np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1]]), np.array([5, 2, 3]))
    assert table.together().sizes.tolist() == [3]
    assert table_of(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64)).together().classes == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200))
def test_grouping_agrees_with_numpy_however_large_the_domains(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [10**6, 10**6, 10**6, 10**6, 3]  # 3e24 tuples: no 64-bit key holds them
    codes = np.column_stack([rng.choice(rng.integers(0, size, 3), n) for size in sizes])
    first, group = group_rows(codes, sizes)
    expected, inverse = np.unique(codes, axis=0, return_inverse=True)
    assert (codes[first] == expected).all()
    assert (group == inverse.ravel()).all()
    for width in (2, 5):  # keys that fit, and keys that do not
        tuples, group = group_tuples(codes[:, :width], sizes[:width])
        expected, inverse = np.unique(codes[:, :width], axis=0, return_inverse=True)
        assert (tuples == expected).all()
        assert (group == inverse.ravel()).all()


@given(st.integers(0, 2**32))
def test_tables_too_large_for_a_lookup_count_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (5000, 3000, 7000)
    rows = np.column_stack([rng.choice(rng.integers(0, size, 4), 80) for size in sizes])
    sensitive = rng.integers(0, 6, 80)
    table = ClassTable.from_codes(
        columns=["a", "b", "c"],
        domains=[domain(size) for size in sizes],
        codes=rows,
        counts=np.ones(80, dtype=np.int64),
        contents={"s": (domain(6), sensitive)},
    )
    expected = Counter((tuple(row), s) for row, s in zip(rows.tolist(), sensitive.tolist(), strict=True))
    assert counted(table) == dict(expected)


@given(st.integers(0, 2**32))
def test_wide_contents_are_sparse_and_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners, values = rng.integers(0, 300, 400), rng.integers(0, 4000, 400)
    _, owners = np.unique(owners, return_inverse=True)
    classes = int(owners.max()) + 1
    counts = rng.integers(1, 4, 400)
    content = Content.grouped(domain=domain(4000), owners=owners, values=values, counts=counts, classes=classes)
    expected = np.zeros((classes, 4000), dtype=np.int64)
    np.add.at(expected, (owners, values), counts)
    assert (content.dense() == expected).all()
    assert len(content.values) == (expected > 0).sum()
    assert (content.distinct == (expected > 0).sum(axis=1)).all()


def test_zero_counts_form_no_class() -> None:
    table = ClassTable.from_codes(
        columns=["a"], domains=[domain(3)], codes=np.array([[0], [1]]), counts=np.array([0, 2])
    )
    assert table.sizes.tolist() == [2]


def test_a_population_is_masked_along() -> None:
    people = ClassTable.from_codes(
        columns=["a"], domains=[domain(3)], codes=np.array([[0], [1], [2]]), counts=np.array([10, 20, 30])
    )
    table = ClassTable.from_codes(
        columns=["a"], domains=[domain(3)], codes=np.array([[0]]), counts=np.array([1]), population=people
    )
    halves = Partition(codes=np.array([0, 0, 1]), target=domain(2))
    merged = table.merged({"a": halves}).population
    assert merged is not None
    assert merged.sizes.tolist() == [30, 30]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"domains": []}, "1 columns and 0 domains"),
        ({"columns": ["a", "a"], "domains": [domain(3)] * 2, "codes": np.zeros((2, 2), int)}, "a column twice"),
        ({"counts": np.array([1])}, "differ in length"),
        ({"counts": np.array([1, -1])}, "negative"),
        ({"codes": np.array([[0], [3]])}, "'a' .* outside its domain"),
        ({"contents": {"s": (domain(2), np.array([0, 2]))}}, "'s' .* outside its domain"),
    ],
)
def test_a_table_that_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    given = {"columns": ["a"], "domains": [domain(3)], "codes": np.array([[0], [1]]), "counts": np.array([1, 1])}
    with pytest.raises(SummaryError, match=message):
        ClassTable.from_codes(**(given | change))  # type: ignore[arg-type]


def test_a_hierarchy_must_be_one() -> None:
    table = table_of(np.array([[0, 0, 0]]), np.array([0]))
    fine = Partition(codes=np.array([0, 0, 1, 1, 2, 2]), target=domain(3))
    across = Partition(codes=np.array([0, 1, 1, 1, 1, 1]), target=domain(2))
    top = Partition(codes=np.zeros(6, dtype=np.int64), target=domain(1))
    assert table.with_levels({"s": (fine, top), "unknown": (top,)}).contents["s"].levels == (fine, top)
    for levels in [(fine, across, top), (fine,), (Partition(codes=np.zeros(4, dtype=np.int64), target=domain(1)),)]:
        with pytest.raises(SummaryError, match="hierarchy"):
            table.with_levels({"s": levels})


def test_a_repr_shows_no_value() -> None:
    table = table_of(np.array([[0, 0, 0]]), np.array([0]))
    assert repr(table) == "ClassTable(a, b, c: 1 classes, 1 records)"
    assert "array" not in repr(table.contents["s"])
