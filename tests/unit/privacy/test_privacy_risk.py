"""The risks of linkage and homogeneity against counting by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.models.risks import HomogeneityRisk, LinkageRisk


def table_of(sizes: list[int]) -> ClassTable:
    return ClassTable.from_codes(
        columns=["q"],
        domains=[Domain.of(Kind.INTEGER, np.arange(len(sizes)))],
        codes=np.arange(len(sizes)).reshape(-1, 1),
        counts=np.array(sizes, dtype=np.int64),
        contents={"s": (Domain.of(Kind.INTEGER, [0, 1]), np.zeros(len(sizes), dtype=np.int64))},
    )


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=30))
def test_the_risks_count_records(sizes: list[int]) -> None:
    people = [size for size in sizes for _ in range(size)]
    for tau in (0.05, 0.1, 0.5):
        exposed = LinkageRisk(tau=tau).risks(table_of(sizes)) @ sizes
        assert exposed == sum(1 / size > tau for size in people)
    assert HomogeneityRisk(attributes=("s",)).risks(table_of(sizes)) @ sizes == len(people)
