"""Suggested roles: at most one label, and nothing about a person passed over for it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.inspection.profile import profile
from aegis.inspection.suggested_role import suggest_role


def _suggested(**columns: Sequence[object]) -> dict[str, Role]:
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


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Geburtsdatum", Role.QUASI_IDENTIFYING), ("Geschlecht", Role.QUASI_IDENTIFYING),
        ("Familienstand", Role.QUASI_IDENTIFYING), ("sexe", Role.QUASI_IDENTIFYING),
        ("fecha de nacimiento", Role.QUASI_IDENTIFYING), ("Leeftijd", Role.QUASI_IDENTIFYING),
        ("Nationalité", Role.QUASI_IDENTIFYING), ("Diagnose", Role.SENSITIVE), ("illness", Role.SENSITIVE),
        ("diagnóstico", Role.SENSITIVE),
        ("Jahresgehalt", Role.SENSITIVE), ("Gehaltsstufe", Role.SENSITIVE), ("alternative", Role.INSENSITIVE),
        ("Patientennummer", Role.IDENTIFYING), ("lead_time", Role.INSENSITIVE),
    ],
)  # fmt: skip
def test_names_of_columns_in_other_languages(name: str, role: Role) -> None:
    assert suggest_role(name, Kind.INTEGER, distinct=300, present=900, last=False)[0] is role


@pytest.mark.parametrize("distinct", [2, 400, 900])
def test_a_date_is_what_somebody_may_know_however_many_there_are(distinct: int) -> None:
    for kind in (Kind.DATE, Kind.TIMESTAMP):
        role, why = suggest_role("Aufn", kind, distinct=distinct, present=900, last=True)
        assert role is Role.QUASI_IDENTIFYING
        assert "date" in why


def test_what_people_know_of_each_other_is_no_label_for_being_last() -> None:
    found = _suggested(cost=[1.5, 2.5, 3.5, 9.0], sex=["f", "m", "f", "m"])
    assert found["sex"] is Role.QUASI_IDENTIFYING


@pytest.mark.parametrize("name", ["last_name", "fake_first_name", "PatientName", "Surname"])
def test_names_of_people_identify_however_few_there_are(name: str) -> None:
    assert suggest_role(name, Kind.TEXT, distinct=27, present=10_000, last=False)[0] is Role.IDENTIFYING
    assert suggest_role("clinic_name", Kind.TEXT, distinct=27, present=10_000, last=False)[0] is Role.INSENSITIVE


def test_both_halves_of_a_place_are_quasi_identifying() -> None:
    north, east = [44.1, 44.2, 44.3, 44.4], [-93.1, -93.2, -93.3, -93.4]
    found = _suggested(lat=north, long=east, outcome=["a", "b", "a", "b"])
    assert (found["lat"], found["long"]) == (Role.QUASI_IDENTIFYING, Role.QUASI_IDENTIFYING)
    assert _suggested(long=east, outcome=["a", "b", "a", "b"])["long"] is Role.INSENSITIVE


def test_what_became_of_somebody_is_the_label_before_the_last_column_is() -> None:
    few: list[object] = ["a", "b", "a", "c"]
    assert _suggested(churn=few, billing=few)["churn"] is Role.LABEL


def test_what_became_of_somebody_before_is_not_the_label() -> None:
    few: list[object] = ["a", "b", "a", "c"]
    columns = {"no_of_previous_bookings_not_canceled": few, "booking_status": few}
    assert _suggested(**columns)["booking_status"] is Role.LABEL


def test_a_column_that_most_rows_miss_is_not_the_label() -> None:
    found = _suggested(status=["a", "b", "a", "c"], chapter=["a", None, None, "b"])
    assert found["status"] is Role.LABEL


def test_a_number_of_its_own_in_every_row_identifies_also_where_it_is_written_as_a_real() -> None:
    numbers: list[object] = [float(87_016_831 + 37 * i) for i in range(30)]
    charges: list[object] = [87.5 + 37 * i for i in range(30)]
    few: list[object] = ["ab"[i % 2] for i in range(30)]
    found = _suggested(q1=numbers, q2=charges, outcome=few)
    assert (found["q1"], found["q2"]) == (Role.IDENTIFYING, Role.INSENSITIVE)


def test_numbers_that_no_whole_number_of_an_engine_reaches_are_looked_at() -> None:
    few: list[object] = ["ab"[i % 2] for i in range(30)]
    found = _suggested(amount=[1.5, 1e19, 1e300] * 10, serial=[1e19 * i for i in range(30)], outcome=few)
    assert (found["amount"], found["serial"]) == (Role.INSENSITIVE, Role.IDENTIFYING)


def _visits(**more: Sequence[object]) -> dict[str, Sequence[object]]:
    """Three visits each of sixty patients, in no order, each with a chart number of his own."""
    people = [(i * 37) % 60 for i in range(180)]
    return {
        "patient": [f"P{each}" for each in people],
        "chart": [(each * 7919 + 31) % 99_991 for each in people],
        "bed": [(each * 7) % 40 for each in people],
        "charged": [(i * 104_729) % 99_991 for i in range(180)],
        **more,
    }


def test_a_number_that_says_whose_a_row_is_identifies_as_the_name_beside_it_does() -> None:
    columns = {column.name: column for column in profile(open_dataset(pa.table(_visits()))).columns}
    assert columns["chart"].suggested is Role.IDENTIFYING
    assert columns["chart"].same_as == "patient"
    assert columns["bed"].suggested is Role.INSENSITIVE  # two patients may have one bed
    read_as_reals = _suggested(**_visits(chart=[float(value) for value in _visits()["chart"]]))  # type: ignore[arg-type]
    assert read_as_reals["chart"] is Role.IDENTIFYING


def test_without_a_name_beside_it_a_number_that_repeats_says_nothing() -> None:
    columns = _visits()
    del columns["patient"]
    assert _suggested(**columns)["chart"] is Role.INSENSITIVE
