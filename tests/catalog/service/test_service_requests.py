"""Requests: every step is checked, timed and attributed; the second of two deciders is told."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from aegis.catalog.records import UserRole
from aegis.catalog.service import audit_log, configurations, products, requests, seen_requests
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.states import RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.errors import (
    AegisError,
    ConflictError,
    InputError,
    MeasureError,
    NotFoundError,
    NotPermittedError,
    RoleError,
)

Stage = Any


@pytest.fixture
def clinic(stage: Stage) -> Stage:
    stage.product()
    stage.made = stage.configurations()
    return stage


def _state(stage: Stage, request_id: str) -> RequestState:
    with stage.read("admin") as work:
        return seen_requests.request(work, request_id=request_id).state


def test_a_request_goes_all_the_way_and_its_history_says_who_and_when(clinic: Stage) -> None:
    request, release = clinic.provisioned()
    assert request.state is RequestState.PROVISIONED
    assert request.release_id == release.id
    assert request.decided_by == "expert"
    assert request.configuration_name == "strict"
    told = [(each.actor, each.action, each.details["state"]) for each in request.history]
    assert told == [
        ("consumer", "access requested", "PENDING"),
        ("expert", "request approved", "APPROVED"),
        ("system", "request provisioned", "PROVISIONED"),
    ]
    times = [each.at for each in request.history]
    assert times == sorted(times)
    with clinic.write("provider") as work:
        ended = requests.revoke(work, request_id=request.id, reason="the purpose is met")
    assert (ended.state, ended.reason) == (RequestState.REVOKED, "the purpose is met")


def test_a_rejection_needs_a_reason_that_the_consumer_reads(clinic: Stage) -> None:
    asked = clinic.ask()
    with pytest.raises(InputError, match="reason"), clinic.write("expert") as work:
        requests.decide(work, request_id=asked.id, approve=False)
    with clinic.write("expert") as work:
        requests.decide(work, request_id=asked.id, approve=False, reason="too little said")
    with clinic.read("consumer") as work:
        seen = seen_requests.request(work, request_id=asked.id)
    assert (seen.state, seen.reason) == (RequestState.REJECTED, "too little said")


def test_an_approval_names_a_configuration_of_the_product_that_stands(clinic: Stage) -> None:
    clinic.product("second")
    other = clinic.configurations("second")
    asked = clinic.ask()
    for wrong in (None, "nothing", other["strict"].id, "f" * 32):
        with pytest.raises(InputError), clinic.write("expert") as work:
            requests.decide(work, request_id=asked.id, approve=True, configuration_id=wrong)
    with clinic.write("expert") as work:
        configurations.withdraw(work, configuration_id=clinic.made["strict"].id)
    with pytest.raises(ConflictError, match="withdrawn"):
        clinic.approve(asked.id, clinic.made["strict"].id)
    clinic.approve(asked.id, clinic.made["everything-hidden"].id)
    with pytest.raises(ConflictError, match="waits for a release"), clinic.write("expert") as work:
        configurations.withdraw(work, configuration_id=clinic.made["everything-hidden"].id)


def test_the_second_approval_is_a_conflict(clinic: Stage) -> None:
    asked = clinic.ask()
    clinic.approve(asked.id, clinic.made["strict"].id)
    with pytest.raises(ConflictError, match="APPROVED"):
        clinic.approve(asked.id, clinic.made["strict"].id)
    with pytest.raises(ConflictError), clinic.write("expert") as work:
        requests.decide(work, request_id=asked.id, approve=False, reason="changed my mind")


def test_a_decision_on_an_old_version_is_a_conflict(clinic: Stage) -> None:
    asked = clinic.ask()
    with pytest.raises(ConflictError, match="meantime"), clinic.write("expert") as work:
        requests.decide(
            work, request_id=asked.id, version=asked.version - 1, approve=True,
            configuration_id=clinic.made["strict"].id,
        )  # fmt: skip
    assert _state(clinic, asked.id) is RequestState.PENDING


def test_of_many_experts_who_decide_at_once_exactly_one_does(clinic: Stage) -> None:
    asked = [clinic.ask() for _ in range(3)]
    names = [f"expert{number}" for number in range(4)]
    actors = [clinic.person(name, UserRole.EXPERT) for name in names]
    together = threading.Barrier(len(actors))
    outcomes: list[list[str]] = [[] for _ in asked]

    def decide(number: int) -> None:
        for which, request in enumerate(asked):
            together.wait()
            try:
                with clinic.catalog.write(actors[number]) as work:
                    requests.decide(
                        work, request_id=request.id, version=request.version, approve=number % 2 == 0,
                        configuration_id=clinic.made["strict"].id, reason="because",
                    )  # fmt: skip
                outcomes[which].append("decided")
            except ConflictError:
                outcomes[which].append("conflict")
            except AegisError as error:
                outcomes[which].append(repr(error))

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(len(actors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        assert sorted(outcome) == ["conflict"] * 3 + ["decided"]
    with clinic.read("admin") as work:
        decided = [
            each for each in audit_log.list_audit(work).items if each.action in ("request approved", "request rejected")
        ]
        assert len(decided) == len(asked)
        assert audit_log.verify(work).intact


def test_nobody_decides_their_own_request_not_even_an_administrator(clinic: Stage) -> None:
    for name in ("admin", "expert"):
        clinic.person(name, UserRole.CONSUMER)
        asked = clinic.ask(by=name)
        with pytest.raises(NotPermittedError, match="own request"):
            clinic.approve(asked.id, clinic.made["strict"].id, by=name)
    clinic.approve(asked.id, clinic.made["strict"].id, by="admin")


def test_requests_of_others_are_not_found(clinic: Stage) -> None:
    asked = clinic.ask()
    clinic.person("curious", UserRole.CONSUMER)
    clinic.person("stranger", UserRole.EXPERT, product_id=clinic.product("second").id)
    for name in ("curious", "stranger"):
        with pytest.raises(NotFoundError), clinic.read(name) as work:
            seen_requests.request(work, request_id=asked.id)
        with clinic.read(name) as work:
            assert seen_requests.list_requests(work).items == ()
        with pytest.raises(NotFoundError):
            clinic.approve(asked.id, clinic.made["strict"].id, by=name)
        with pytest.raises(NotFoundError), clinic.write(name) as work:
            requests.withdraw(work, request_id=asked.id)


def test_a_consumer_takes_a_request_back_and_nobody_else_does(clinic: Stage) -> None:
    asked = clinic.ask()
    with pytest.raises(NotPermittedError), clinic.write("provider") as work:
        requests.withdraw(work, request_id=asked.id)
    with clinic.write("consumer") as work:
        assert requests.withdraw(work, request_id=asked.id).state is RequestState.REVOKED
    with pytest.raises(ConflictError), clinic.write("consumer") as work:
        requests.withdraw(work, request_id=asked.id)


def test_past_its_end_a_request_counts_as_expired_before_anybody_wrote_that_down(clinic: Stage) -> None:
    asked = clinic.ask(days=10)
    clinic.approve(asked.id, clinic.made["strict"].id)
    clinic.clock.pass_by(days=10, seconds=1)
    assert _state(clinic, asked.id) is RequestState.EXPIRED
    with clinic.read("consumer") as work:
        assert seen_requests.list_requests(work, state="APPROVED").items == ()
        assert len(seen_requests.list_requests(work, state="EXPIRED").items) == 1
    with pytest.raises(ConflictError, match="EXPIRED"), clinic.write("provider") as work:
        requests.revoke(work, request_id=asked.id, reason="late")
    with pytest.raises(ConflictError):
        clinic.push(request_id=asked.id)
    run_pending(clinic.catalog)
    with clinic.read("consumer") as work:
        seen = seen_requests.request(work, request_id=asked.id)
        assert len(seen_requests.list_requests(work, state="EXPIRED").items) == 1
    assert (seen.history[-1].actor, seen.history[-1].action) == ("system", "request expired")
    with clinic.write("admin") as work:
        assert requests.expire_due(work) == 0


def test_a_request_nobody_decides_expires_too(clinic: Stage) -> None:
    asked = clinic.ask()
    clinic.clock.pass_by(days=91)
    with pytest.raises(ConflictError, match="EXPIRED"):
        clinic.approve(asked.id, clinic.made["strict"].id)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"days": 0}, InputError),
        ({"days": 10**9}, InputError),
        ({"columns": ["nothing"]}, RoleError),
        ({"columns": ["patient"]}, RoleError),
        ({"columns": [[]]}, RoleError),
        ({"measure": "beauty"}, MeasureError),
        ({"measure": 5}, MeasureError),
    ],
)
def test_requests_that_make_no_sense_are_refused(small_stage: Stage, wrong: dict[str, Any], error: Any) -> None:
    small_stage.product()
    with pytest.raises(error):
        small_stage.ask(**wrong)


def test_only_published_products_take_requests(stage: Stage) -> None:
    stage.product()
    known = stage.ask()
    stage.person("newcomer", UserRole.CONSUMER)
    with stage.write("provider") as work:
        products.retire(work, product="clinic")
    with pytest.raises(ConflictError, match="no requests"):
        stage.ask()
    with stage.read("consumer") as work:  # who asked before still sees what became of it
        assert products.product(work, product="clinic").state == "retired"
        assert seen_requests.request(work, request_id=known.id).product_title == "A clinic"
    with pytest.raises(NotFoundError):
        stage.ask(by="newcomer")
    with pytest.raises(NotPermittedError):
        stage.ask(by="provider")


def test_no_column_named_means_all_but_the_identifying(small_stage: Stage) -> None:
    small_stage.product()
    assert "patient" not in small_stage.ask().columns
    assert small_stage.ask(columns=["age", "age"]).columns == ("age",)


def test_lists_are_paged_from_the_newest_on_without_gaps(clinic: Stage) -> None:
    made = [clinic.ask().id for _ in range(7)]
    seen: list[str] = []
    cursor = None
    with clinic.read("expert") as work:
        while True:
            page = seen_requests.list_requests(work, product="clinic", page=PageRequest(size=3, cursor=cursor))
            seen += [each.id for each in page.items]
            if (cursor := page.next) is None:
                break
    assert seen == made[::-1]
    with clinic.read("expert") as work:
        assert seen_requests.list_requests(work, mine=True).items == ()
    with pytest.raises(InputError), clinic.read("expert") as work:
        seen_requests.list_requests(work, state="DREAMING")


def test_nobody_prolongs_their_own_request(small_stage: Stage) -> None:
    small_stage.product()
    small_stage.person("admin", UserRole.CONSUMER)
    asked = small_stage.ask(by="admin")
    small_stage.clock.pass_by(days=400)
    with pytest.raises(NotPermittedError, match="their own"), small_stage.write("admin") as work:
        requests.reinstate(work, request_id=asked.id, days=5)
