"""Values of a single record, planted, and looked for behind every door; and counts whose difference is one person."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.client.client import packed
from aegis.catalog.service import configurations, people, products, summaries
from aegis.catalog.service.disclosure import shown_bars, shown_content, shown_hierarchy
from aegis.counts.disclosure_rule import shown_count
from aegis.library.summarize import summarize

Stage = Any
CANARY = "90210canary"
LABEL_CANARY = "zebracanary"
COMMON = "10115"
ROWS = 301
ZIPS = [COMMON] * 294 + ["20095"] * 6 + [CANARY]
COLUMNS = [
    {"name": "zip", "kind": "text", "role": "quasi_identifying"},
    {"name": "age", "kind": "integer", "role": "quasi_identifying"},
    {"name": "health", "kind": "text", "role": "label"},
]
HIERARCHY = [[COMMON, "1****", "*"], ["20095", "2****", "*"], [CANARY, "9****", "*"]]
MASKS: dict[str, Any] = {
    "generalized": {"masks": {"zip": {"generalize": {"level": 1}}}, "hierarchies": {"zip": HIERARCHY}},
    "regrouped": {"masks": {"zip": {"regroup": {"groups": {"west": [COMMON, CANARY], "north": ["20095"]}}}}},
}


@pytest.fixture(scope="module")
def planted(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A product of 301 records, one of which lives where nobody else does."""
    home: Path = tmp_path_factory.mktemp("planted")
    lines = ["zip,age,health"]
    for number, place in enumerate(ZIPS):
        health = LABEL_CANARY if number == 7 else ("good", "poor")[number % 2]
        lines.append(f"{place},{20 + number % 7},{health}")
    table = home / "people.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (home / "people.roles.yaml").write_text("label: health\nquasi_identifying: [zip, age]\n", encoding="utf-8")
    summarize(table, configs=[{"age": {"bucketize": {"width": 5}}}], out=home / "summary", race=False)
    admin = stage.people["admin"].actor
    policy = {"quasi_identifying": ["zip", "age"], "k": 2, "max_suppression": 1}
    with stage.catalog.write(admin) as work:
        made = products.register(work, name="planted", title="Planted", columns=COLUMNS, label="health", policy=policy)
        products.publish(work, product=made.id)
        people.assign(work, user_id=str(stage.people["provider"].actor.user_id), role="provider", product=made.id)
    with (
        packed(home / "summary") as archive,
        summaries.incoming(stage.catalog, admin, product="planted", stream=archive) as checked,
        stage.catalog.write(admin) as work,
    ):
        summaries.receive(work, checked)
    with stage.catalog.write(admin) as work:
        for name, content in MASKS.items():
            configurations.propose(work, product="planted", content=content, name=name)
    return "planted"


def doors(stage: Stage, product: str) -> list[str]:
    """Every address of the API that tells something of a product."""
    with stage.catalog.read(stage.people["admin"].actor) as work:
        known = [each.id for each in configurations.list_configurations(work, product=product)]
    return [
        f"/products/{product}",
        "/products",
        f"/products/{product}/summary",
        f"/products/{product}/summaries",
        f"/products/{product}/histograms",
        f"/products/{product}/configurations",
        *(f"/configurations/{each}" for each in known),
        f"/products/{product}/croissant",
    ]


PAGES = ("/products/planted", "/products/planted/configurations", "/products/planted/configurations/new", "/products")
PREVIEWS: list[Any] = [
    "suppress",
    "identity",
    {"star_trailing": {"characters": 1}},
    {"generalize": {"level": 1}},
    {"regroup": {"groups": {"all": [COMMON]}}},
    {"generalize": {"level": 7}},
]


def test_no_door_names_a_value_of_a_single_record(
    stage: Stage, planted: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = []
    with caplog.at_level(logging.DEBUG):
        for address in doors(stage, planted):
            answer = stage.send("consumer", "GET", address)
            seen.append((address, answer))
        for mask in PREVIEWS:
            answer = stage.send(
                "consumer", "POST", f"/products/{planted}/preview", json={"column": "zip", "mask": mask}
            )
            seen.append((f"preview of {mask}", answer))
        for page in PAGES:
            answer = stage.http.get(stage.url + page, headers=stage.people["consumer"].cookies)
            seen.append((page, answer))
    assert sum(answer.status_code == 200 for _, answer in seen) >= 10
    for where, answer in seen:
        for part in (answer.text, json.dumps(dict(answer.headers))):
            assert CANARY not in part, where
            assert LABEL_CANARY not in part, where
    printed = "".join(capfd.readouterr())
    assert CANARY not in caplog.text + printed
    assert not [path for path in stage.storage.rglob("*") if CANARY in path.name]
    assert any(COMMON in answer.text for _, answer in seen), "common values are shown, or nothing was tested"


def test_no_two_counts_differ_by_one_person(stage: Stage, planted: str) -> None:
    """294 and 6 of 301 would say that one record is left; so would a bar of one."""
    preview = stage.send("consumer", "POST", f"/products/{planted}/preview", json={"column": "zip", "mask": "identity"})
    shown = {row["value"]: row["records"] for row in preview.json()["rows"]}
    assert shown == {COMMON: 295, "20095": 5}
    drawn = stage.send("consumer", "GET", f"/products/{planted}/histograms").json()["items"]
    for histogram in drawn:
        for bar in histogram["bars"]:
            assert bar["records"] % 5 == 0
    (zips,) = (histogram for histogram in drawn if histogram["column"] == "zip")
    total = sum(bar["records"] for bar in zips["bars"])
    assert all(bar["share"] == bar["records"] / total for bar in zips["bars"]), "a share tells no more than its count"
    exposure = stage.send("consumer", "GET", f"/products/{planted}/summary").json()["exposure"]
    for figures in (exposure, *exposure["attributes"]):
        for name in ("smallest_cell", "records_below_k"):
            assert figures[name] is None or figures[name] % 5 == 0


def test_whoever_works_on_the_product_gets_configurations_word_by_word(stage: Stage, planted: str) -> None:
    """The release is masked by them, so nothing may be missing."""
    listed = stage.send("provider", "GET", f"/products/{planted}/configurations").json()
    text = json.dumps(listed)
    assert CANARY in text
    seen = json.dumps(stage.send("consumer", "GET", f"/products/{planted}/configurations").json())
    assert "1****" in seen
    assert "9****" not in seen, "a label over one record is that record's"


def test_the_rule_by_itself() -> None:
    assert [shown_count(n) for n in range(13)] == [0] * 5 + [5] * 3 + [10] * 5
    named = {"zip": frozenset({"a", "b"})}
    masks = {"zip": [{"regroup": {"groups": {"x": ["a", "c"]}}}, {"randomize": {"keep": 0.5, "values": ["b", "c"]}}]}
    shown = shown_content({"name": "n", "masks": masks, "hierarchies": {"zip": [["a", "*"], ["c", "*"]]}}, named)
    assert "c" not in json.dumps(shown["masks"])
    assert shown["hierarchies"] == {"zip": [["a", "*"]]}
    assert shown_content({"masks": {"other": {"regroup": {"groups": {"x": ["a"]}}}}}, {})["masks"] == {
        "other": {"regroup": {"groups": {"x": []}}}
    }
    assert shown_hierarchy([], frozenset()) == []
    assert [bar["share"] for bar in shown_bars([{"records": 1, "share": 1.0}])] == [0.0]
