"""The clinic from end to end, what other catalogs are told of it, and what no log and no error ever says."""

from __future__ import annotations

import json
import logging
import random
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, text

from aegis.catalog.records import Scope
from aegis.catalog.server.api import calls
from aegis.catalog.service import (
    audit_log,
    configurations,
    jobs,
    metadata,
    products,
    releases,
    requests,
    seen_requests,
    sessions,
    summaries,
)
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker.clinic_example import load_clinic
from aegis.errors import AegisError, ConflictError, InputError, NotPermittedError
from aegis.library.clinic import columns
from aegis.releases.table_register import registered_tables

Stage = Any


def test_the_clinic_is_a_whole_flow_and_its_people_can_sign_in(new_stage: Any) -> None:
    stage = new_stage("sqlite")
    with stage.write("admin") as work:  # the stage has people of these names; the example brings its own
        for name in ("provider", "consumer"):
            work.session.execute(
                text("UPDATE users SET name = :new WHERE name = :old"),
                {"new": f"old-{name}", "old": name},
            )
    flow = load_clinic(stage.catalog, stage.actor("admin"), rows=1_500)
    assert registered_tables() == (), "nobody's table is remembered, so that the example can be built again"
    for name, password in flow.people.items():
        assert sessions.sign_in(stage.catalog, name=name, password=password, address="x").actor.name == name
    with stage.read("admin") as work:
        assert seen_requests.request(work, request_id=flow.request_id).state is RequestState.PROVISIONED
        assert seen_requests.request(work, request_id=flow.waiting_request_id).state is RequestState.PENDING
        assert releases.release(work, release_id=flow.release_id).state is ReleaseState.VERIFIED
        assert jobs.latest_ranking(work, product=flow.product) is not None
        assert summaries.histograms(work, product=flow.product)
        assert audit_log.verify(work).intact
        seen = seen_requests.overview(work)
    assert (seen.products, seen.requests_to_decide, seen.jobs_running) == (1, 1, 0)
    with pytest.raises(ConflictError):
        load_clinic(stage.catalog, stage.actor("admin"), rows=1_500)
    with pytest.raises(NotPermittedError):
        load_clinic(stage.catalog, stage.actor("provider"), rows=1_500)


def test_the_start_page_counts_what_waits_for_each(stage: Stage) -> None:
    stage.product()
    made = stage.configurations()
    first, second = stage.ask(), stage.ask()
    stage.approve(first.id, made["strict"].id)
    with stage.read("expert") as work:
        seen = seen_requests.overview(work)
    assert (seen.requests_to_decide, seen.requests_to_fulfil, seen.requests_of_mine) == (1, 0, 0)
    only_asks = replace(stage.actor("expert"), scopes=frozenset({Scope.REQUEST}))
    with stage.catalog.read(only_asks) as work:
        assert seen_requests.overview(work).requests_to_decide == 0, "a token that may not decide"
    with stage.read("provider") as work:
        seen = seen_requests.overview(work)
    assert (seen.requests_to_decide, seen.requests_to_fulfil) == (0, 1)
    with stage.read("consumer") as work:
        seen = seen_requests.overview(work)
    assert (seen.requests_of_mine, seen.downloads_ready, seen.products) == (2, 0, 1)
    assert [each.id for each in seen.recent] == [second.id, first.id]


def test_croissant_names_columns_and_files_with_certificates_and_no_identifying_column(stage: Stage) -> None:
    stage.product()
    with stage.read("consumer") as work:
        bare = metadata.croissant(work, product="clinic", base_url="https://example.org/")
    assert bare["distribution"] == []
    assert bare["recordSet"] == []  # a field without a file that it is read from is an error of the format
    variables = {variable["name"] for variable in bare["variableMeasured"]}
    assert variables == {column["name"] for column in stage.parts.columns} - {"patient"}
    _, release = stage.provisioned()
    with stage.read("consumer") as work:
        document = metadata.croissant(work, product="clinic", base_url="https://example.org")
    assert document["@type"] == "sc:Dataset"
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    (file,) = document["distribution"]
    assert file["sha256"] == release.digest
    assert file["contentUrl"].startswith("https://example.org/")
    assert file["aegis:certificate"]["release"]["sha256"] == release.digest
    assert "certificate_sha256" in file["aegis:certificate"]
    (records,) = document["recordSet"]
    assert {field["source"]["fileObject"]["@id"] for field in records["field"]} == {file["@id"]}
    assert [field["name"] for field in records["field"]] == release.certificate["release"]["columns"]
    json.dumps(document, allow_nan=False)
    stage.person("other")
    with stage.read("other") as work:
        assert metadata.croissant(work, product="clinic", base_url="https://x")["distribution"] == []


def test_an_idempotency_key_gives_the_same_answer_and_refuses_another_question(stage: Stage) -> None:
    with stage.write("consumer") as work:
        assert calls.recall(work, key="k", fingerprint="f") is None
        calls.remember(work, key="k", fingerprint="f", status=201, body={"id": 1})
    with stage.write("consumer") as work:
        known = calls.recall(work, key="k", fingerprint="f")
        assert known is not None
        assert (known.status_code, json.loads(bytes(known.body))) == (201, {"id": 1})
        with pytest.raises(InputError, match="something else"):
            calls.recall(work, key="k", fingerprint="g")
    with pytest.raises(ConflictError), stage.write("consumer") as work:
        calls.remember(work, key="k", fingerprint="f", status=201, body={})
    with stage.write("provider") as work:  # another person's key is another key
        assert calls.recall(work, key="k", fingerprint="f") is None
    stage.clock.pass_by(hours=49)
    with stage.write("consumer") as work:
        assert calls.recall(work, key="k", fingerprint="f") is None
        calls.remember(work, key="k", fingerprint="h", status=200, body={})


def test_what_fails_is_undone_with_its_audit(stage: Stage) -> None:
    stage.product()

    def rows() -> int:
        with stage.read("admin") as work:
            return audit_log.verify(work).rows

    before = rows()

    def half() -> None:
        with stage.write("consumer") as work:
            requests.ask(work, product="clinic", purpose="to see what happens")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert rows() == before
    with stage.read("consumer") as work:
        assert seen_requests.list_requests(work).items == ()


def test_the_record_of_a_product_is_its_own(stage: Stage) -> None:
    stage.product()
    stage.product("second")
    stage.ask()
    with stage.read("expert") as work:
        seen = audit_log.list_audit(work, product="clinic").items
    assert {each.action for each in seen} == {"product registered", "product published", "access requested"}
    with pytest.raises(InputError), stage.read("admin") as work:
        audit_log.list_audit(work, subject_id="x")


def test_no_cell_value_reaches_a_log_an_error_or_the_record(
    small_stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Values that only records have, planted everywhere a value could be quoted from."""
    caplog.set_level(logging.DEBUG)
    stage = small_stage
    stage.product()
    made = stage.configurations()
    canaries = set(random.Random(0).sample(columns(1_500)["patient"], 50))
    said: list[str] = []
    chained: list[BaseException | None] = []
    asked = stage.ask()
    stage.approve(asked.id, made["strict"].id)
    file, certificate = stage.parts.released["strict"]
    raw = (stage.parts.folder / "clinic.csv").read_bytes()
    for attempt in (
        lambda: stage.push(request_id=asked.id, file=raw),
        lambda: stage.push(request_id=asked.id, file=raw, certificate=raw),
        lambda: stage.push(request_id=asked.id, file=raw, certificate=certificate.replace(b"csv", b"cs1", 1)),
        lambda: stage.push(request_id=asked.id, file=raw, file_name="x.parquet"),
        lambda: stage.summary(archive=raw),
        lambda: _propose(stage, raw.decode()),
        lambda: stage.ask(columns=["P100001"]),
    ):
        try:
            attempt()
        except AegisError as error:
            said.append(str(error))
            chained.append(error.__cause__)
    assert len(said) == 7
    assert set(chained) == {None}
    stage.push(request_id=asked.id)
    with stage.read("admin") as work:
        record = [json.dumps(dict(each.details)) for each in audit_log.list_audit(work).items]
    everything = " ".join([*said, caplog.text, *record])
    assert not [value for value in canaries if value in everything]
    assert file[:10].decode() not in caplog.text


def _propose(stage: Stage, content: str) -> None:
    with stage.write("expert") as work:
        configurations.propose(work, product="clinic", content=content)


def test_pages_do_not_ask_the_database_row_by_row(stage: Stage) -> None:
    """A page of products or requests costs the same few questions however long it is."""
    for number in range(6):
        stage.product(f"table-{number}")
        stage.ask(f"table-{number}")
    asked: list[str] = []
    event.listen(stage.catalog.database.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    for act, most in (
        (lambda work: products.list_products(work), 1),
        (lambda work: seen_requests.list_requests(work), 1),
        (lambda work: seen_requests.overview(work), 2),
        (lambda work: audit_log.list_audit(work), 1),
    ):
        actor = stage.actor("admin")
        asked.clear()
        with stage.catalog.read(actor) as work:
            act(work)
        assert len([one for one in asked if one.startswith("SELECT")]) <= most
