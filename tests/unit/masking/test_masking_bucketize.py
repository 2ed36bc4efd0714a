"""Edges of buckets where numbers are large: a row stands under a label that holds it, or the edges are refused."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa
import pytest

from aegis.counts.answer import ask
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.masks.bucketize import Bucketize

AROUND = np.array([step + offset for step in (-(2**60), 0, 10**16, 2**60) for offset in (-3, -1, 0, 1, 3)])


@pytest.mark.parametrize("edge", [9007199254741001, 2.0**53, -1234567890123456])
def test_edges_that_numbers_of_that_size_do_not_keep_are_refused(edge: float) -> None:
    with pytest.raises(MaskError, match="more than fifteen digits"):
        Bucketize(edges=(edge,))
    assert Bucketize(edges=(0.1 + 0.2, 10**16, 1e300)).edges == (0.3, 10**16, 1e300)


@pytest.mark.parametrize("edges", [(0.5, 10**16), (-1e300, 0, 1e16, 1e300), (-1e30,), (1e19,), (-0.5, 0.5)])
def test_large_whole_numbers_stand_in_buckets_that_hold_them(edges: tuple[float, ...]) -> None:
    mask = Bucketize(edges=edges)
    labels = mask.on_values(AROUND).tolist()
    for value, label in zip(AROUND.tolist(), labels, strict=True):
        low, high = (float(end) for end in label[1:-1].split(", "))
        assert low <= value < high, "Python compares whole numbers with doubles exactly"
    table = ibis.memtable(pa.table({"n": pa.array(AROUND, pa.int64())}))
    answer = ask(table.select(shown=mask.expression(table.n, Kind.INTEGER)))
    assert answer["shown"].to_pylist() == labels


def test_buckets_that_are_read_off_large_numbers_have_edges_that_can_be_written() -> None:
    values = 2**53 + np.arange(1, 40)
    domain = Domain.of(Kind.INTEGER, values.tolist())
    for mask in (Bucketize(count=4), Bucketize(quantiles=4)):
        fitted = mask.resolve(domain, np.full(len(values), 20))
        for value, label in zip(values.tolist(), fitted.on_values(values).tolist(), strict=True):
            low, high = (float(end) for end in label[1:-1].split(", "))
            assert low <= value < high
    assert Bucketize(count=4).resolve(Domain.of(Kind.INTEGER, [2**53 + 1]), np.array([9])).edges == (0.0,)


@pytest.mark.parametrize("mask", [Bucketize(count=1), Bucketize(quantiles=1)])
@pytest.mark.parametrize("values", [[48_123, 60_000, 71_000], [48_123], [-7.25, 3.5], [-9e307, 1.0], []])
def test_the_edge_of_a_single_bucket_is_nobody_s_value(mask: Bucketize, values: list[float]) -> None:
    domain = Domain.of(Kind.REAL, values)
    fitted = mask.resolve(domain, np.ones(domain.size, dtype=np.int64))
    assert fitted.edges is not None
    assert not set(fitted.edges) & set(values)
    labels = set(fitted.on_values(domain.values).tolist())
    assert len(labels) <= 1
    assert all(mask.could_write(list(labels)))
