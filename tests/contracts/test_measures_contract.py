"""What every registered measure must keep: its declared bounds, direction, flags and scaling. Laws before examples."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aegis.errors import MeasureError
from aegis.measures.measure import (
    MEASURES,
    AttributeMeasure,
    Basis,
    Scaling,
    find_attribute_measure,
    find_pair_measure,
    measures_of,
)

Table = NDArray[np.int64]
OF_ATTRIBUTES = measures_of(AttributeMeasure)
every = pytest.mark.parametrize("name", list(OF_ATTRIBUTES))
monotone = pytest.mark.parametrize("name", [name for name, measure in OF_ATTRIBUTES.items() if measure.monotone])
invariant = pytest.mark.parametrize("name", [name for name, measure in OF_ATTRIBUTES.items() if measure.invariant])
laws = settings(max_examples=60, deadline=None)
NOISE = 1e-9


@st.composite
def tables(draw: st.DrawFn, *, rows: int = 8, labels: int = 4, largest: int = 30) -> Table:
    """Counts with zero cells, empty rows and empty columns among them, but at least one record."""
    a, y = draw(st.integers(1, rows)), draw(st.integers(1, labels))
    cells = draw(st.lists(st.integers(0, largest) | st.just(0), min_size=a * y, max_size=a * y))
    counts = np.array(cells, dtype=np.int64).reshape(a, y)
    counts[draw(st.integers(0, a - 1)), draw(st.integers(0, y - 1))] += draw(st.integers(1, largest))
    return counts


@st.composite
def tables_and_groups(draw: st.DrawFn) -> tuple[Table, Table]:
    counts = draw(tables())
    codes = draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    return counts, np.unique(np.array(codes), return_inverse=True)[1]


def merged(counts: NDArray[np.generic], codes: Table) -> NDArray[np.float64]:
    out = np.zeros((codes.max() + 1, counts.shape[1]))
    np.add.at(out, codes, counts)
    return out


def spread(counts: Table, codes: Table, *, by_histogram: bool) -> NDArray[np.float64]:
    """Each block's conditional distribution given to each of its values: the paper's one-mask reconstruction."""
    block = merged(counts, codes)
    if by_histogram:
        sizes = block.sum(axis=1, keepdims=True)
        return counts.sum(axis=1, keepdims=True) * (block / np.where(sizes > 0, sizes, 1))[codes]
    return (block / np.bincount(codes)[:, None])[codes]


def worse(measure: AttributeMeasure, before: float, after: float) -> float:
    """How much worse ``after`` is; negative when it is better."""
    return before - after if measure.higher_is_better else after - before


def of(name: str, counts: NDArray[np.generic]) -> float:
    return float(find_attribute_measure(name)(counts))


# Tables on which a flag that is False must show: the flag would otherwise be a claim nobody checked.
WITNESSES: list[tuple[Table, Table]] = [
    (np.array([[4, 0], [4, 0], [0, 8]]), np.array([0, 0, 1])),  # merging values that say the same
    (np.eye(6, dtype=np.int64)[:, [0, 1]] + np.eye(6, dtype=np.int64)[:, [2, 3]], np.array([0, 1, 0, 1, 2, 2])),
    (np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]), np.array([0, 0, 0, 1, 1, 1])),  # an identifier
    (np.array([[10, 0, 0], [0, 5, 5], [0, 5, 5]]), np.array([0, 1, 1])),  # Cramér's V: .71 becomes 1
    (np.array([[1, 1, 0], [0, 5, 5], [9, 0, 1], [0, 0, 7]]), np.array([0, 0, 1, 1])),
]


@pytest.mark.parametrize("name", list(MEASURES))
def test_the_declared_facts_are_complete(name: str) -> None:
    measure = MEASURES[name]
    assert measure.name == name
    assert measure.unit
    assert measure.reference, "say where it comes from"
    assert measure.summary.endswith("."), "the first line of its docstring is a sentence"
    assert measure.lower < measure.upper
    assert measure.facts()["name"] == name
    assert measure.of_whole_configurations == (measure.basis is not Basis.JOINT)


def test_a_measure_of_the_other_kind_is_refused_in_words() -> None:
    with pytest.raises(MeasureError, match="scores whole configurations"):
        find_attribute_measure("pair-prediction")
    with pytest.raises(MeasureError, match="scores single attributes"):
        find_pair_measure("g3")
    with pytest.raises(MeasureError, match="did you mean 'pair-prediction'"):
        find_pair_measure("pair-predictions")


@every
@given(counts=tables())
@laws
def test_values_are_finite_and_within_the_declared_bounds(name: str, counts: Table) -> None:
    measure = find_attribute_measure(name)
    value = measure(counts)
    assert np.ndim(value) == 0
    assert np.isfinite(value)
    assert measure.lower <= value <= measure.upper


@every
@given(counts=tables(), seed=st.integers(0, 99))
@laws
def test_the_order_of_values_and_labels_does_not_matter(name: str, counts: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = counts[rng.permutation(len(counts))][:, rng.permutation(counts.shape[1])]
    assert of(name, shuffled) == pytest.approx(of(name, counts), abs=NOISE)


@every
@given(counts=tables())
@laws
def test_values_and_labels_that_never_occur_add_nothing(name: str, counts: Table) -> None:
    padded = np.pad(counts, ((1, 2), (2, 1)))
    assert of(name, padded) == pytest.approx(of(name, counts), abs=NOISE)


@every
@given(counts=tables())
@laws
def test_whole_and_real_counts_give_the_same(name: str, counts: Table) -> None:
    assert of(name, counts.astype(np.float64)) == of(name, counts)
    assert of(name, counts.astype(np.int32)) == of(name, counts)


@every
def test_many_tables_at_once_equal_one_after_the_other(name: str) -> None:
    rng = np.random.default_rng(1)
    stack = rng.integers(0, 20, size=(3, 4, 6, 3)) * rng.integers(0, 2, size=(3, 4, 6, 3))
    stack[0, 0] = 0  # an empty table among them, as a bootstrap of a rare group may draw
    together = find_attribute_measure(name)(stack)
    assert together.shape == (3, 4)
    one_by_one = np.array([[of(name, table) for table in row] for row in stack])
    np.testing.assert_allclose(together, one_by_one, atol=1e-12)
    assert np.isfinite(together).all()


@every
@given(counts=tables())
@laws
def test_a_constant_attribute_scores_the_blank_and_nothing_is_worse_where_monotone(name: str, counts: Table) -> None:
    measure = find_attribute_measure(name)
    label = counts.sum(axis=0)
    blank = float(measure.blank(label))
    assert of(name, label[None, :]) == pytest.approx(blank, abs=NOISE), "blank= says what a constant attribute scores"
    if measure.monotone:
        assert worse(measure, of(name, counts), blank) >= -NOISE


@monotone
@given(case=tables_and_groups())
@laws
def test_merging_values_never_helps_where_monotone(name: str, case: tuple[Table, Table]) -> None:
    measure = find_attribute_measure(name)
    counts, codes = case
    assert worse(measure, of(name, counts), of(name, merged(counts, codes))) >= -NOISE * max(1.0, of(name, counts))


@invariant
@given(case=tables_and_groups(), by_histogram=st.booleans())
@laws
def test_spreading_a_block_changes_nothing_where_invariant(
    name: str, case: tuple[Table, Table], by_histogram: bool
) -> None:
    counts, codes = case
    masked = of(name, merged(counts, codes))
    assert of(name, spread(counts, codes, by_histogram=by_histogram)) == pytest.approx(masked, rel=1e-9, abs=NOISE)


@every
def test_a_flag_that_is_false_has_a_witness(name: str) -> None:
    measure = find_attribute_measure(name)
    rises = [-worse(measure, of(name, counts), of(name, merged(counts, codes))) for counts, codes in WITNESSES]
    moves = [
        abs(of(name, spread(counts, codes, by_histogram=True)) - of(name, merged(counts, codes)))
        for counts, codes in WITNESSES
    ]
    for flag, shown in (("monotone", rises), ("invariant", moves)):
        if getattr(measure, flag):
            assert max(shown) < 1e-6, f"{name} declares {flag}; table {np.argmax(shown)} of WITNESSES says otherwise"
        else:
            assert max(shown) > 1e-6, (
                f"{name} declares {flag} = False, and no table of WITNESSES shows it: add one that does, or declare it "
                "True and prove it in docs/theory"
            )


@every
@given(counts=tables())
@laws
def test_more_of_the_same_records_does_what_is_declared(name: str, counts: Table) -> None:
    measure = find_attribute_measure(name)
    once, tenfold = of(name, counts), of(name, counts * 10)
    if measure.scaling is Scaling.FREE:
        assert tenfold == pytest.approx(once, abs=NOISE)
    elif measure.scaling is Scaling.LINEAR:
        assert tenfold == pytest.approx(10 * once, rel=1e-9, abs=1e-7)
    elif name == "leave-one-out-information":
        assert tenfold >= once - NOISE  # more evidence is never less information


def _lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python run while ``work`` does."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@every
def test_a_thousand_values_are_an_operation_on_arrays(name: str) -> None:
    """No line of Python runs once for each value: lines are counted, because a clock knows what else a machine does."""
    measure = find_attribute_measure(name)
    few, many = (np.random.default_rng(0).integers(1, 50, size=(values, 2)) for values in (20, 1000))
    measure(few)  # what is imported and compiled on first use
    measure(many)
    assert _lines_run(lambda: measure(many)) < _lines_run(lambda: measure(few)) + 500, (
        f"{name} loops over the values; write it with operations on whole arrays"
    )
