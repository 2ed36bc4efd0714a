"""Over HTTP: the record looked through and verified, and how a release stands to a policy that was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aegis import Client
from aegis.catalog.service import products
from aegis.catalog.service.audit_log import keep_up
from aegis.library.clinic import POLICY

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any


def _audit(stage: Stage, **query: str) -> list[dict[str, Any]]:
    answer = stage.send("admin", "GET", "/audit", params={"page_size": "200", **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def test_the_record_is_looked_through_by_query(stage: Stage) -> None:
    request = stage.new_request(stage.product, approved=True)
    everything = _audit(stage)
    assert {each["action"] for each in _audit(stage, action="request approved")} == {"request approved"}
    assert {each["actor"] for each in _audit(stage, actor="consumer")} == {"consumer"}
    (approved,) = _audit(stage, action="request approved", subject_id=request)
    at = approved["at"]
    assert _audit(stage, action="request approved", since=at)[-1]["at"] == at
    assert at not in {each["at"] for each in _audit(stage, until=at)}
    assert [each["sequence"] for each in _audit(stage, since=at)] == [
        each["sequence"] for each in everything if each["at"] >= at
    ]
    with Client(stage.url, stage.people["admin"].token) as catalog:
        found = list(catalog.audit(actor="admin", action="request approved", since=at))
    assert approved["hash"] in {each["hash"] for each in found}


@pytest.mark.parametrize(
    "query",
    [
        {"action": "something else"},
        {"actor": ""},
        {"since": "yesterday"},
        {"until": "0.5"},
        {"since": "2026-01-01T00:00:00"},
        {"until": "0001-01-01T00:00:00+23:00"},
        {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_query_that_makes_no_sense_is_refused(stage: Stage, query: dict[str, str]) -> None:
    answer = stage.send("admin", "GET", "/audit", params=query)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:aegis:problem:input"


def test_a_question_about_the_chain_says_what_was_walked_and_when(stage: Stage) -> None:
    keep_up(stage.catalog)
    stage.new_request(stage.product)
    told = stage.send("admin", "GET", "/audit/verification").json()
    assert told["intact"]
    assert told["rows"] == told["walked_rows"] + told["checked_now"]
    assert told["checked_now"] >= 1
    assert told["unchecked"] == 0
    asked = stage.send("admin", "POST", "/audit/verification")
    assert asked.status_code == 202
    assert asked.json()["wanted_at"] is not None
    keep_up(stage.catalog)
    after = stage.send("admin", "GET", "/audit/verification", params={"head": told["head"]}).json()
    assert (after["wanted_at"], after["intact"], after["walked_rows"]) == (None, True, told["rows"])
    other = stage.send("admin", "GET", "/audit/verification", params={"head": "e" * 64}).json()
    assert not other["intact"]


def test_a_download_says_how_it_stands_to_the_present_policy(
    stage: Stage, aegis: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    product = stage.new_product()
    request = stage.new_request(product, approved=True)
    release = stage.new_release(product, request_id=request)
    for k, standing in ((POLICY["k"], "satisfied"), (10_000, "not satisfied")):
        with stage.catalog.write(stage.people["admin"].actor) as work:
            now = products.product(work, product=product)
            products.change(work, product=product, version=now.version, policy={**POLICY, "k": k})
        shown = stage.send("consumer", "GET", f"/releases/{release}").json()
        assert shown["state"] == "verified"
        assert shown["present_policy"]["standing"] == standing
        downloaded = stage.send("consumer", "GET", f"/releases/{release}/file")
        assert downloaded.headers["Aegis-Present-Policy"] == standing
    monkeypatch.setenv("AEGIS_URL", stage.url)
    monkeypatch.setenv("AEGIS_TOKEN", stage.people["consumer"].token)
    pulled = aegis("pull", release, "--out", tmp_path / "home.csv")
    assert pulled.status == 0, pulled.err
    assert "not the product's present one" in " ".join(pulled.err.split())
    told = aegis("pull", release, "--out", tmp_path / "again.csv", "--json").json
    assert told["present_policy"]["standing"] == "not satisfied"
