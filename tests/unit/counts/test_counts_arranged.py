"""Classes made by sorting whole rows packed into numbers are the classes made by grouping."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.answer import encode
from aegis.counts.class_table import ClassTable, _arranged, _grouped
from aegis.counts.content import Content
from aegis.counts.grouping import ROOM, in_order, packed, unpacked, width
from aegis.data.domain import Domain
from aegis.data.kind import Kind


def numbers(size: int) -> Domain:
    return Domain.of(Kind.INTEGER, list(range(size)))


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    content_sizes=st.lists(st.integers(1, 4), max_size=2),
    rows=st.integers(0, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_arranged_classes_are_grouped_ones(sizes: list[int], content_sizes: list[int], rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains = [numbers(size) for size in sizes]
    codes = np.asfortranarray(np.stack([rng.integers(0, size, rows) for size in sizes], axis=1))
    counts = rng.integers(1, 1000, rows)
    contents = {f"s{i}": (numbers(size), rng.integers(0, size, rows)) for i, size in enumerate(content_sizes)}
    keys = packed([(codes[:, i], width(size)) for i, size in enumerate(sizes)])
    assert keys is not None
    made = _arranged(domains, keys, counts, contents)
    assert made is not None
    wanted = _grouped(domains, codes, counts, contents, None)
    assert made[0].codes.tolist() == wanted[0].codes.tolist()
    assert made[1].tolist() == wanted[1].tolist()
    for name, wanted_content in wanted[2].items():
        same(made[2][name], wanted_content)


@pytest.mark.parametrize("rows", [3, 200])  # nearly all distinct, and nearly none
def test_a_table_from_keys_is_the_one_from_codes(rows: int) -> None:
    rng = np.random.default_rng(rows)
    codes, counts = rng.integers(0, 3, (rows, 2)), rng.integers(1, 5, rows)
    domains, contents = [numbers(3), numbers(3)], {"s": (numbers(4), rng.integers(0, 4, rows))}
    wanted = ClassTable.from_codes(columns="ab", domains=domains, codes=codes, counts=counts, contents=contents)
    keys = packed([(codes[:, 0], 2), (codes[:, 1], 2)])
    assert keys is not None
    found = ClassTable.from_keys(columns="ab", domains=domains, keys=keys, counts=counts, contents=contents)
    assert found is not None
    assert found.codes.tolist() == wanted.codes.tolist()
    assert found.sizes.tolist() == wanted.sizes.tolist()
    same(found.contents["s"], wanted.contents["s"])


@given(
    bits=st.integers(1, 62),
    rows=st.sampled_from([0, 1, 100, ROOM, 2 * ROOM]),
    spread=st.sampled_from([1, 7, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None)
def test_numbers_come_in_order(bits: int, rows: int, spread: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 1 << bits, rows) // spread
    before = numbers.copy()
    assert (in_order(numbers) == np.sort(before)).all()


def same(found: Content, wanted: Content) -> None:
    for part in ("starts", "values", "counts", "totals", "owners", "distinct"):
        assert getattr(found, part).tolist() == getattr(wanted, part).tolist(), part
    assert found.sizes.tolist() == found.per_class(found.counts.astype(np.float64)).tolist()


@given(size=st.integers(1, 4), rows=st.integers(0, 20), seed=st.integers(0, 2**32 - 1))
def test_together_is_regrouping_into_one(size: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ClassTable.from_codes(
        columns=["q"],
        domains=[numbers(5)],
        codes=rng.integers(0, 5, (rows, 1)),
        counts=rng.integers(1, 9, rows),
        contents={"s": (numbers(size), rng.integers(0, size, rows))},
    )
    one = min(table.classes, 1)
    content = table.contents["s"]
    same(content.together(), content.regrouped(np.zeros(table.classes, dtype=np.int64), one))


def test_rows_too_wide_for_a_number_are_grouped() -> None:
    sizes = [2**21, 2**21, 2**21]
    domains = [Domain(kind=Kind.INTEGER, values=np.arange(size)) for size in sizes]
    codes = np.array([[5, 0, 2**21 - 1], [0, 7, 1], [5, 0, 2**21 - 1]])
    keys = packed([(codes[:, i], width(size)) for i, size in enumerate(sizes)])
    assert keys is not None
    assert _arranged(domains, keys, np.array([1, 2, 3]), {}) is None  # 63 bits of tuple leave no room for the count
    table = ClassTable.from_codes(columns=["a", "b", "c"], domains=domains, codes=codes, counts=np.array([1, 2, 3]))
    assert table.codes.tolist() == [[0, 7, 1], [5, 0, 2**21 - 1]]
    assert table.sizes.tolist() == [2, 4]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 0), st.integers(0, 8)), max_size=9))
def test_packing_keeps_tuples_and_their_order(rows: list[tuple[int, int, int]]) -> None:
    codes = np.array(rows, dtype=np.int64).reshape(-1, 3)
    widths = [width(size) for size in (5, 1, 9)]
    keys = packed([(codes[:, i], bits) for i, bits in enumerate(widths)])
    assert keys is not None
    assert unpacked(keys, widths).tolist() == codes.tolist()
    assert codes[np.argsort(keys, kind="stable")].tolist() == sorted(map(list, rows))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int64()])
def test_narrow_whole_numbers_keep_their_distances(kind: pa.DataType) -> None:
    given_values = [-128, 127, 0, 127]
    out = np.empty(4, dtype=np.int64)
    domain, codes = encode(pa.chunked_array([pa.array(given_values, kind)]), Kind.INTEGER, out=out)
    assert codes is out
    assert domain.values[codes].tolist() == given_values
