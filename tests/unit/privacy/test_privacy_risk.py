"""The risk summary against counting by hand."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.models.risks import HomogeneityRisk, LinkageRisk
from aegis.privacy.risk import risk_summary


def table_of(sizes: list[int]) -> ClassTable:
    return ClassTable.from_codes(
        columns=["q"],
        domains=[Domain.of(Kind.INTEGER, np.arange(len(sizes)))],
        codes=np.arange(len(sizes)).reshape(-1, 1),
        counts=np.array(sizes, dtype=np.int64),
        contents={"s": (Domain.of(Kind.INTEGER, [0, 1]), np.zeros(len(sizes), dtype=np.int64))},
    )


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=30))
def test_the_summary_counts_records(sizes: list[int]) -> None:
    summary = risk_summary(table_of(sizes))
    people = [size for size in sizes for _ in range(size)]
    assert summary.records == len(people)
    assert summary.prosecutor == summary.journalist == max(1 / size for size in people)
    assert np.isclose(summary.marketer, np.mean([1 / size for size in people]))
    assert summary.unique_records == sizes.count(1)
    assert sum(band.records for band in summary.bands) == len(people)
    assert sum(band.classes for band in summary.bands) == len(sizes)
    for band in summary.bands:
        end = np.inf if band.largest is None else band.largest
        assert band.classes == sum(band.smallest <= size <= end for size in sizes)
    assert json.loads(json.dumps(summary.as_certificate()))["classes"] == len(sizes)
    for tau in (0.05, 0.1, 0.5):
        exposed = LinkageRisk(tau=tau).risks(table_of(sizes)) @ sizes
        assert exposed == sum(1 / size > tau for size in people)
    assert HomogeneityRisk(attributes=("s",)).risks(table_of(sizes)) @ sizes == len(people)


def test_suppressed_records_have_no_risk_and_a_population_lowers_it() -> None:
    table = table_of([1, 3, 6])
    summary = risk_summary(table.suppress(np.array([True, False, False])))
    assert summary.records == 9
    assert summary.prosecutor == 1 / 3
    assert not summary.has_population
    everybody = risk_summary(table.suppress(np.array([True, True, True])))
    assert (everybody.records, everybody.prosecutor, everybody.marketer) == (0, 0.0, 0.0)
