"""Suggested roles: at most one label, and nothing about a person passed over for it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from aegis.counts.profile import profile, suggest_role
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role


def _suggested(**columns: list[object]) -> dict[str, Role]:
    return {column.name: column.suggested for column in profile(open_dataset(pa.table(columns))).columns}


def test_one_column_looks_like_the_label() -> None:
    few: list[object] = ["a", "b", "a", "c"]
    found = _suggested(checking_status=few, loan_status=few, marital_status=few, target=few)
    assert found["target"] is Role.LABEL
    assert list(found.values()).count(Role.LABEL) == 1
    assert found["marital_status"] is Role.QUASI_IDENTIFYING


def test_a_label_in_the_middle_is_found_by_its_name() -> None:
    found = _suggested(age=[1, 2, 3, 4], outcome=["a", "b", "a", "b"], weight=[1.5, 2.5, 3.5, None])
    assert found == {"age": Role.QUASI_IDENTIFYING, "outcome": Role.LABEL, "weight": Role.QUASI_IDENTIFYING}


@pytest.mark.parametrize("name", ["user_id", "customerId", "Patient No", "EMPLOYEE-NUMBER"])
def test_a_number_of_a_person_identifies_also_where_it_repeats(name: str) -> None:
    assert suggest_role(name, Kind.INTEGER, distinct=339, present=10_000, last=False)[0] is Role.IDENTIFYING


@pytest.mark.parametrize("name", ["site_id", "member_count", "user_region"])
def test_other_numbers_do_not(name: str) -> None:
    assert suggest_role(name, Kind.INTEGER, distinct=339, present=10_000, last=False)[0] is not Role.IDENTIFYING
