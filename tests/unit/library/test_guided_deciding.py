"""The second step: what tells a quasi-identifier is one, and what stands out unmasked is said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import aegis
from aegis.data.engine import open_dataset
from aegis.data.schema import Role, Roles
from aegis.library.guided.deciding import checked, published_words
from aegis.library.guided.looking import AS_SAID, Look, SuggestedRole, likely_label, look, suggest_roles

ROWS = 1200


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    day = rng.integers(0, 364, ROWS)
    return pa.table({
        "alter": rng.integers(20, 80, ROWS),
        "monat": (day // 30.4).astype(int),
        "woche": day // 7,
        "cost": rng.permutation(ROWS) + 0.5,
        "ward": rng.integers(0, 4, ROWS),
        "sex": np.where(rng.random(ROWS) < 0.5, "f", "m"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def seen(table: pa.Table) -> Look:
    return look(open_dataset(table))


def _named(seen: Look, why: str, **roles: Role) -> tuple[SuggestedRole, ...]:
    return tuple(
        SuggestedRole(column=each.column, role=roles[each.column], why=why) if each.column in roles else each
        for each in suggest_roles(seen, "ward")
    )


def test_the_week_counts_with_the_month_that_somebody_named(seen: Look) -> None:
    decided, notes = checked(seen, _named(seen, AS_SAID, monat=Role.QUASI_IDENTIFYING))
    roles = {each.column: each.role for each in decided}
    assert roles["woche"] is Role.QUASI_IDENTIFYING
    assert roles["cost"] is Role.INSENSITIVE
    assert any(note.startswith("woche tells monat") for note in notes)


def test_what_somebody_named_insensitive_stays_so_and_is_said(seen: Look) -> None:
    said = _named(seen, AS_SAID, monat=Role.QUASI_IDENTIFYING, woche=Role.INSENSITIVE)
    decided, (note,) = checked(seen, said)
    assert {each.column: each.role for each in decided}["woche"] is Role.INSENSITIVE
    assert "can be read there" in note


def test_columns_that_leave_as_they_are_and_single_rows_out_are_said(table: pa.Table) -> None:
    roles = Roles(label="ward", quasi_identifying=("alter", "sex"), insensitive=("cost", "monat"))
    words = published_words(open_dataset(table), roles)
    assert words is not None
    assert f"{ROWS:,} of {ROWS:,} cases; by cost alone {ROWS:,} rows" in words
    few = Roles(label="ward", quasi_identifying=("alter",), insensitive=("sex",))
    assert published_words(open_dataset(table), few) is None


def test_the_label_is_not_what_people_know_of_each_other(seen: Look, table: pa.Table) -> None:
    assert likely_label(seen) != "sex"
    assert likely_label(look(open_dataset(table.select(["alter", "cost", "sex"])))) == "cost"
    assert likely_label(look(open_dataset(table.select(["alter", "sex"])))) == "sex"


def test_python_decides_alike(table: pa.Table) -> None:
    opened = aegis.open(table, label="ward").with_roles(quasi=["alter", "monat"])
    assert "woche" in opened.roles.quasi_identifying


def test_python_says_where_less_is_asked_because_people_show_fewer_values() -> None:
    """The third illness is had by one person who has the others too: by people there are two to tell apart."""
    who = np.repeat(np.arange(80), 3)
    ill = np.where(who % 2, "flu", "cold").astype(object)
    ill[:3] = ["flu", "cold", "cough"]
    rng = np.random.default_rng(1)
    frame = pa.table({
        "patient_id": [f"p{each:03}" for each in who],
        "age": np.repeat(rng.integers(20, 60, 80), 3),
        "diagnosis": ill,
        "ward": rng.integers(0, 3, 240).astype(str),
    })  # fmt: skip
    opened = aegis.open(frame, label="ward").with_roles(
        quasi=["age"], sensitive=["diagnosis"], identifying=["patient_id"]
    )
    assert opened.policy["unit"] == "patient_id"
    assert opened.policy["l"]["diagnosis"]["l"] == 2
    said = "diagnosis: counted by patient_id, all rows together show 2 values, so no group is asked for more"
    assert said in opened.notes
    assert said in repr(opened)
    assert said in opened.for_purpose("public").notes
    assert said in opened.compare(candidates=["masks"], generate=2).notes
    dropped = aegis.open(frame.set_column(2, "diagnosis", [["flu", *ill[1:3], *["flu"] * 237]]), label="ward")
    dropped = dropped.with_roles(quasi=["age"], sensitive=["diagnosis"], identifying=["patient_id"])
    assert "l" not in dropped.policy
    assert "all rows together show 1 value, so nothing is asked of its groups" in repr(dropped)
    assert said not in opened.for_purpose("internal").notes, "nothing is asked there that could be lowered"
    assert said not in opened.for_purpose("public", people=False).notes
    assert said not in opened.with_policy({"quasi_identifying": ["age"], "k": 2}).notes


def test_python_says_what_was_noticed_about_roles(table: pa.Table) -> None:
    opened = aegis.open(table, label="ward").with_roles(quasi=["alter", "monat"], insensitive=["woche"])
    assert any("can be read there" in note for note in opened.notes)
