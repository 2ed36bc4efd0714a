"""The certificate's page: what was done and kept, in words that hold."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aegis.report.certificate_report import render_certificate


def content(**more: Any) -> dict[str, Any]:
    whole = {
        "software": {"aegis": "1", "engine": "duckdb"},
        "date": "2024-01-01T00:00:00+00:00",
        "release": {"name": "r.csv", "sha256": "0" * 64, "rows": 10, "shuffled": True, "columns": ["id", "age"]},
        "source": {"name": "t.csv", "rows": 10},
        "roles": {"quasi_identifying": ["age", "town"], "identifying": ["id", "ssn"], "unlisted_are_insensitive": []},
        "policy_id": "p",
        "configuration": {"name": "c", "id": "i", "masks": {}},
        "suppressed": {"records": 0, "dropped": False},
        "verdicts": [],
        "classes": 2,
        "smallest_class": 5,
        "utility": None,
    }
    return {**whole, **more}


def said(**more: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render_certificate(content(**more)))).replace("\u00a0", " ")


def test_masks_show_edges_and_the_names_of_groups_but_no_value() -> None:
    masks = {
        "age": {"bucketize": {"edges": [18, 30.5, 65]}},
        "town": {"regroup": {"groups": {"CANARY and 2 others": ["CANARY", "b", "c"], "south": ["d"]}}},
        "id": "pseudonym",
    }
    page = said(configuration={"name": "c", "id": "i", "masks": masks})
    assert "buckets with 3 edges at 18, 30.5 and 65" in page
    assert "town 2 groups: group 1 (3 values) and south (1 value)" in page
    assert "CANARY" not in page
    assert "entries" not in page


def test_masks_without_values_are_said_in_words() -> None:
    masks = {
        "age": [{"bucketize": {"width": 20}}, {"top_code": {"at": 80}}],
        "town": {"generalize": {"level": 2, "hierarchy": "towns"}},
        "id": "suppress",
        "ssn": {"of_a_plug_in": {"by": 3}},
    }
    page = said(configuration={"name": "c", "id": "i", "masks": masks})
    assert "age buckets of width 20, then top-coded at 80" in page
    assert "town generalised to level 2, hierarchy towns" in page
    assert "id suppressed" in page
    assert "ssn of a plug in: by 3" in page


def test_groups_say_how_many_records_they_hold_where_that_was_counted() -> None:
    masks = {"town": {"regroup": {"groups": {"CANARY and 2 others": ["CANARY", "b", "c"], "south": ["d"]}}}}
    configuration = {"name": "c", "id": "i", "masks": masks}
    page = said(configuration=configuration, group_records={"town": [1200, 1]})
    assert "group 1 (3 values, 1,200 records) and south (1 value, 1 record)" in page
    assert "CANARY" not in page
    assert "group 1 (3 values) and south" in said(configuration=configuration, group_records={"town": [3]})


def test_identifying_columns_that_were_hidden_are_listed() -> None:
    page = said(configuration={"name": "c", "id": "i", "masks": {"id": "pseudonym"}})
    assert "ssn suppressed, * in every record, because it is identifying" in page
    assert "id suppressed" not in page
    assert "No column was masked" not in page


@pytest.mark.parametrize(
    ("columns", "tuples", "expected"),
    [
        ((0.4, 0.5), (0.559, 0.0), ("80.0 %", "0.4 of 0.5 bits", "hardly anything (0 bits)")),
        ((0.573, 0.5), (0.559, 0.4), ("all of it", "more than the 0.5 of the raw table", "more than the 0.4")),
        ((0.1, 0.0001), (0.1, 0.2), ("hardly anything was said", "0.1 of 0.2 bits")),
    ],
)
def test_no_share_above_the_whole(
    columns: tuple[float, float], tuples: tuple[float, float], expected: tuple[str, ...]
) -> None:
    utility = {
        "label": "y",
        "measure": "leave-one-out-information",
        "unit": "bits",
        "columns": {"released": columns[0], "raw": columns[1]},
        "tuple": {"released": tuples[0], "raw": tuples[1]},
        "kept_share": columns[0] / columns[1],
        "compared_on_rows": 10,
    }
    page = said(utility=utility)
    for part in expected:
        assert part in page
    assert "of 0 bits" not in page
    assert all(float(share) <= 100 for share in re.findall(r"([0-9.,]+) %", page))
