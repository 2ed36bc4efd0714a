"""The path in Python: what is opened, compared and released shows itself, is written as JSON, and knows a slip."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest

import aegis
from aegis.library.guided.candidate_release import GuidedRelease
from aegis.library.guided.comparison import Comparison

CANARY = "C00017"


@pytest.fixture(scope="module")
def people() -> pa.Table:
    columns: dict[str, Sequence[object]] = {
        "customer_id": [f"C{i:05d}" for i in range(200)],
        "age": [20 + (i * 7) % 40 for i in range(200)],
        "region": [("north", "south")[i % 2] for i in range(200)],
        "outcome": ["good" if ((i * 7) % 40 > 20) != (i % 5 == 0) else "bad" for i in range(200)],
    }
    return pa.table({name: list(values) for name, values in columns.items()})


@pytest.fixture(scope="module")
def compared(people: pa.Table) -> Comparison:
    return aegis.open(people, label="outcome").compare(candidates=["masks"], generate=3)


def test_letters_that_changed_places_are_seen_before_other_slips(people: pa.Table) -> None:
    with pytest.raises(TypeError, match="did you mean 'label'"):
        aegis.advise(people, lable="outcome")  # type: ignore[call-arg]


def test_a_slip_in_open_names_open_and_the_word(people: pa.Table) -> None:
    with pytest.raises(TypeError, match=r"^open\(\) got an unexpected keyword argument 'labl'"):
        aegis.open(people, labl="outcome")  # type: ignore[call-arg]


def test_an_open_table_shows_its_columns_with_roles_and_is_written_as_json(people: pa.Table) -> None:
    table = aegis.open(people, label="outcome")
    assert "<td>quasi_identifying</td>" in table._repr_html_()
    written = json.dumps(table.to_json())
    assert json.loads(written)["roles"]["label"] == "outcome"
    assert CANARY not in written + table._repr_html_() + repr(table)


def test_a_comparison_says_what_it_recommends_and_comes_back_as_it_was(compared: Comparison) -> None:
    assert repr(compared) == f"Comparison({compared.why})"
    again = Comparison.from_json(json.loads(json.dumps(compared.to_json())))
    assert again == compared


def test_what_was_released_shows_itself_and_comes_back_as_it_was(people: pa.Table, compared: Comparison) -> None:
    left = aegis.open(people, label="outcome").release(compared)
    assert "k-anonymity" in left._repr_html_()
    assert "singled out by" in repr(left)
    assert GuidedRelease.from_json(json.loads(json.dumps(left.to_json()))) == left
    assert CANARY not in left._repr_html_() + repr(left) + json.dumps(left.to_json())
