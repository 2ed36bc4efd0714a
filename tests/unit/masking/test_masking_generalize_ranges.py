"""Hierarchies of columns that have too many values to be counted one by one."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import HierarchyError
from aegis.masking.masks.generalize import Generalize
from aegis.masking.transition import transition

DAYS = [datetime.date(2017, 1, 3) + datetime.timedelta(days=5 * i) for i in range(40)]
MONTHS = Hierarchy.of([[day.isoformat(), f"{day:%Y-%m}", f"{day:%Y}"] for day in DAYS])


def test_a_range_goes_with_the_first_value_in_it() -> None:
    starts = np.array([day.replace(day=1) for day in (DAYS[0], DAYS[10], DAYS[39])], dtype="datetime64[D]")
    months = Domain.of(Kind.DATE, starts.astype(Kind.DATE.dtype), discretised=True)
    mask = Generalize(level=1, hierarchy=MONTHS)
    mask.check_domain(months, column="seen")
    assert transition(mask, months, np.ones(3)).target.labels() == ["2017-01", "2017-02", "2017-07"]


def test_numbers_are_ordered_as_numbers() -> None:
    sizes = Hierarchy.of([["9", "few"], ["10", "many"], ["100", "many"]])
    ranges = Domain.of(Kind.INTEGER, [8, 10, 50], discretised=True)
    resolved = Generalize(level=1, hierarchy=sizes).resolve(ranges, np.ones(3))
    assert resolved.on_values(np.array([8, 10, 50])).tolist() == ["few", "many", "many"]
    with pytest.raises(HierarchyError, match="something else"):
        Generalize(level=1, hierarchy=Hierarchy.of([["x", "few"]])).resolve(ranges, np.ones(3))


def test_a_value_that_was_counted_by_itself_must_be_in_the_hierarchy() -> None:
    sizes = Hierarchy.of([["9", "few"], ["10", "many"]])
    with pytest.raises(HierarchyError, match="misses 1 of the column's 2 values"):
        Generalize(level=1, hierarchy=sizes).check_domain(Domain.of(Kind.INTEGER, [9, 11]), column="n")
