"""Products are found by what is in them, requests are talked about, and a release tells where it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from aegis.catalog.records import UserRole
from aegis.catalog.service import finding, jobs, notifications, products, releases, requests, seen_requests
from aegis.catalog.states import RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.errors import ConflictError, InputError, NotFoundError
from aegis.library import clinic

Stage = Any


@pytest.fixture
def found(stage: Stage) -> Stage:
    """Three products: two of the provider, one of another, with tags."""
    stage.person("other", UserRole.PROVIDER)
    columns = [
        {**each, "description": "in kilograms" if each["name"] == "weight" else ""} for each in stage.parts.columns
    ]
    for name, by, title, tags in (
        ("hearts", "provider", "Hearts of a region", ["Cardiology", "registry"]),
        ("lungs", "provider", "Lungs: 100% of them", ["registry"]),
        ("draft", "other", "Not yet", ["registry", "cardiology"]),
    ):
        with stage.write(by) as work:
            given = columns if name == "hearts" else columns[1:]
            products.register(work, name=name, title=title, columns=given, policy=clinic.POLICY, tags=tags)
            if name != "draft":
                products.publish(work, product=name)
    return stage


def names(stage: Stage, who: str = "consumer", **given: Any) -> list[str]:
    with stage.read(who) as work:
        return [each.name for each in products.list_products(work, **given).items]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kilograms", ["hearts", "lungs"]),
        ("WEIGHT", ["hearts", "lungs"]),
        ("patient", ["hearts"]),
        ("cardio", ["hearts"]),
        ("registry lungs", ["lungs"]),
        ("100%", ["lungs"]),
        ("%", ["lungs"]),
        ("_", []),
        ("quasi_identifying", []),
        ("", ["hearts", "lungs"]),
    ],
)
def test_words_are_looked_for_in_names_columns_meanings_and_tags(found: Stage, query: str, expected: list[str]) -> None:
    assert names(found, query=query) == expected


def test_facets_count_what_one_may_see(found: Stage) -> None:
    with found.read("consumer") as work:
        seen = finding.facets(work)
        narrowed = finding.facets(work, tag="cardiology")
    assert [(each.name, each.products) for each in seen.tags] == [("registry", 2), ("cardiology", 1)]
    assert [(each.words, each.products) for each in seen.owners] == [("Provider", 2)]
    assert [(each.name, each.products) for each in narrowed.tags] == [("cardiology", 1), ("registry", 1)]
    with found.read("admin") as work:
        assert {each.name for each in finding.facets(work).owners} == {"provider", "other"}
    assert names(found, tag="CARDIOLOGY") == ["hearts"]
    assert names(found, owner="other") == []
    assert names(found, "admin", owner="other") == ["draft"]


def test_a_change_is_found_at_once(found: Stage) -> None:
    with found.write("provider") as work:
        version = products.product(work, product="lungs").version
        changed = products.change(work, product="lungs", version=version, description="Spirometry", tags=["Breath"])
    assert changed.tags == ("breath",)
    assert names(found, query="spirometry") == names(found, tag="breath") == ["lungs"]


@pytest.mark.parametrize("tags", ["registry", ["a,b"], ["x" * 41], [""], [3], [f"tag{n}" for n in range(21)], ["a\nb"]])
def test_tags_that_make_no_sense_are_refused(small_stage: Stage, tags: Any) -> None:
    with small_stage.write("provider") as work, pytest.raises(InputError):
        products.register(work, name="p", title="P", columns=small_stage.parts.columns, tags=tags)


def test_comments_are_between_the_consumer_and_those_who_work_on_it(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    stage.person("stranger", UserRole.CONSUMER)
    asked = stage.ask()
    with stage.write("expert") as work:
        requests.comment(work, request_id=asked.id, words="Why the weight?")
    with stage.write("consumer") as work:
        requests.comment(work, request_id=asked.id, words="  To see.  ")
        said = requests.list_comments(work, request_id=asked.id)
    assert [(each.by_name, each.words) for each in said] == [("expert", "Why the weight?"), ("consumer", "To see.")]
    for who, expected in (("consumer", ["commented"]), ("expert", ["commented", "asked"])):
        with stage.read(who) as work:
            listed = notifications.list_notifications(work).items
        assert [each.kind for each in listed] == expected
        assert all("weight" not in each.words for each in listed)
    with pytest.raises(NotFoundError), stage.write("stranger") as work:
        requests.comment(work, request_id=asked.id, words="me too")
    with pytest.raises(InputError), stage.write("consumer") as work:
        requests.comment(work, request_id=asked.id, words="   ")


def test_comments_have_an_end(small_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_COMMENTS", 2)
    small_stage.product()
    asked = small_stage.ask()
    for _ in range(2):
        with small_stage.write("consumer") as work:
            requests.comment(work, request_id=asked.id, words="again")
    with small_stage.write("consumer") as work, pytest.raises(ConflictError, match="at most 2"):
        requests.comment(work, request_id=asked.id, words="again")


def test_asking_again_takes_the_place_of_what_still_waits(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    first = stage.ask()
    with stage.write("consumer") as work:
        requests.take_back_waiting(work, request_id=first.id)
        requests.take_back_waiting(work, request_id="")
        second = requests.ask(work, product="clinic", purpose="to learn more", columns=["age"])
    with stage.read("consumer") as work:
        states = {each.id: each.state for each in seen_requests.list_requests(work).items}
    assert states == {first.id: RequestState.REVOKED, second.id: RequestState.PENDING}


def test_a_ranking_for_a_request_is_of_its_columns(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    stage.configurations()
    stage.summary()
    some, everything = stage.ask(columns=["age", "health"]), stage.ask()
    with stage.write("expert") as work:
        of_some = jobs.start_advice(work, product="clinic", request_id=some.id)
        of_all = jobs.start_advice(work, product="clinic", request_id=everything.id)
        again = jobs.start_advice(work, product="clinic", request_id=some.id)
    assert of_some.id != of_all.id
    assert again.id == of_some.id
    run_pending(stage.catalog)
    with stage.read("expert") as work:
        first, second = jobs.job(work, job_id=of_some.id), jobs.job(work, job_id=of_all.id)
        latest = jobs.latest_ranking(work, product="clinic")
    assert first.error is None
    assert first.result is not None
    assert second.result is not None
    assert first.result["columns"] == ["age", "health"]
    assert second.result["columns"] is None
    bits = [{each["id"]: each["identifying_bits"] for each in job.result["risk"]} for job in (first, second)]  # type: ignore[index]
    assert all(bits[0][ident] <= bits[1][ident] for ident in bits[0])
    assert latest is not None
    assert latest.id == of_all.id, "a ranking for some columns is not the product's"
    only_label = stage.ask(columns=["health"])
    with stage.write("expert") as work:
        nothing = jobs.start_advice(work, product="clinic", request_id=only_label.id)
    run_pending(stage.catalog)
    with stage.read("expert") as work:
        assert "nothing to rank" in str(jobs.job(work, job_id=nothing.id).error)


def test_a_release_tells_where_it_comes_from_and_who_holds_it(small_stage: Stage) -> None:
    stage = small_stage
    stage.product()
    request, release = stage.provisioned()
    second = stage.ask()
    stage.approve(second.id, str(release.configuration_id))
    stage.person("reader", UserRole.CONSUMER)
    with stage.write("provider") as work:
        releases.fulfil(work, request_id=second.id, release_id=release.id)
    with stage.read("provider") as work:
        told = releases.lineage(work, release_id=release.id)
    assert told.source_name == "clinic"
    assert told.configuration_name == "strict"
    assert {each.request_id for each in told.holders} == {request.id, second.id}
    assert [each.id for each in told.versions] == [release.id]
    with pytest.raises(NotFoundError), stage.read("reader") as work:
        releases.lineage(work, release_id=release.id)
